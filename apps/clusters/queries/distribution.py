"""Whether reads follow the weights: the verdict of a cluster with its evidence, together and per pgpool."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypedDict

from apps.clusters.domain import routing
from apps.clusters.history import InstanceWindow, window_counts
from apps.clusters.history.blocks import measured_draws_per_read
from apps.clusters.models import Cluster, NodeLatest
from apps.clusters.queries.deviation import off_since
from apps.clusters.queries.health import FIRST_WINDOW_S, STALE_AFTER_S
from apps.clusters.queries.lagged import lagged_until
from apps.clusters.queries.sight import BackendSight, Sight, sight_of


class VerdictSaid(TypedDict):
    """is_certain: off, and by more than chance allows once in 10,000 windows."""

    state: str
    sentence: str
    is_certain: bool


class NodeShare(TypedDict):
    """One backend: shares are 0..1; low..high is where chance alone leaves the observed share; state as a verdict's."""

    node_id: int
    name: str
    hostname: str
    port: int
    role: str
    weight_share: float | None
    effective_share: float | None
    observed_share: float | None
    low: float | None
    high: float | None
    select_count: int
    state: str


class InstanceDistribution(TypedDict):
    instance: str
    sessions: int | None
    sessions_reason: str
    reads: int
    state: str
    is_certain: bool
    nodes: list[NodeShare]


class DistributionAnswer(TypedDict):
    """window_s: as asked; seconds: really covered, since a change of weights or of a backend's status starts anew."""

    verdict: VerdictSaid
    sessions: int | None
    sessions_reason: str
    reads: int
    window_s: int
    seconds: float
    start: datetime
    end: datetime
    band: float | None
    nodes: list[NodeShare]
    per_instance: list[InstanceDistribution]


def distribution(*, cluster: Cluster, window_s: int, now: datetime) -> DistributionAnswer:
    """Judge the reads of the latest window_s seconds against the weights that are in force."""
    return distribution_of(sight=sight_of(cluster), window_s=window_s, now=now)


def distribution_of(*, sight: Sight, window_s: int, now: datetime) -> DistributionAnswer:
    cluster = sight.cluster
    start = window_start(sight=sight, window_s=window_s, now=now)
    counts = window_counts(cluster=cluster, start=start, end=now)
    weights = weights_of(sight)
    covered_s = _covered_s(counts, start, now)
    judge = partial(
        routing.pooled_verdict,
        statement_level=cluster.is_statement_level,
        names={one.backend.node_id: one.name for one in sight.backends},
        window_s=_shown_window_s(covered_s, window_s),
        is_after_change=start == changed_at(sight),
    )
    draws = draws_of(sight)
    judged = judge(readings_of(counts, weights, draws), conditions=conditions_of(sight))
    if judged.state is routing.RoutingState.OFF:
        # A session that has just become busy is not in the latest measurement yet.
        draws |= measured_draws_per_read(changed_at=_changes(sight), now=now)
        judged = judge(readings_of(counts, weights, draws), conditions=conditions_of(sight))
    if judged.state is routing.RoutingState.OFF:
        since = off_since(cluster=cluster, judged=judged, changed_at=changed_at(sight), start=start, now=now)
        past = conditions_of(sight, lagged_until([(sight, start)], end=now))
        judged = judge(readings_of(counts, weights, draws), conditions=past, off_since=since)
    if start == changed_at(sight):
        judged = _unless_too_early(judged, covered_s)
    return {
        "verdict": {
            "state": judged.state,
            "sentence": _sentence(judged, counts, start, now),
            "is_certain": judged.is_certain,
        },
        "sessions": None if judged.sessions is None else round(judged.sessions),
        "sessions_reason": _sessions_reason(counts),
        "reads": judged.reads,
        "window_s": window_s,
        "seconds": covered_s,
        "start": start,
        "end": now,
        "band": _band(judged),
        "nodes": _shares(sight, judged, _total(counts)),
        "per_instance": [
            _instance(sight, one, weights.get(one.instance_id), draws.get(one.instance_id), len(counts))
            for one in counts
        ],
    }


def window_start(*, sight: Sight, window_s: int, now: datetime) -> datetime:
    """The window's start, after the latest change of weights, status or role: reads from before obeyed other rules."""
    asked = now - timedelta(seconds=window_s)
    return min(max(asked, changed_at(sight) or asked), now)


def changed_at(sight: Sight) -> datetime | None:
    """When weights, or the status or role of a backend, changed latest, as any pgpool saw it."""
    return max((at for at in _changes(sight).values() if at is not None), default=None)


def _changes(sight: Sight) -> dict[int, datetime | None]:
    """The same for each pgpool by itself."""
    found: dict[int, datetime | None] = {one.instance.pk: None for one in sight.instances}
    for node in sight.nodes:
        change = node.changed_at
        found[node.instance_id] = max(found.get(node.instance_id) or change, change)
    return found


def draws_of(sight: Sight) -> dict[int, float]:
    """Instance id -> independent draws per read, where they were measured."""
    known = {one.instance.pk: one.latest.draws_per_read for one in sight.instances if one.latest}
    return {instance_id: draws for instance_id, draws in known.items() if draws is not None}


def weights_of(sight: Sight) -> dict[int, dict[int, float]]:
    """Instance id -> node_id -> share of new sessions; all 0 where pgpool shows that no weight is above 0."""
    found: dict[int, dict[int, float]] = {}
    for node in sight.nodes:
        if node.lb_weight is not None or _has_shown_weights(node):
            found.setdefault(node.instance_id, {})[node.node_id] = node.lb_weight or 0.0
    return found


