"""A cluster as somebody describes it, in a form, by REST or by a command. Nothing here has been looked at yet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# More than any cluster has. Each is asked when it is registered; pgpool itself knows at most 128 backends.
MOST_PGPOOLS = 128
MOST_BACKENDS = 128
DEFAULT_WAIT_H, LONGEST_WAIT_H = 24, 720


@dataclass(frozen=True)
class PcpWanted:
    port: int
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class SshWanted:
    """host: empty for the pgpool's own. host_key: the fingerprint SHA256:… that somebody has confirmed."""

    host: str = ""
    port: int = 22
    username: str = ""
    host_key: str = ""
    has_sudo: bool = False


@dataclass(frozen=True)
class DeliveryWanted:
    """kind: observe, local, ssh or manual. path: of pgpool.conf, for local and ssh.

    text: the file as it is now, for manual: nobody here can read it. wait_h: how long a rollout waits for it.
    restart: the name of a command that the installation allows, for local; script for ssh; "": by hand.
    """

    kind: str
    path: str = ""
    ssh: SshWanted = SshWanted()
    text: str = field(default="", repr=False)
    wait_h: int = DEFAULT_WAIT_H
    restart: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> DeliveryWanted:
        """given: as forms and REST describe it, flat; what is left out is as it is by itself."""
        ssh = SshWanted(
            host=given.get("host", ""),
            port=given.get("port", 22),
            username=given.get("user", ""),
            host_key=given.get("host_key", ""),
            has_sudo=given.get("sudo", False),
        )
        return cls(
            given["kind"],
            given["path"],
            ssh,
            given.get("text", ""),
            given.get("wait_h", DEFAULT_WAIT_H),
            given.get("restart", ""),
        )

    def flat(self) -> dict[str, Any]:
        """As of() takes it."""
        return {
            "kind": self.kind,
            "path": self.path,
            "host": self.ssh.host,
            "port": self.ssh.port,
            "user": self.ssh.username,
            "host_key": self.ssh.host_key,
            "sudo": self.ssh.has_sudo,
            "text": self.text,
            "wait_h": self.wait_h,
            "restart": self.restart,
        }


OBSERVE = DeliveryWanted("observe")


@dataclass(frozen=True)
class PgpoolWanted:
    host: str
    port: int
    name: str = ""
    az: str = ""
    pcp: PcpWanted | None = None
    delivery: DeliveryWanted = OBSERVE


@dataclass(frozen=True)
class BackendWanted:
    """host, port: where Lifeguard reaches the backend, if pgpool reaches it elsewhere."""

    node_id: int
    host: str = ""
    port: int | None = None
    az: str = ""


@dataclass(frozen=True)
class ClusterWanted:
    """slug: made from the name when empty."""

    name: str
    username: str
    password: str = field(repr=False)
    pgpools: tuple[PgpoolWanted, ...]
    slug: str = ""
    sslmode: str = "prefer"
    backends: tuple[BackendWanted, ...] = ()
    has_synthetic_azs: bool = False
    is_observe_only: bool = False


def too_many(*, pgpools: int, backends: int) -> dict[str, str]:
    """Field of the input -> why this many are refused, before any of them is asked."""
    errors = {}
    if pgpools > MOST_PGPOOLS:
        errors["pgpools"] = f"a cluster can have {MOST_PGPOOLS} pgpools at most, these are {pgpools}"
    if backends > MOST_BACKENDS:
        errors["backends"] = f"a cluster can have {MOST_BACKENDS} backends at most, these are {backends}"
    return errors


# Fields that belong to one way of delivery only.
_SSH_FIELDS = ("host", "port", "user", "host_key", "sudo")
_MANUAL_FIELDS = ("text", "wait_h")
# What a shell on the far side would read otherwise than meant; the script's own arguments are split at blanks.
PLAIN_PATH = re.compile(r"/[A-Za-z0-9._/+@=-]+\.conf")
PLAIN_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?")
FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}=?")


def delivery_errors(given: Mapping[str, Any]) -> dict[str, str]:
    """Field of a delivery, flat as DeliveryWanted.of takes it -> what would be right."""
    kind, path = given["kind"], given["path"]
    foreign = {"SSH": () if kind == "ssh" else _SSH_FIELDS, "hand": () if kind == "manual" else _MANUAL_FIELDS}
    errors = {
        name: f"is of delivery by {way}: leave it out for {kind}"
        for way, names in foreign.items()
        for name in names
        if given.get(name)
    }
    if kind == "local" and not path.startswith("/"):
        errors["path"] = "must be the absolute path of pgpool.conf for local delivery"
    if kind in {"observe", "manual"} and path:
        errors["path"] = f"{'observe only' if kind == 'observe' else 'by hand'} writes no file: leave the path out"
    return errors | _restart_errors(kind, given.get("restart", "")) | (_ssh_errors(given) if kind == "ssh" else {})


# How SSH restarts a pgpool: the far side knows the command.
BY_SCRIPT = "script"


def _restart_errors(kind: str, restart: str) -> dict[str, str]:
    if not restart or (kind == "ssh" and restart == BY_SCRIPT) or (kind == "local" and restart != BY_SCRIPT):
        return {}
    expected = {
        "ssh": f"must be {BY_SCRIPT}, the restart program beside the script on its host, or left out: by hand",
        "local": "must be the name of a command that the installation allows, or left out: by hand",
    }
    return {
        "restart": f"{restart[:60]!r} {expected.get(kind, f'must be left out for {kind}: it is restarted by hand')}"
    }


def _ssh_errors(given: Mapping[str, Any]) -> dict[str, str]:
    errors = {}
    if not PLAIN_PATH.fullmatch(given["path"]):
        expected = "must be an absolute path of letters, digits and . _ / + @ = - that ends in .conf"
        errors["path"] = f"{given['path'][:200]!r} {expected}, as /etc/pgpool2/pgpool.conf"
    if not PLAIN_USER.fullmatch(given.get("user", "")):
        errors["user"] = f"{given.get('user', '')!r} must be the name of the account on that host, as lifeguard"
    if "/" in given.get("host", ""):
        errors["host"] = "must be a name or an address, without any path"
    if (key := given.get("host_key", "")) and not FINGERPRINT.fullmatch(key):
        errors["host_key"] = f"{key!r} must be a fingerprint as ssh-keygen -lf prints it: SHA256:…"
    return errors
