"""What a watch remembers of a cluster from tick to tick; a new watch begins with what the latest rows say."""

import datetime as dt
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.clusters.control import restart_rows
from apps.clusters.domain.memcached import MemcachedState
from apps.clusters.domain.memcached_seen import MemcachedSeen, seen_of
from apps.clusters.domain.watchdog import Watchdog
from apps.clusters.domain.watchdog_settled import Settled
from apps.clusters.models import (
    BackendLatest,
    Cluster,
    ClusterEvent,
    InstanceLatest,
    NodeLatest,
    PgpoolInstance,
    WatchdogLatest,
)

# In the title of the event that tells it.
AWAY_FOR_RESTART = "is away for restart"


@dataclass
class Counters:
    """The counters of one pgpool at one time. since: read without a break since then, and never restarted."""

    at: dt.datetime
    reads: Mapping[int, int]
    cache_hits: int | None = None
    cache_misses: int | None = None
    since: dt.datetime | None = None


@dataclass
class Recent:
    """Increases of the latest ticks over all pgpools, for shares that look back some seconds."""

    at: dt.datetime
    reads: Mapping[int, int]
    cache_hits: int
    cache_misses: int


@dataclass(frozen=True)
class AskedWatchdog:
    """What the watchdog of one pgpool told when it was asked latest. watchdog None: nothing, or that none runs."""

    at: dt.datetime
    watchdog: Watchdog | None
    is_off: bool


@dataclass(frozen=True)
class KnownMemcached:
    """What one memcached told latest of itself, by an answer, a silence or a refusal. at: when it was asked."""

    at: dt.datetime
    state: MemcachedState


@dataclass
class ClusterMemory:
    """failures: how many looks in a row a pgpool has not answered; told: pgpools whose silence has been announced;
    restarting: those that are told to be away for a restart of ours; renumbered: those of which it was told that they
    number the backends differently.

    is_up: node_id -> whether the pgpools hold the backend for up. lag_over_at: node_id -> when its lag was over
    delay_threshold latest, from then on until its end is told. watchdogs: of this watch; watchdog: what they agreed on
    latest, None for nothing yet; watchdog_names: instance -> how its watchdog calls it. memcacheds: instance -> what
    is seen of the memcached that it caches in; memcacheds_known: host:port -> what is known of each.
    """

    sessions: dict[int, int] = field(default_factory=dict)
    failures: dict[int, int] = field(default_factory=dict)
    told: set[int] = field(default_factory=set)
    restarting: set[int] = field(default_factory=set)
    renumbered: set[int] = field(default_factory=set)
    is_up: dict[int, bool] = field(default_factory=dict)
    lag_over_at: dict[int, dt.datetime] = field(default_factory=dict)
    primary: int | None = None
    weights: dict[int, dict[int, float | None]] = field(default_factory=dict)
    foreign_weights: tuple[dt.datetime, dict[int, float | None]] | None = None
    counters: dict[int, Counters] = field(default_factory=dict)
    recent: deque[Recent] = field(default_factory=deque)
    watchdogs: dict[int, AskedWatchdog] = field(default_factory=dict)
    watchdog: Settled | None = None
    watchdog_names: dict[int, str] = field(default_factory=dict)
    memcacheds: dict[int, MemcachedSeen] = field(default_factory=dict)
    memcacheds_known: dict[str, KnownMemcached] = field(default_factory=dict)


def remembered(cluster_id: int) -> ClusterMemory:
    """The memory that the latest rows hold: nothing that happened while nobody watched goes unnoticed."""
    memory = ClusterMemory()
    _remember_agreed(cluster_id, memory)
    for latest in InstanceLatest.objects.filter(instance__cluster_id=cluster_id):
        memory.sessions[latest.instance_id] = latest.session_count or 0
        if latest.state != InstanceLatest.State.ANSWERING:
            _remember_away(cluster_id, latest, memory)
        if latest.state == InstanceLatest.State.RENUMBERED:
            memory.renumbered.add(latest.instance_id)
        if latest.memcached is not None:
            _remember_memcached(latest.instance_id, seen_of(latest.memcached), memory)
        if latest.answered_at is not None:
            # A pgpool that is away now may come back restarted: what it had counted before tells it.
            memory.counters[latest.instance_id] = Counters(
                latest.answered_at, {}, latest.cache_hit_count, latest.cache_miss_count, latest.counted_since
            )
    for node in NodeLatest.objects.filter(instance__cluster_id=cluster_id).order_by("instance_id", "node_id"):
        memory.weights.setdefault(node.instance_id, {})[node.node_id] = node.lb_weight
        memory.is_up[node.node_id] = memory.is_up.get(node.node_id, True) and is_up(node.status)
        counters = memory.counters.get(node.instance_id)
        if counters is not None and node.select_count is not None:
            counters.reads = {**counters.reads, node.node_id: node.select_count}
    for backend in BackendLatest.objects.filter(backend__cluster_id=cluster_id).select_related("backend"):
        if backend.lag_over_at is not None:
            memory.lag_over_at[backend.backend.node_id] = backend.lag_over_at
    return memory


def _remember_away(cluster_id: int, latest: InstanceLatest, memory: ClusterMemory) -> None:
    """By what was told of it latest: a restart that it was away for may have ended since, and nobody has told that."""
    name = PgpoolInstance.objects.filter(pk=latest.instance_id).values("name")
    told = ClusterEvent.objects.filter(cluster_id=cluster_id, kind=ClusterEvent.Kind.INSTANCE, instance_name__in=name)
    newest = told.order_by("-pk").first()
    if newest is not None and newest.is_problem:
        memory.told.add(latest.instance_id)
    elif (newest is not None and AWAY_FOR_RESTART in newest.title) or (
        restart_rows.away_for(latest.instance_id, now=latest.polled_at) is not None
    ):
        memory.restarting.add(latest.instance_id)


def _remember_memcached(instance_id: int, seen: MemcachedSeen, memory: ClusterMemory) -> None:
    memory.memcacheds[instance_id] = seen
    known = memory.memcacheds_known.get(seen.asked)
    if seen.known is not None and (known is None or seen.asked_at > known.at):
        memory.memcacheds_known[seen.asked] = KnownMemcached(seen.asked_at, seen.known)


def _remember_agreed(cluster_id: int, memory: ClusterMemory) -> None:
    """Not from the pgpools' rows: those of one that is away would tell an old promotion anew, or an old leader."""
    kept = Cluster.objects.filter(pk=cluster_id).values("primary_node_id", "watchdog").first()
    if kept is not None:
        memory.primary = kept["primary_node_id"]
        memory.watchdog = _settled(kept["watchdog"])
    for told in WatchdogLatest.objects.filter(instance__cluster_id=cluster_id).exclude(told={}):
        memory.watchdog_names[told.instance_id] = told.told["nodes"][0]["name"]


def _settled(kept: Mapping[str, Any]) -> Settled | None:
    return Settled(kept["leader"], kept["has_quorum"], frozenset(kept["gone"])) if kept else None


def is_up(status: str) -> bool:
    """Whether pgpool sends sessions there: "waiting" is up without a session so far."""
    return status in ("up", "waiting")
