"""Another leader of the watchdog, a quorum lost or regained, a pgpool lost or back: each told once per change."""

import datetime as dt
from collections.abc import Mapping

from apps.clusters.domain import watchdog_settled
from apps.clusters.domain.watchdog import Watchdog
from apps.clusters.domain.watchdog_settled import Settled
from apps.clusters.models import Cluster
from apps.clusters.polling.changes import Change
from apps.clusters.polling.memory import AskedWatchdog, ClusterMemory
from apps.clusters.polling.readings import Tick
from apps.clusters.polling.registry import WatchedCluster

# Each is asked every 10 s, and a question takes up to 3 s.
CURRENT_FOR = dt.timedelta(seconds=30)


def watchdog_changes(*, cluster: WatchedCluster, memory: ClusterMemory, tick: Tick) -> list[Change]:
    """Compare what the watchdogs tell with the memory, bring it up to date, and keep what holds with the cluster.

    Nothing is compared before every pgpool was asked in this watch: one alone may be the one that is cut off.
    """
    if not _take_in(memory, tick) or not {one.instance_id for one in cluster.instances} <= memory.watchdogs.keys():
        return []
    asked = [memory.watchdogs[one.instance_id] for one in cluster.instances]
    if all(one.is_off for one in asked):
        if memory.watchdog is not None and _is_free(cluster):
            _keep(cluster, memory, None)
        return []
    current = [one.watchdog for one in asked if one.watchdog is not None and tick.at - one.at <= CURRENT_FOR]
    before, now = memory.watchdog, watchdog_settled.settled(current, memory.watchdog)
    if now is None or now == before or not _is_free(cluster):
        return []
    _keep(cluster, memory, now)
    return _told(cluster, memory, before, now, current) if before is not None else []


def _take_in(memory: ClusterMemory, tick: Tick) -> bool:
    """Whether there is something new."""
    readings = {one.instance_id: one.watchdog for one in tick.instances if one.watchdog is not None}
    for key, reading in readings.items():
        is_off = reading.watchdog is None and not reading.reason
        memory.watchdogs[key] = AskedWatchdog(tick.at, reading.watchdog, is_off=is_off)
        if reading.watchdog is not None:
            memory.watchdog_names[key] = reading.watchdog.own.name
    return bool(readings)


def _is_free(cluster: WatchedCluster) -> bool:
    """Whether its row can be written at once; if not, the next answers tell the same.

    A request holds it while it asks pgpools, which takes seconds where hosts are dead, and polling waits for nobody.
    """
    free = Cluster.objects.select_for_update(no_key=True, skip_locked=True)
    return free.filter(pk=cluster.cluster_id).only("pk").first() is not None


def _keep(cluster: WatchedCluster, memory: ClusterMemory, now: Settled | None) -> None:
    memory.watchdog = now
    kept = {} if now is None else {"leader": now.leader, "has_quorum": now.has_quorum, "gone": sorted(now.gone)}
    Cluster.objects.filter(pk=cluster.cluster_id).update(watchdog=kept)


def _told(
    cluster: WatchedCluster, memory: ClusterMemory, before: Settled, now: Settled, current: list[Watchdog]
) -> list[Change]:
    names = _registered_names(cluster, memory, current)
    changes = watchdog_settled.changes(before, now, current, lambda node: names.get(node, node))
    return [
        Change("watchdog", each.title, each.detail, is_problem=each.is_problem, instance_name=names.get(each.node, ""))
        for each in changes
    ]


def _registered_names(cluster: WatchedCluster, memory: ClusterMemory, current: list[Watchdog]) -> Mapping[str, str]:
    """Name for the watchdog -> name as registered: as each told of itself, else by its address."""
    by_place = {(one.address.host, one.address.port): one.name for one in cluster.instances}
    nodes = [node for each in current for node in each.nodes]
    found = {node.name: by_place[node.hostname, node.port] for node in nodes if (node.hostname, node.port) in by_place}
    own = {memory.watchdog_names[one.instance_id]: one.name for one in cluster.instances
           if one.instance_id in memory.watchdog_names}  # fmt: skip
    return found | own
