"""Where the load of a run goes: one server, or several that it is spread over by the clients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PRIMARY = "primary"
STANDBY = "standby"
STANDBYS = "standbys"
PGPOOL = "pgpool"
PGPOOLS = "pgpools"


@dataclass(frozen=True)
class Server:
    """One place that sessions are opened at. name: as pgpool-1, or the backend's hostname:port."""

    name: str
    host: str
    port: int
    is_pgpool: bool = False


@dataclass(frozen=True)
class Topology:
    """key: as REST names it. takes_writes: whether what writes can be run against it."""

    key: str
    label: str
    servers: tuple[Server, ...]
    takes_writes: bool

    @property
    def is_through_pgpool(self) -> bool:
        return any(server.is_pgpool for server in self.servers)


def of_cluster(
    *, primary: Server | None, standbys: Sequence[tuple[int, Server]], pgpools: Sequence[Server]
) -> tuple[Topology, ...]:
    """Every topology that a cluster offers. primary: None while nobody knows it. standbys: node_id and server."""
    found: list[Topology] = []
    if primary is not None:
        found.append(Topology(PRIMARY, f"primary direct ({primary.name})", (primary,), takes_writes=True))
    found += [
        Topology(f"{STANDBY}:{node_id}", f"standby {node_id} direct ({server.name})", (server,), takes_writes=False)
        for node_id, server in standbys
    ]
    if len(standbys) > 1:
        servers = tuple(server for _, server in standbys)
        found.append(Topology(STANDBYS, f"all {len(standbys)} standbys direct", servers, takes_writes=False))
    found += [
        Topology(f"{PGPOOL}:{one.name}", f"one pgpool ({one.name})", (one,), takes_writes=True) for one in pgpools
    ]
    found += [
        Topology(f"{PGPOOLS}:{many}", f"{many} of {len(pgpools)} pgpools", tuple(pgpools[:many]), takes_writes=True)
        for many in range(2, len(pgpools))
    ]
    if len(pgpools) > 1:
        found.append(Topology(PGPOOLS, f"all {len(pgpools)} pgpools", tuple(pgpools), takes_writes=True))
    return tuple(found)


def find(key: str, offered: Iterable[Topology]) -> Topology | None:
    """The one with this key; plain "pgpool" and "standby" mean the first of them."""
    known = list(offered)
    exact = next((one for one in known if one.key == key), None)
    if exact is not None or key not in {PGPOOL, STANDBY}:
        return exact
    return next((one for one in known if one.key.startswith(f"{key}:")), None)


def shares(clients: int, servers: int) -> tuple[int, ...]:
    """Clients of each server: as even as they go, the first ones get those that are left over."""
    each, over = divmod(clients, servers)
    return tuple(each + (position < over) for position in range(servers))
