"""What a lab consists of: names, ports, zones and passwords, kept in `root/lab.json` for scripts and tests."""

import json
import random
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deploy.lab import ports

# Synthetic: nothing on a loopback lies in a zone. They stand in for the real ones wherever zones matter.
ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
BACKEND_NAMES = ("pg1", "pg2", "pg3")
LOGINS = ("postgres", "replicator", "lifeguard", "pgpool_check", "app", "pcp")


class UnknownServer(ValueError):
    """No server of the lab has this name."""


@dataclass(frozen=True)
class Backend:
    node_id: int
    name: str
    host: str
    port: int
    az: str


@dataclass(frozen=True)
class Pgpool:
    name: str
    host: str
    port: int
    pcp_port: int
    conf: str  # path of its pgpool.conf
    az: str
    wd_port: int | None = None  # these two only where the pgpools watch each other
    heartbeat_port: int | None = None


@dataclass(frozen=True)
class Plan:
    backends: tuple[Backend, ...]
    pgpools: tuple[Pgpool, ...]
    passwords: Mapping[str, str]
    num_init_children: int

    @property
    def has_watchdog(self) -> bool:
        return any(pgpool.wd_port is not None for pgpool in self.pgpools)

    @property
    def max_connections(self) -> int:
        """Every child of every pgpool may hold one connection; probes, Lifeguard and people need some more."""
        return max(300, len(self.pgpools) * self.num_init_children + 60)

    @property
    def servers(self) -> Sequence[Backend | Pgpool]:
        return [*self.backends, *self.pgpools]

    def server(self, name: str) -> Backend | Pgpool:
        for server in self.servers:
            if server.name == name:
                return server
        known = ", ".join(server.name for server in self.servers)
        raise UnknownServer(f"{name!r} is none of {known}")


@dataclass(frozen=True)
class ServerStatus:
    """state: running, frozen or stopped."""

    name: str
    host: str
    port: int
    az: str
    state: str
    process_count: int


def draw_up(
    *,
    earlier: Mapping[str, Any] | None,
    data: Path,
    pgpool_count: int,
    num_init_children: int,
    ours: Collection[int],
    has_watchdog: bool = False,
) -> Plan:
    """The plan for the next start: ports and passwords of the earlier one as far as they still serve.

    ours: ports that servers of this lab listen on at this moment.
    """
    pgpool_names = [f"pgpool-{number}" for number in range(1, pgpool_count + 1)]
    wanted = [*BACKEND_NAMES, *pgpool_names, *(f"{name} pcp" for name in pgpool_names)]
    if has_watchdog:
        wanted += [f"{name} {port}" for name in pgpool_names for port in ("wd", "heartbeat")]
    chosen = ports.keep_or_choose(wanted, _known_ports(earlier), ours, random.Random())
    passwords = {login: secrets.token_urlsafe(15) for login in LOGINS} | dict((earlier or {}).get("passwords", {}))
    backends = tuple(
        Backend(node_id=node_id, name=name, host="127.0.0.1", port=chosen[name], az=ZONES[node_id % len(ZONES)])
        for node_id, name in enumerate(BACKEND_NAMES)
    )
    pgpools = tuple(
        Pgpool(
            name=name,
            host="127.0.0.1",
            port=chosen[name],
            pcp_port=chosen[f"{name} pcp"],
            conf=str(data / name / "pgpool.conf"),
            az=ZONES[number % len(ZONES)],
            wd_port=chosen.get(f"{name} wd"),
            heartbeat_port=chosen.get(f"{name} heartbeat"),
        )
        for number, name in enumerate(pgpool_names)
    )
    return Plan(backends=backends, pgpools=pgpools, passwords=passwords, num_init_children=num_init_children)


def _known_ports(earlier: Mapping[str, Any] | None) -> dict[str, int]:
    if earlier is None:
        return {}
    known = {server["name"]: server["port"] for server in (*earlier["backends"], *earlier["pgpools"])}
    for server in earlier["pgpools"]:
        ports_of = {"pcp": server["pcp_port"], "wd": server.get("wd_port"), "heartbeat": server.get("heartbeat_port")}
        known |= {f"{server['name']} {kind}": port for kind, port in ports_of.items() if port is not None}
    return known


def as_json(plan: Plan, data: Path) -> dict[str, Any]:
    """The content of lab.json."""
    passwords = plan.passwords
    return {
        "backends": [asdict(backend) for backend in plan.backends],
        "pgpools": [asdict(pgpool) for pgpool in plan.pgpools],
        "monitor": {"username": "lifeguard", "password": passwords["lifeguard"]},
        "pcp": {"username": "lifeguard", "password": passwords["pcp"]},
        "app": {"username": "app", "password": passwords["app"], "database": "shop"},
        "zones_are_synthetic": True,
        "data": str(data),
        "num_init_children": plan.num_init_children,
        "passwords": dict(passwords),
    }


def from_json(content: Mapping[str, Any]) -> Plan:
    return Plan(
        backends=tuple(Backend(**row) for row in content["backends"]),
        pgpools=tuple(Pgpool(**row) for row in content["pgpools"]),
        passwords=dict(content["passwords"]),
        num_init_children=content["num_init_children"],
    )


def read(path: Path) -> dict[str, Any] | None:
    """None if there is no lab here yet."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return content
