"""Where the load of a run goes: one server, or several that it is spread over by the clients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PRIMARY = "primary"
STANDBY = "standby"
STANDBYS = "standbys"
PGPOOL = "pgpool"
PGPOOLS = "pgpools"
COMMIT = "commit"
# What a commit waits for, the least first: PostgreSQL manual, synchronous_commit.
COMMIT_LEVELS = ("off", "local", "remote_write", "on", "remote_apply")
# Without a synchronous standby these wait for no more than local does.
WAITING_LEVELS = ("remote_write", "on", "remote_apply")
AS_LOCAL = "no standby is synchronous now, so this waits for no more than local does"
ENDPOINT = "endpoint"
# pgpools that a run starts itself, made from the configuration of one of the cluster.
SCRATCH = "scratch"


def place_of(host: str, port: int) -> str:
    """10.0.0.5:6432; of an address of IPv6 [::1]:6432"""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def address_of(place: str) -> tuple[str, int]:
    """(host, port) of what place_of makes. Raises ValueError."""
    host, colon, port = place.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    found = host[1:-1] if is_bracketed else host
    if not colon or not found or not port.isdecimal() or (":" in found) is not is_bracketed:
        raise ValueError(f"{place!r} is no host:port; an address of IPv6 stands in brackets, as [::1]:5432")
    return found, int(port)


@dataclass(frozen=True)
class Server:
    """One place that sessions are opened at. name: as pgpool-1, or the backend's hostname:port.

    pgpools_behind: of an endpoint, over how many its sessions are spread. passes_options: whether parameters that a
    session asks for (PGOPTIONS) reach PostgreSQL. keeps_statements: whether a session finds again what it prepared.
    """

    name: str
    host: str
    port: int
    is_pgpool: bool = False
    is_endpoint: bool = False
    pgpools_behind: int = 0
    passes_options: bool = True
    keeps_statements: bool = True

    @property
    def place(self) -> str:
        return place_of(self.host, self.port)

    @property
    def full_name(self) -> str:
        """bouncer-1 (10.0.0.5:6432); a backend may be named by its place already."""
        return self.name if self.name == self.place else f"{self.name} ({self.place})"


@dataclass(frozen=True)
class Topology:
    """key: as REST names it. takes_writes: whether what writes can be run against it.

    copied_from: of scratch pgpools, the name of the one whose configuration they have; "" for any other.

    commit_level: that its sessions ask for; "" for what the role has. note: to know before it is chosen.
    """

    key: str
    label: str
    servers: tuple[Server, ...]
    takes_writes: bool
    commit_level: str = ""
    note: str = ""
    copied_from: str = ""

    @property
    def is_scratch(self) -> bool:
        return bool(self.copied_from)

    @property
    def is_direct(self) -> bool:
        """Whether its sessions end at these servers, and at no others behind them."""
        return not any(server.is_pgpool or server.is_endpoint for server in self.servers)

    @property
    def is_through_pgpool(self) -> bool:
        """Through those of the cluster."""
        return not self.is_scratch and any(server.is_pgpool or server.pgpools_behind for server in self.servers)

    @property
    def endpoint(self) -> Server | None:
        return next((server for server in self.servers if server.is_endpoint), None)

    @property
    def keeps_statements(self) -> bool:
        """Whether every session finds again what it prepared, wherever it was opened."""
        return all(server.keeps_statements for server in self.servers)

    @property
    def session_options(self) -> str:
        """What its sessions begin with, as PGOPTIONS tells libpq."""
        return f"-c synchronous_commit={self.commit_level}" if self.commit_level else ""


def of_cluster(
    *,
    primary: Server | None,
    standbys: Sequence[tuple[int, Server]],
    pgpools: Sequence[Server],
    has_synchronous: bool | None = None,
) -> tuple[Topology, ...]:
    """Every topology that a cluster offers. primary: None while nobody knows it. standbys: node_id and server.

    has_synchronous: whether commits wait for a standby now; None where nobody can tell.
    """
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
    if primary is not None:
        found += [_at_level(primary, level, has_synchronous) for level in COMMIT_LEVELS]
    return tuple(found)


def _at_level(primary: Server, level: str, has_synchronous: bool | None) -> Topology:
    is_as_local = level in WAITING_LEVELS and has_synchronous is False
    return Topology(
        f"{COMMIT}:{level}", f"primary direct, synchronous_commit = {level}", (primary,), takes_writes=True,
        commit_level=level, note=AS_LOCAL if is_as_local else "",
    )  # fmt: skip


def scratch(name: str) -> Topology:
    """name: of the pgpool whose configuration they have. Their ports are chosen when they start."""
    server = Server(f"scratch of {name}", "127.0.0.1", 0, is_pgpool=True)
    return Topology(
        f"{SCRATCH}:{name}", f"scratch pgpools with the configuration of {name}", (server,), takes_writes=True,
        copied_from=name,
    )  # fmt: skip


def find(key: str, offered: Iterable[Topology]) -> Topology | None:
    """The one with this key; plain "pgpool", "standby" and "scratch" mean the first of them."""
    known = list(offered)
    exact = next((one for one in known if one.key == key), None)
    if exact is not None or key not in {PGPOOL, STANDBY, SCRATCH}:
        return exact
    return next((one for one in known if one.key.startswith(f"{key}:")), None)


def shares(clients: int, servers: int) -> tuple[int, ...]:
    """Clients of each server: as even as they go, the first ones get those that are left over."""
    each, over = divmod(clients, servers)
    return tuple(each + (position < over) for position in range(servers))
