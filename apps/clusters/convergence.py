"""Do the reads follow a verified rollout? Sessions keep their backend, so the answer fills as they turn over."""

import logging
import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypedDict

from django.db.models import Q

from apps.clusters.domain import routing
from apps.clusters.domain.routing import Condition, InstanceReading, RoutingState, Verdict
from apps.clusters.history.windows import InstanceWindow, window_counts
from apps.clusters.models import Rollout
from apps.clusters.queries.distribution import conditions_of
from apps.clusters.queries.lagged import lagged_until
from apps.clusters.queries.sight import sight_of
from apps.live import events

logger = logging.getLogger(__name__)

# The first sample after the change still counts reads from before it: polls are up to 2 s apart.
SETTLE = timedelta(seconds=3)
LONGEST_WINDOW = timedelta(minutes=5)
GIVE_UP_AFTER = timedelta(hours=1)
# Sessions enough that chance moves no share by more than 10 points, 95 times in 100; and never fewer than 10.
BAND = 0.10
Z_95 = 1.96
FEWEST_DRAWS = 10


class ConvergedNode(TypedDict):
    node_id: int
    name: str
    weight_share: float
    effective_share: float
    observed_share: float | None
    low: float | None
    high: float | None


class Convergence(TypedDict):
    """What Rollout.convergence holds: the verdict on the reads since `start`, and how many sessions it takes."""

    state: str
    sentence: str
    sessions: float | None
    needed_sessions: int
    reads: int
    start: str
    end: str
    nodes: list[ConvergedNode]


def judge_recent_rollouts(*, now: datetime) -> None:
    """Judge every verified rollout whose reads have not been seen to follow yet; part of each tick."""
    waiting = Rollout.objects.filter(
        state=Rollout.State.VERIFIED, converged_at=None, finished_at__gt=now - GIVE_UP_AFTER
    ).select_related("cluster", "revision")
    for rollout in waiting.order_by("pk"):
        if not is_superseded(rollout):
            judge(rollout=rollout, now=now)


def is_superseded(rollout: Rollout) -> bool:
    """Whether a newer rollout touched the weights since."""
    newer = Q(pk__gt=rollout.pk, cluster_id=rollout.cluster_id)
    return Rollout.objects.filter(newer, steps__is_touched=True).exists()


def judge(*, rollout: Rollout, now: datetime) -> Convergence | None:
    """Judge the reads since the rollout was verified, store the verdict. None: it is too early to ask."""
    if rollout.finished_at is None or now <= rollout.finished_at + SETTLE:
        return None
    start = max(rollout.finished_at + SETTLE, now - LONGEST_WINDOW)
    windows = window_counts(cluster=rollout.cluster, start=start, end=now)
    sight, window_s = sight_of(rollout.cluster), (now - start).total_seconds()
    verdict = _verdict(rollout, windows, conditions_of(sight), window_s=window_s)
    if verdict.state is RoutingState.OFF:
        past = conditions_of(sight, lagged_until([(sight, start)], end=now))
        verdict = _verdict(rollout, windows, past, window_s=window_s)
    needed = needed_draws(verdict)
    found = _shape(rollout, verdict, needed, start=start, end=now)
    draws = verdict.reads if rollout.cluster.is_statement_level else verdict.sessions or 0
    is_good = verdict.state in {RoutingState.FOLLOWS, RoutingState.WITHIN_NOISE}
    _store(rollout, found, converged_at=now if is_good and draws >= needed else None)
    return found


def needed_draws(verdict: Verdict) -> int:
    """n of 1.96 * sqrt(p (1 - p) / n) <= 0.10 for the share p with the widest band."""
    spread = max((node.effective_share * (1 - node.effective_share) for node in verdict.nodes), default=0.0)
    return max(FEWEST_DRAWS, math.ceil((Z_95 / BAND) ** 2 * spread - 1e-9))


def _verdict(
    rollout: Rollout, windows: Sequence[InstanceWindow], conditions: Mapping[int, Condition], *, window_s: float
) -> Verdict:
    weights = rollout.revision.weights
    readings = [
        InstanceReading(
            name=window.name,
            weights={int(node_id): float(weight) for node_id, weight in weights[window.name].items()},
            select_counts=window.select_counts,
            sessions=window.sessions,
        )
        for window in windows
        if window.name in weights
    ]
    return routing.pooled_verdict(
        readings,
        statement_level=rollout.cluster.is_statement_level,
        names={backend.node_id: backend.shown_name for backend in rollout.cluster.backends.all()},
        conditions=conditions,
        window_s=window_s,
    )


def _shape(rollout: Rollout, verdict: Verdict, needed: int, *, start: datetime, end: datetime) -> Convergence:
    names = {backend.node_id: backend.shown_name for backend in rollout.cluster.backends.all()}
    return {
        "state": verdict.state.value,
        "sentence": verdict.sentence,
        "sessions": verdict.sessions,
        "needed_sessions": needed,
        "reads": verdict.reads,
        "start": start.isoformat(),
        "end": end.isoformat(),
        "nodes": [
            {
                "node_id": node.node_id,
                "name": names.get(node.node_id, f"backend {node.node_id}"),
                "weight_share": node.weight_share,
                "effective_share": node.effective_share,
                "observed_share": node.observed_share,
                "low": node.low,
                "high": node.high,
            }
            for node in verdict.nodes
        ],
    }


def _store(rollout: Rollout, found: Convergence, *, converged_at: datetime | None) -> None:
    stored = Rollout.objects.filter(pk=rollout.pk, converged_at=None).update(
        convergence=found, converged_at=converged_at
    )
    if stored != 1:
        return  # another tick saw it converge first
    rollout.convergence, rollout.converged_at = dict(found), converged_at
    facts = {"rollout": rollout.pk, "state": rollout.state, "converged": converged_at is not None}
    events.announce(f"rollout.{rollout.pk}", "rollout", **facts)
    if converged_at is not None:
        logger.info("rollout %s converged: %s", rollout.pk, found["sentence"])
        events.announce(f"cluster.{rollout.cluster_id}", "rollout", **facts)
