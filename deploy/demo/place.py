"""Where a demo keeps its files, and the secrets and ports that it chose once."""

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from cryptography.fernet import Fernet

from deploy import machine

DEFAULT_ROOT = Path(__file__).resolve().parent.parent.parent / ".lifeguard"
# Every process of a demo carries this, so that what a killed one left behind can be found.
MARK = "LIFEGUARD_DEMO_DIRECTORY"


class PortTaken(RuntimeError):
    """The port that LIFEGUARD_PORT asks for is in use."""

    def __init__(self, port: int) -> None:
        super().__init__(f"port {port} is in use by another program. Choose another one: LIFEGUARD_PORT=… make demo")


@dataclass(frozen=True)
class Place:
    root: Path

    @property
    def directory(self) -> Path:
        return self.root / "demo"

    @property
    def announcement(self) -> Path:
        """What scripts read: address, user, token, ports."""
        return self.root / "demo.json"

    @property
    def lock(self) -> Path:
        return self.root / "demo.lock"

    @property
    def lab(self) -> Path:
        return self.directory / "lab"

    @property
    def logs(self) -> Path:
        return self.directory / "log"

    @property
    def scratch(self) -> Path:
        """The programs' /tmp: workers that are ended at once leave folders there."""
        return self.directory / "tmp"

    @property
    def settings(self) -> Path:
        return self.directory / "settings.json"

    @property
    def environment(self) -> Path:
        """The LIFEGUARD_ settings as a shell reads them; the programs wait for it and start when it is there."""
        return self.directory / "environment.sh"

    @property
    def bouncer(self) -> Path:
        """Of the PgBouncer before the lab's primary."""
        return self.directory / "pgbouncer"

    @property
    def keeper(self) -> Path:
        """Which process keeps the programs alive."""
        return self.directory / "keeper.json"


@dataclass(frozen=True)
class Settings:
    secret_key: str
    encryption_key: str
    postgres_password: str
    redis_password: str
    password: str  # of the demo's user
    web_port: int
    postgres_port: int
    redis_port: int
    api_token: str = ""
    bouncer_port: int = 0


def write_privately(path: Path, text: str) -> None:
    """All of it or nothing, and for nobody else's eyes."""
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def save(place: Place, settings: Settings) -> None:
    write_privately(place.settings, json.dumps(asdict(settings), indent=1))


def load(place: Place) -> Settings | None:
    if not place.settings.exists():
        return None
    return Settings(**json.loads(place.settings.read_text(encoding="utf-8")))


def wanted_web_port(environ: Mapping[str, str]) -> int | None:
    text = environ.get("LIFEGUARD_PORT", "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65535):
        raise ValueError(f"LIFEGUARD_PORT={text!r} is no port number")
    return int(text)


def choose(place: Place, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """Secrets are made once; a port is kept as long as nobody else took it. Nothing of ours may be running."""
    earlier = load(place)
    settings = earlier or Settings(
        secret_key=secrets.token_urlsafe(48),
        encryption_key=Fernet.generate_key().decode(),
        postgres_password=secrets.token_urlsafe(18),
        redis_password=secrets.token_urlsafe(18),
        password=secrets.token_urlsafe(12),
        web_port=0,
        postgres_port=0,
        redis_port=0,
    )
    wanted = wanted_web_port(environ)
    if wanted is not None and not machine.is_port_free(wanted):
        raise PortTaken(wanted)
    ports: list[int] = []
    known = (wanted or settings.web_port, settings.postgres_port, settings.redis_port, settings.bouncer_port)
    for port in known:
        is_kept = port and port not in ports and machine.is_port_free(port)
        ports.append(port if is_kept else machine.free_port(taken=ports))
    web, postgres, redis, bouncer = ports
    settings = replace(settings, web_port=web, postgres_port=postgres, redis_port=redis, bouncer_port=bouncer)
    save(place, settings)
    return settings
