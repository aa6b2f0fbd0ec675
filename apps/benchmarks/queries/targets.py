"""What of a cluster can be put under load now, and how much of it is free."""

from __future__ import annotations

from apps.benchmarks.domain import topologies
from apps.benchmarks.domain.run_wish import Limits, Room
from apps.benchmarks.domain.topologies import Server, Topology
from apps.benchmarks.models import BenchmarkAccess
from apps.clusters.models import Backend, BackendLatest, Cluster, InstanceLatest


def offered(cluster: Cluster) -> tuple[Topology, ...]:
    """In the order that people think of them: direct first, then through pgpool."""
    backends = list(cluster.backends.order_by("node_id"))
    primary = next((one for one in backends if one.node_id == cluster.primary_node_id), None)
    instances = cluster.instances.order_by("name")
    # While nobody knows the primary, any of them may be it.
    standbys = [(one.node_id, server_of(one)) for one in backends if primary is not None and one != primary]
    return topologies.of_cluster(
        primary=server_of(primary) if primary else None,
        standbys=standbys,
        pgpools=[Server(one.name, one.host, one.port, is_pgpool=True) for one in instances],
        has_synchronous=has_synchronous(cluster),
    )


def has_synchronous(cluster: Cluster) -> bool | None:
    """Whether the primary waits for a standby, as it was polled latest; None where no standby was seen."""
    states = BackendLatest.objects.filter(backend__cluster=cluster).exclude(sync_state="")
    seen = set(states.values_list("sync_state", flat=True))
    return bool(seen & {"sync", "quorum"}) if seen else None


def server_of(backend: Backend) -> Server:
    return Server(backend.shown_name, backend.asked_host, backend.asked_port)


def limits_of(cluster: Cluster, access: BenchmarkAccess) -> Limits:
    rooms = {
        each.instance.name: Room(limit=each.children_total, used=each.children_used)
        for each in InstanceLatest.objects.select_related("instance").filter(instance__cluster=cluster)
    }
    for each in BackendLatest.objects.select_related("backend").filter(backend__cluster=cluster):
        rooms[each.backend.shown_name] = Room(limit=each.connection_limit)
    return Limits(access.most_clients, access.most_duration_s, rooms)
