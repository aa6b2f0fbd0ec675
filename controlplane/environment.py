"""Reads the settings of an installation from environment variables and refuses odd values by name."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cryptography.fernet import Fernet


class SettingRefused(ValueError):
    """A setting of the environment cannot be used."""

    def __init__(self, name: str, value: str, expected: str) -> None:
        super().__init__(f"{name}={value!r}: {expected}")
        self.name = name
        self.value = value
        self.expected = expected


@dataclass(frozen=True)
class DatabaseAddress:
    """Where Lifeguard's own PostgreSQL listens."""

    host: str
    port: int
    name: str
    username: str
    password: str


@dataclass(frozen=True)
class DeliveryDirectory:
    """A directory that local delivery may write in; organisation is a slug, or None for every organisation."""

    organisation: str | None
    path: Path


@dataclass(frozen=True)
class RestartCommand:
    """What may be run to restart a pgpool of this machine, by no shell; organisation as in DeliveryDirectory."""

    organisation: str | None
    name: str
    argv: tuple[str, ...]


def required(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "").strip()
    if not value:
        raise SettingRefused(name, value, "must be set; the README lists every setting")
    return value


def boolean(environ: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = environ.get(name, "").strip()
    if not value:
        return default
    if value not in {"0", "1"}:
        raise SettingRefused(name, value, "must be 0 or 1")
    return value == "1"


def integer(environ: Mapping[str, str], name: str, *, default: int, lowest: int, highest: int) -> int:
    value = environ.get(name, "").strip()
    if not value:
        return default
    if not (value.isascii() and value.isdigit() and lowest <= int(value) <= highest):
        raise SettingRefused(name, value, f"must be a whole number from {lowest} to {highest}")
    return int(value)


def words(environ: Mapping[str, str], name: str, *, default: str) -> list[str]:
    return [word.strip() for word in environ.get(name, default).split(",") if word.strip()]


def encryption_keys(environ: Mapping[str, str], name: str) -> list[str]:
    """Fernet keys, the newest first: it encrypts, all of them decrypt."""
    keys = words(environ, name, default="")
    if not keys:
        raise SettingRefused(name, "", "must hold at least one Fernet key (44 characters of URL-safe base64)")
    for position, key in enumerate(keys, start=1):
        try:
            Fernet(key)
        except ValueError:
            # The key itself stays out of the message: it is a secret.
            raise SettingRefused(name, "…", f"key {position} is not a Fernet key") from None
    return keys


def database(environ: Mapping[str, str], name: str) -> DatabaseAddress:
    """postgresql://user:password@host:port/name"""
    shown = "…"  # the value holds a password
    parts = urlsplit(required(environ, name))
    if parts.scheme not in {"postgresql", "postgres"} or not parts.hostname or len(parts.path) < 2:
        raise SettingRefused(name, shown, "must read postgresql://user:password@host:port/database")
    try:
        port = parts.port or 5432
    except ValueError:
        raise SettingRefused(name, shown, "has a port that is no number from 1 to 65535") from None
    return DatabaseAddress(
        host=parts.hostname,
        port=port,
        name=unquote(parts.path[1:]),
        username=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )


def redis_url(environ: Mapping[str, str], name: str) -> str:
    value = required(environ, name)
    if urlsplit(value).scheme not in {"redis", "rediss", "unix"}:
        raise SettingRefused(name, "…", "must begin with redis://, rediss:// or unix://")
    return value


def web_origin(environ: Mapping[str, str], name: str, *, default: str) -> str:
    """scheme://host[:port] that people type to reach the dashboard; links in messages begin with it."""
    value = environ.get(name, "").strip() or default
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path not in {"", "/"}:
        raise SettingRefused(name, value, "must read http(s)://host[:port] without a path")
    return value.rstrip("/")


def delivery_directories(environ: Mapping[str, str], name: str, *, what: str = "directory") -> list[DeliveryDirectory]:
    """`/dir` (every organisation) or `slug=/dir` (one), separated by colons."""
    found = []
    for entry in filter(None, environ.get(name, "").split(":")):
        slug, equals, path = entry.rpartition("=")
        if not path.startswith("/") or (equals and not slug):
            raise SettingRefused(name, entry, f"must be an absolute {what}, or organisation=/{what}")
        found.append(DeliveryDirectory(slug or None, Path(path)))
    return found


def restart_commands(environ: Mapping[str, str], name: str) -> list[RestartCommand]:
    """`name=/path/of/program word …` (every organisation) or `slug/name=…` (one), separated by `;`."""
    found = []
    for entry in filter(None, (each.strip() for each in environ.get(name, "").split(";"))):
        label, equals, line = entry.partition("=")
        slug, slash, command = label.strip().rpartition("/")
        if not equals or (slash and not slug) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}", command):
            raise SettingRefused(name, entry, "must read name=command or organisation/name=command")
        if command == "script":
            raise SettingRefused(name, entry, "must have another name: script is the way of SSH")
        try:
            argv = tuple(shlex.split(line))
        except ValueError as error:
            raise SettingRefused(name, entry, f"must be a command as a shell splits it: {error}") from None
        if not argv or not argv[0].startswith("/"):
            raise SettingRefused(name, entry, "must begin with the absolute path of a program")
        found.append(RestartCommand(slug or None, command, argv))
    return found
