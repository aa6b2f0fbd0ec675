"""What was counted lately, for many clusters at once: two samples of each counter, a fixed number of statements.

The pages of one cluster count every sample of the window (history.window_counts); this is enough for an overview.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from apps.clusters.domain import routing
from apps.clusters.domain.counters import increase, increases
from apps.clusters.queries.distribution import changed_at, conditions_of, draws_of, weights_of, window_start
from apps.clusters.queries.lagged import lagged_until
from apps.clusters.queries.sight import InstanceSight, Sight

WINDOW_S = 300
# The earliest sample of the window is looked for within so long after its start: polls are at most 10 s apart.
_REACH = timedelta(seconds=30)

_EARLIEST_NODES = """
SELECT wanted.instance_id, found.node_id, found.at, found.select_count
FROM unnest(%(ids)s::bigint[], %(starts)s::timestamptz[]) AS wanted (instance_id, start)
CROSS JOIN LATERAL (
    SELECT DISTINCT ON (node_id) node_id, at, select_count FROM clusters_node_sample AS sample
    WHERE sample.instance_id = wanted.instance_id
      AND sample.at >= wanted.start AND sample.at < wanted.start + %(reach)s AND sample.at >= %(earliest)s
      AND select_count IS NOT NULL
    ORDER BY node_id, at
) AS found
"""
_EARLIEST_SESSIONS = """
SELECT wanted.instance_id, found.session_count
FROM unnest(%(ids)s::bigint[], %(starts)s::timestamptz[]) AS wanted (instance_id, start)
CROSS JOIN LATERAL (
    SELECT session_count FROM clusters_instance_sample AS sample
    WHERE sample.instance_id = wanted.instance_id
      AND sample.at >= wanted.start AND sample.at < wanted.start + %(reach)s AND sample.at >= %(earliest)s
      AND session_count IS NOT NULL
    ORDER BY at LIMIT 1
) AS found
"""


@dataclass(frozen=True)
class Recent:
    """The reads of a cluster lately. reads_per_s is None without two samples; counted_s: the time between those."""

    verdict: routing.Verdict
    reads_per_s: float | None
    counted_s: float


def recent_of(*, sights: Iterable[Sight], now: datetime) -> Mapping[int, Recent]:
    """Cluster id -> its reads in the latest five minutes, or since the latest change of weights or status."""
    known = list(sights)
    starts = {
        one.instance.pk: window_start(sight=sight, window_s=WINDOW_S, now=now)
        for sight in known
        for one in sight.instances
    }
    if not starts:
        return {sight.cluster.pk: _recent(sight, {}, {}, now) for sight in known}
    parameters: dict[str, Any] = {
        "ids": list(starts),
        "starts": list(starts.values()),
        "reach": _REACH,
        "earliest": min(starts.values()),
    }
    nodes: dict[int, dict[int, tuple[datetime, int]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_EARLIEST_NODES, parameters)
        for instance_id, node_id, at, count in cursor.fetchall():
            nodes.setdefault(instance_id, {})[node_id] = (at, count)
        cursor.execute(_EARLIEST_SESSIONS, parameters)
        sessions = dict(cursor.fetchall())
    found = {sight.cluster.pk: _recent(sight, nodes, sessions, now) for sight in known}
    off = [sight for sight in known if found[sight.cluster.pk].verdict.state is routing.RoutingState.OFF]
    windows = [(sight, window_start(sight=sight, window_s=WINDOW_S, now=now)) for sight in off]
    until = lagged_until(windows, end=now)
    return found | {sight.cluster.pk: _recent(sight, nodes, sessions, now, until) for sight in off if until}


def _recent(
    sight: Sight,
    nodes: Mapping[int, Mapping[int, tuple[datetime, int]]],
    sessions: Mapping[int, int],
    now: datetime,
    until: Mapping[int, datetime] | None = None,
) -> Recent:
    weights, draws = weights_of(sight), draws_of(sight)
    readings, reads_per_s, counted_s = [], [], 0.0
    for one in sight.instances:
        earlier = nodes.get(one.instance.pk, {})
        counts, elapsed_s = _reads(sight, one, earlier)
        if elapsed_s:
            reads_per_s.append(sum(counts.values()) / elapsed_s)
            counted_s = max(counted_s, elapsed_s)
        if one.instance.pk in weights:
            count = _sessions(one, sessions.get(one.instance.pk))
            key = one.instance.pk
            readings.append(routing.InstanceReading(one.instance.name, weights[key], counts, count, draws.get(key)))
    judged = routing.pooled_verdict(
        readings,
        statement_level=sight.cluster.is_statement_level,
        names={backend.backend.node_id: backend.name for backend in sight.backends},
        conditions=conditions_of(sight, until),
        is_after_change=(change := changed_at(sight)) is not None and change > now - timedelta(seconds=WINDOW_S),
    )
    return Recent(judged, sum(reads_per_s) if reads_per_s else None, counted_s)


def _reads(
    sight: Sight, one: InstanceSight, earlier: Mapping[int, tuple[datetime, int]]
) -> tuple[dict[int, int], float]:
    """node_id -> reads since the earlier sample, and the seconds between."""
    latest = [node for node in sight.nodes if node.instance_id == one.instance.pk and node.node_id in earlier]
    grown = increases(
        {node_id: count for node_id, (_, count) in earlier.items()},
        {node.node_id: node.select_count for node in latest},
    )
    counts = {node_id: found.count for node_id, found in grown.items() if found is not None}
    spans = [(node.seen_at - earlier[node.node_id][0]).total_seconds() for node in latest]
    return counts, max(spans, default=0.0)


def _sessions(one: InstanceSight, earlier: int | None) -> int | None:
    """Ended since the earlier sample, and open now."""
    latest = one.latest
    if latest is None or latest.children_used is None or latest.sessions_reason:
        return None
    ended = increase(earlier, latest.session_count)
    return None if ended is None else ended.count + latest.children_used
