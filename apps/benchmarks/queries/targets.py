"""What of a cluster can be put under load now, and how much of it is free."""

from __future__ import annotations

from apps.benchmarks.domain import endpoints, topologies
from apps.benchmarks.domain.endpoints import Endpoint
from apps.benchmarks.domain.run_wish import CHILDREN_KEPT, Limits, Room
from apps.benchmarks.domain.topologies import Server, Topology
from apps.benchmarks.models import BenchmarkAccess, BenchmarkEndpoint
from apps.clusters.models import Backend, BackendLatest, Cluster, InstanceConfig, InstanceLatest


def offered(cluster: Cluster) -> tuple[Topology, ...]:
    """In the order that people think of them: direct first, then through pgpool, then through what is before them."""
    backends = list(cluster.backends.order_by("node_id"))
    primary = next((one for one in backends if one.node_id == cluster.primary_node_id), None)
    instances = cluster.instances.order_by("name")
    # While nobody knows the primary, any of them may be it.
    standbys = [(one.node_id, server_of(one)) for one in backends if primary is not None and one != primary]
    found = topologies.of_cluster(
        primary=server_of(primary) if primary else None,
        standbys=standbys,
        pgpools=[Server(one.name, one.host, one.port, is_pgpool=True) for one in instances],
        has_synchronous=has_synchronous(cluster),
    )
    scratch = (topologies.scratch(one) for one in copied_from(cluster))
    return (*found, *(endpoints.topology(one) for one in endpoints_of(cluster)), *scratch)


def copied_from(cluster: Cluster) -> list[str]:
    """Names of the pgpools whose configuration is known, so that scratch ones can be made from it."""
    known = InstanceConfig.objects.filter(instance__cluster=cluster).exclude(file_sha256="")
    return list(known.order_by("instance__name").values_list("instance__name", flat=True))


def primary_of(cluster: Cluster) -> Server | None:
    """As the pgpools name it; None while nobody knows it."""
    found = [one for one in cluster.backends.all() if one.node_id == cluster.primary_node_id]
    return server_of(found[0]) if found else None


def endpoints_of(cluster: Cluster) -> list[Endpoint]:
    """By name."""
    pgpools = cluster.instances.count()
    return [endpoint_of(one, pgpools=pgpools) for one in cluster.benchmark_endpoints.order_by("name")]


def endpoint_of(row: BenchmarkEndpoint, *, pgpools: int) -> Endpoint:
    """pgpools: how many its cluster has."""
    behind = pgpools if row.stands_before_pgpools else 0
    return Endpoint(row.name, row.host, row.port, row.kind, row.takes_writes, behind)


def has_synchronous(cluster: Cluster) -> bool | None:
    """Whether the primary waits for a standby, as it was polled latest; None where no standby was seen."""
    states = BackendLatest.objects.filter(backend__cluster=cluster).exclude(sync_state="")
    seen = set(states.values_list("sync_state", flat=True))
    return bool(seen & {"sync", "quorum"}) if seen else None


def server_of(backend: Backend) -> Server:
    return Server(backend.shown_name, backend.asked_host, backend.asked_port)


_OF_BACKEND = "sessions of max_connections"
# Up to three scratch pgpools keep their sessions at each backend; each has some more that write and ask.
_SCRATCHES = 3
_SCRATCH_MORE = 12


def _scratch_room(least: int | None) -> Room:
    """least: sessions that the backend with the fewest takes; None where nobody knows."""
    if least is None:
        return Room()
    words = f"sessions for its clients, of {least} of max_connections at each backend for {_SCRATCHES} scratch pgpools"
    return Room(limit=max(0, least // _SCRATCHES - _SCRATCH_MORE), of=words)


def limits_of(cluster: Cluster, access: BenchmarkAccess) -> Limits:
    rooms = {
        each.instance.name: Room(
            limit=each.children_total, used=each.children_used, kept=CHILDREN_KEPT, of="num_init_children"
        )
        for each in InstanceLatest.objects.select_related("instance").filter(instance__cluster=cluster)
    }
    # Those that no poll has told of yet have a room that nobody knows.
    pgpools = [rooms.get(name, Room()) for name in cluster.instances.values_list("name", flat=True)]
    for each in BackendLatest.objects.select_related("backend").filter(backend__cluster=cluster):
        rooms[each.backend.shown_name] = Room(limit=each.connection_limit, of=_OF_BACKEND)
    least = min((one.limit for one in rooms.values() if one.of == _OF_BACKEND and one.limit), default=None)
    rooms |= {topologies.scratch(name).servers[0].name: _scratch_room(least) for name in copied_from(cluster)}
    for row in cluster.benchmark_endpoints.all():
        # A pgpool that was given the same name later keeps its own.
        rooms.setdefault(row.name, _room_of(row, pgpools))
    return Limits(access.most_clients, access.most_duration_s, rooms)


def _room_of(row: BenchmarkEndpoint, pgpools: list[Room]) -> Room:
    """The lesser of what it takes itself and what the pgpools behind it take, its sessions spread evenly over them.

    What one pgpool has free beyond the others is no room: a balancer goes on to hand the full one its share.
    """
    own = Room(limit=row.most_sessions, of="sessions at most")
    if not row.stands_before_pgpools or not pgpools or any(room.free is None for room in pgpools):
        return own
    least = max(0, min(room.free or 0 for room in pgpools))
    times = f"{len(pgpools)} times those of the fullest pgpool behind it, as its sessions are spread evenly"
    behind = Room(limit=len(pgpools) * least, of=f"free children ({times})")
    return min((room for room in (own, behind) if room.free is not None), key=lambda room: room.free or 0)