def conditions_of(sight: Sight, until: Mapping[int, datetime] | None = None) -> dict[int, routing.Condition]:
    """until: backend id -> when its lag was over delay_threshold latest in the window that is judged."""
    return {
        one.backend.node_id: replace(_condition(sight, one), lagged_until=(until or {}).get(one.backend.pk))
        for one in sight.backends
    }


def readings_of(
    counts: Sequence[InstanceWindow], weights: Mapping[int, Mapping[int, float]], draws: Mapping[int, float]
) -> list[routing.InstanceReading]:
    """One reading per pgpool whose weights are known."""
    return [
        routing.InstanceReading(
            one.name, weights[one.instance_id], one.select_counts, one.sessions, draws.get(one.instance_id)
        )
        for one in counts
        if one.instance_id in weights
    ]


def _has_shown_weights(node: NodeLatest) -> bool:
    # The columns of SHOW POOL_NODES are filled a little later than the row is made; pg_status comes with them.
    return bool(node.pg_status)


def _condition(sight: Sight, one: BackendSight) -> routing.Condition:
    lag_s = one.latest.replay_lag_s if one.latest else None
    return routing.Condition(
        is_up=one.is_up,
        is_lagging=sight.is_lagging(one),
        lag_text=None if lag_s is None else f"{lag_s:.1f} s",
        is_primary=one.role == "primary",
    )


def _instance(
    sight: Sight, counts: InstanceWindow, weights: Mapping[int, float] | None, draws: float | None, beside: int
) -> InstanceDistribution:
    judged = routing.verdict(
        weights=weights or {},
        select_counts=counts.select_counts,
        sessions=counts.sessions if weights else None,
        statement_level=sight.cluster.is_statement_level and bool(weights),
        conditions=conditions_of(sight),
        comparisons=max(beside, 1),
        draws_per_read=draws if weights else None,
    )
    return {
        "instance": counts.name,
        "sessions": counts.sessions,
        "sessions_reason": counts.sessions_reason,
        "reads": judged.reads,
        "state": judged.state,
        "is_certain": judged.is_certain,
        "nodes": _shares(sight, judged, counts.select_counts),
    }


def _shares(sight: Sight, judged: routing.Verdict, select_counts: Mapping[int, int]) -> list[NodeShare]:
    found = {node.node_id: node for node in judged.nodes}
    return [_share(one, found.get(one.backend.node_id), select_counts) for one in sight.backends]


def _share(one: BackendSight, node: routing.NodeVerdict | None, select_counts: Mapping[int, int]) -> NodeShare:
    return {
        "node_id": one.backend.node_id,
        "name": one.name,
        "hostname": one.backend.hostname,
        "port": one.backend.port,
        "role": one.role,
        "weight_share": node.weight_share if node else None,
        "effective_share": node.effective_share if node else None,
        "observed_share": node.observed_share if node else None,
        "low": node.low if node else None,
        "high": node.high if node else None,
        "select_count": select_counts.get(one.backend.node_id, 0),
        "state": node.state if node else routing.RoutingState.TOO_LITTLE_TRAFFIC,
    }


def _total(counts: Sequence[InstanceWindow]) -> dict[int, int]:
    total: dict[int, int] = {}
    for one in counts:
        for node_id, count in one.select_counts.items():
            total[node_id] = total.get(node_id, 0) + count
    return total


def _band(judged: routing.Verdict) -> float | None:
    """The largest distance that chance alone allows a backend's share from its weight."""
    bands = [
        max(node.high - node.effective_share, node.effective_share - node.low)
        for node in judged.nodes
        if node.low is not None and node.high is not None and node.effective_share > 0
    ]
    return max(bands, default=None)


def _covered_s(counts: Sequence[InstanceWindow], start: datetime, end: datetime) -> float:
    """From the earliest to the latest sample that was compared."""
    spans = [(one.start, one.end) for one in counts if one.start is not None and one.end is not None]
    if not spans:
        return 0.0
    return (min(max(latest for _, latest in spans), end) - max(min(first for first, _ in spans), start)).total_seconds()


def _unless_too_early(judged: routing.Verdict, covered_s: float) -> routing.Verdict:
    """Right after a change most reads still come in sessions that were opened before it, and obey what held then."""
    has_weight_up = any(node.effective_share > 0 for node in judged.nodes)
    if judged.state is not routing.RoutingState.OFF or covered_s >= FIRST_WINDOW_S or not has_weight_up:
        return judged
    sentence = f"Too early to tell: {covered_s:.0f} s after a change, sessions from before it still count."
    too_little = routing.RoutingState.TOO_LITTLE_TRAFFIC
    return replace(judged, state=too_little, sentence=sentence, is_certain=False)


def _sentence(judged: routing.Verdict, counts: Sequence[InstanceWindow], start: datetime, now: datetime) -> str:
    """What was judged, and until when where that is not now."""
    seen_until = max((one.end for one in counts if one.end is not None), default=None)
    if seen_until is None:
        return f"Cannot tell: nothing was counted since {start:%H:%M:%S} UTC."
    if (now - seen_until).total_seconds() > STALE_AFTER_S:
        return f"{judged.sentence} Nothing was counted since {seen_until:%H:%M:%S} UTC."
    return judged.sentence


def _shown_window_s(covered_s: float, window_s: int) -> int:
    """What a sentence says: the window that was asked for once it is full, else whole seconds so far."""
    return window_s if covered_s >= window_s - 15 else max(round(covered_s), 1)


def _sessions_reason(counts: Sequence[InstanceWindow]) -> str:
    reasons = dict.fromkeys(one.sessions_reason for one in counts if one.sessions is None and one.sessions_reason)
    return "; ".join(reasons)
