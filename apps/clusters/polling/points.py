"""The points that one tick appends to the charts. They agree with what `history.series` answers for the same time."""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import TypedDict

from apps.clusters.domain.counters import Increase, increases, rate_per_s
from apps.clusters.history.increases import LONGEST_BREAK_S
from apps.clusters.history.series import SHARE_REACH_S, Point
from apps.clusters.polling.lags import KnownLag
from apps.clusters.polling.memory import ClusterMemory, Counters, Recent
from apps.clusters.polling.readings import InstanceReading, Tick
from apps.clusters.polling.registry import WatchedCluster


class PushedPoint(TypedDict):
    """Whose series it belongs to, as in the series that history answers; both None: of the whole cluster."""

    node_id: int | None
    instance: str | None
    point: Point


Points = dict[str, list[PushedPoint]]


class PointsMessage(TypedDict):
    """seq: the lease's epoch and the tick; a tick that does not follow the one before is a gap. points: by metric."""

    topic: str
    seq: tuple[int, int]
    points: Points


def points_of(*, cluster: WatchedCluster, memory: ClusterMemory, tick: Tick, lags: Mapping[int, KnownLag]) -> Points:
    """Points by metric; brings the memory's counters up to date."""
    names = {one.instance_id: one.name for one in cluster.instances}
    points = _Appender(tick.at)
    grown = {one.instance_id: _grown(one, memory, tick.at) for one in tick.instances}
    for reading in tick.instances:
        name = names.get(reading.instance_id)
        points.add("probe_ms", reading.probe_ms, instance=name)
        points.add("children_used", reading.children_used, instance=name)
    _add_rates(points, grown, names)
    _remember(memory, tick.at, grown.values())
    _add_shares(points, memory)
    _add_weights(points, tick.instances)
    _add_backends(points, cluster, tick, lags)
    return points.found


class _Grown:
    """What one pgpool counted since the tick before."""

    def __init__(
        self, reads: Mapping[int, Increase | None], hits: Increase | None, misses: Increase | None, elapsed_s: float
    ) -> None:
        self.reads = {node_id: one for node_id, one in reads.items() if one is not None}
        self.hits = hits.count if hits and misses else 0
        self.misses = misses.count if hits and misses else 0
        self.elapsed_s = elapsed_s

    @property
    def rates(self) -> dict[int, float]:
        found = {node_id: rate_per_s(one, self.elapsed_s) for node_id, one in self.reads.items()}
        return {node_id: rate for node_id, rate in found.items() if rate is not None}


def _grown(reading: InstanceReading, memory: ClusterMemory, at: dt.datetime) -> _Grown | None:
    if not reading.is_answering or not reading.nodes:
        return None
    now = Counters(
        at,
        {node.node_id: node.select_count for node in reading.nodes},
        reading.cache_hit_count,
        reading.cache_miss_count,
    )
    before = memory.counters.get(reading.instance_id)
    memory.counters[reading.instance_id] = now
    now.since = at
    if before is None or (at - before.at).total_seconds() > LONGEST_BREAK_S:
        return None
    reads = increases(before.reads, now.reads)
    cache = increases(
        {"hits": before.cache_hits, "misses": before.cache_misses}, {"hits": now.cache_hits, "misses": now.cache_misses}
    )
    is_restart = any(one is not None and one.is_restart for one in (*reads.values(), *cache.values()))
    if not is_restart and before.reads.keys() == now.reads.keys():
        now.since = before.since or at
    return _Grown(reads, cache["hits"], cache["misses"], (at - before.at).total_seconds())


def _add_rates(points: "_Appender", grown: Mapping[int, _Grown | None], names: Mapping[int, str]) -> None:
    by_node: dict[int, float] = {}
    for instance_id, one in grown.items():
        rates = one.rates if one is not None else {}
        points.add("reads_per_s_by_instance", sum(rates.values()) if rates else None, instance=names.get(instance_id))
        for node_id, rate in rates.items():
            by_node[node_id] = by_node.get(node_id, 0.0) + rate
    for node_id, rate in by_node.items():
        points.add("reads_per_s", rate, node_id=node_id)
    points.add("reads_per_s_total", sum(by_node.values()) if by_node else None)


def _remember(memory: ClusterMemory, at: dt.datetime, grown: Iterable[_Grown | None]) -> None:
    reads: dict[int, int] = {}
    hits = misses = 0
    for one in grown:
        if one is not None:
            hits, misses = hits + one.hits, misses + one.misses
            for node_id, count in one.reads.items():
                reads[node_id] = reads.get(node_id, 0) + count.count
    memory.recent.append(Recent(at, reads, hits, misses))
    while (at - memory.recent[0].at).total_seconds() > SHARE_REACH_S:
        memory.recent.popleft()


def _add_shares(points: "_Appender", memory: ClusterMemory) -> None:
    reads: dict[int, int] = {}
    for one in memory.recent:
        for node_id, count in one.reads.items():
            reads[node_id] = reads.get(node_id, 0) + count
    total = sum(reads.values())
    for node_id, count in reads.items():
        points.add("read_share", count / total if total else None, node_id=node_id)
    hits = sum(one.cache_hits for one in memory.recent)
    selects = hits + sum(one.cache_misses for one in memory.recent)
    points.add("cache_hit_ratio", hits / selects if selects else None)


def _add_weights(points: "_Appender", instances: Iterable[InstanceReading]) -> None:
    known: dict[int, list[float]] = {}
    for reading in instances:
        for node_id, weight in reading.weights.items():
            if weight is not None:
                known.setdefault(node_id, []).append(weight)
    for node_id, weights in known.items():
        points.add("weight_share", sum(weights) / len(weights), node_id=node_id)


def _add_backends(points: "_Appender", cluster: WatchedCluster, tick: Tick, lags: Mapping[int, KnownLag]) -> None:
    node_ids = {one.backend_id: one.node_id for one in cluster.backends}
    for reading in tick.backends:
        node_id = node_ids.get(reading.backend_id)
        points.add("backend_probe_ms", reading.facts.probe_ms if reading.facts else None, node_id=node_id)
        lag = lags.get(reading.backend_id)
        if lag is not None and lag.is_standby:
            points.add("replay_lag_s", lag.lag_s, node_id=node_id)
            points.add("replay_lag_bytes", lag.lag_bytes, node_id=node_id)


class _Appender:
    def __init__(self, at: dt.datetime) -> None:
        self._at_s = at.timestamp()
        self.found: Points = {}

    def add(self, metric: str, value: float | None, *, node_id: int | None = None, instance: str | None = None) -> None:
        point = (self._at_s, None if value is None else round(value, 6))
        self.found.setdefault(metric, []).append(PushedPoint(node_id=node_id, instance=instance, point=point))
