"""Do the reads follow a verified rollout? Sessions keep their backend, so the answer fills as they turn over."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NotRequired, TypedDict

from django.db import transaction
from django.db.models import Q

from apps.clusters.domain import draws_needed, routing
from apps.clusters.domain.draws_needed import UNSPREAD_DRAWS_PER_READ, Evidence
from apps.clusters.domain.guard_reach import counts_sessions
from apps.clusters.domain.guards import Reads
from apps.clusters.domain.routing import Condition, InstanceReading, RoutingState, Verdict
from apps.clusters.history.windows import InstanceWindow, window_counts
from apps.clusters.models import ConfigRevision, Rollout, RolloutStep
from apps.clusters.queries.distribution import conditions_of, draws_of
from apps.clusters.queries.lagged import lagged_until
from apps.clusters.queries.sight import Sight, sight_of
from apps.live import events

logger = logging.getLogger(__name__)

# The first sample after the change still counts reads from before it: polls are up to 2 s apart.
SETTLE = timedelta(seconds=3)
LONGEST_WINDOW = timedelta(minutes=5)
GIVE_UP_AFTER = timedelta(hours=1)


class ConvergedNode(TypedDict):
    node_id: int
    name: str
    weight_share: float
    effective_share: float
    observed_share: float | None
    low: float | None
    high: float | None


class Finding(TypedDict):
    """The verdict on the reads from start to end, and how many sessions it takes; None where nobody counts them.

    sentence: the verdict in words, and how many sessions or reads are missing; evidence: how many there were.
    missing_reads: where each read is a draw, or pgpool counts no sessions and how far the shares move tells how many
    draws stand behind a read; null elsewhere. progress: share of what it takes, 0..1. converged_at: when the reads
    were first seen to follow, which they then stay.
    """

    converged_at: str | None
    state: str
    sentence: str
    evidence: str
    progress: float
    sessions: float | None
    needed_sessions: int
    missing_sessions: int | None
    missing_reads: NotRequired[int | None]
    reads: int
    start: str
    end: str
    nodes: list[ConvergedNode]


class Convergence(Finding):
    """What Rollout.convergence holds. instances: the same of each pgpool by name, since its own step was verified."""

    instances: NotRequired[dict[str, Finding]]


@dataclass(frozen=True)
class _Judged:
    """What all verdicts of one look share."""

    rollout: Rollout
    weights: Mapping[str, Mapping[str, float]]
    sight: Sight
    names: Mapping[int, str]
    now: datetime


def judge_recent_rollouts(*, now: datetime) -> None:
    """Judge every verified rollout whose reads have not been seen to follow yet everywhere; part of each tick."""
    verified = Rollout.objects.filter(state=Rollout.State.VERIFIED, revision__moves_reads=True)
    recent = verified.filter(finished_at__gt=now - GIVE_UP_AFTER)
    for rollout in recent.order_by("pk"):
        if not _is_settled(rollout) and not is_superseded(rollout):
            judge(rollout=rollout, now=now)


def is_superseded(rollout: Rollout) -> bool:
    """Whether a newer rollout touched the weights since."""
    newer = Q(pk__gt=rollout.pk, cluster_id=rollout.cluster_id) & ~Q(revision__origin=ConfigRevision.Origin.OWED)
    return Rollout.objects.filter(newer, steps__is_touched=True).exists()


def _is_settled(rollout: Rollout) -> bool:
    """Whether the reads were seen to follow, over all and at every pgpool."""
    instances = (rollout.convergence or {}).get("instances", {})
    is_everywhere = set(instances) >= set(_weights(rollout))
    return rollout.converged_at is not None and is_everywhere and all(map(_has_converged, instances.values()))


def _weights(rollout: Rollout) -> Mapping[str, Mapping[str, float]]:
    """Of the pgpools that were given them: one that owes them balances by its old ones, if at all."""
    owing = set(rollout.steps.filter(state=RolloutStep.State.OWED).values_list("instance_name", flat=True))
    return {name: weights for name, weights in rollout.revision.weights.items() if name not in owing}


def judge(*, rollout: Rollout, now: datetime) -> Convergence | None:
    """Judge the reads since the rollout was verified, store the verdict. None: it is too early to ask."""
    with transaction.atomic():
        free = Rollout.objects.select_for_update(skip_locked=True, no_key=True, of=("self",))
        current = free.select_related("cluster", "revision").filter(pk=rollout.pk).first()
        if current is None or current.finished_at is None or now <= current.finished_at + SETTLE:
            return None  # too early, or another tick is judging it
        found = _found(current, current.finished_at, now)
        _store(current, found, now)
    rollout.convergence, rollout.converged_at = current.convergence, current.converged_at
    return found


def _found(rollout: Rollout, verified_at: datetime, now: datetime) -> Convergence:
    names = {backend.node_id: backend.shown_name for backend in rollout.cluster.backends.all()}
    judged = _Judged(rollout, _weights(rollout), sight_of(rollout.cluster), names, now)
    before: Convergence | None = rollout.convergence
    start = _start(verified_at, now)
    overall: Finding = _finding(judged, window_counts(cluster=rollout.cluster, start=start, end=now), start)
    if before is not None and rollout.converged_at is not None:
        # What has converged stays so; until every pgpool has, its figures grow surer.
        overall = {**overall, "converged_at": before["converged_at"]} if _has_converged(overall) else before
    return {**overall, "instances": _instances(judged, before.get("instances", {}) if before else {})}


def _instances(judged: _Judged, before: Mapping[str, Finding]) -> dict[str, Finding]:
    found = dict(before)
    steps = judged.rollout.steps.filter(verified_at__isnull=False, instance__isnull=False).order_by("position")
    for step in steps.only("instance_name", "instance_id", "verified_at"):
        earlier = before.get(step.instance_name)
        if step.verified_at is None or step.instance_id is None or (earlier is not None and _has_converged(earlier)):
            continue
        start = _start(step.verified_at, judged.now)
        counts = window_counts(cluster=judged.rollout.cluster, start=start, end=judged.now, only=[step.instance_id])
        found[step.instance_name] = _finding(judged, counts, start)
    return found


def _start(verified_at: datetime, now: datetime) -> datetime:
    return max(verified_at + SETTLE, now - LONGEST_WINDOW)


def _has_converged(finding: Finding) -> bool:
    return finding["converged_at"] is not None


def _finding(judged: _Judged, windows: Sequence[InstanceWindow], start: datetime) -> Finding:
    window_s = round((judged.now - start).total_seconds())
    verdict = _verdict(judged, windows, conditions_of(judged.sight), window_s=window_s)
    if verdict.state is RoutingState.OFF:
        past = conditions_of(judged.sight, lagged_until([(judged.sight, start)], end=judged.now))
        verdict = _verdict(judged, windows, past, window_s=window_s)
    evidence = _evidence_of(judged, verdict, windows)
    is_good = verdict.state in {RoutingState.FOLLOWS, RoutingState.WITHIN_NOISE} and evidence.missing == 0
    sentence = "No reads yet." if verdict.sessions is None and not verdict.reads else verdict.sentence
    if evidence.more_needed and verdict.state is not RoutingState.OFF:
        sentence = f"{sentence} {evidence.more_needed}"
    return {
        "converged_at": judged.now.isoformat() if is_good else None,
        "state": verdict.state.value,
        "sentence": sentence,
        "evidence": evidence.text,
        "progress": 0.0 if evidence.missing is None else 1 - evidence.missing / evidence.needed,
        "sessions": verdict.sessions,
        "needed_sessions": evidence.needed,
        "missing_sessions": evidence.missing_sessions,
        "missing_reads": evidence.missing_reads,
        "reads": verdict.reads,
        "start": start.isoformat(),
        "end": judged.now.isoformat(),
        "nodes": _nodes(judged, verdict),
    }


def reads_since(*, rollout: Rollout, instance_ids: Sequence[int], start: datetime, now: datetime) -> Reads:
    """Whether the reads of these pgpools follow the weights of the rollout since then, or are nearer than before."""
    names = {backend.node_id: backend.shown_name for backend in rollout.cluster.backends.all()}
    judged, begin = _Judged(rollout, _weights(rollout), sight_of(rollout.cluster), names, now), _start(start, now)
    windows = window_counts(cluster=rollout.cluster, start=begin, end=now, only=instance_ids)
    past = conditions_of(judged.sight, lagged_until([(judged.sight, begin)], end=now))
    verdict = _verdict(judged, windows, past, window_s=max(0, round((now - begin).total_seconds())))
    evidence = _evidence_of(judged, verdict, windows)
    is_in_reads = evidence.is_in_reads
    missing = evidence.missing_reads if is_in_reads else evidence.missing
    sentence, unit = verdict.sentence if verdict.reads else "No reads yet.", "reads" if is_in_reads else "sessions"
    if verdict.state is not RoutingState.OFF or not verdict.is_certain:
        return Reads(is_off=False, sentence=sentence, missing=missing, unit=unit)
    before = window_counts(cluster=rollout.cluster, start=start - LONGEST_WINDOW, end=start, only=instance_ids)
    earlier = _verdict(judged, before, past, window_s=round(LONGEST_WINDOW.total_seconds()))
    is_nearer = not earlier.reads or _distance(verdict) < _distance(earlier)
    return Reads(is_off=not is_nearer, sentence=sentence, missing=missing, is_on_the_way=is_nearer, unit=unit)


def _distance(verdict: Verdict) -> float:
    """How far the reads are from the weights: the share of them that would have to move."""
    return sum(abs((node.observed_share or 0.0) - node.effective_share) for node in verdict.nodes) / 2


def _evidence_of(judged: _Judged, verdict: Verdict, windows: Sequence[InstanceWindow]) -> Evidence:
    seen = [window for window in windows if window.name in judged.weights]
    versions = {one.instance.name: one.instance.version for one in judged.sight.instances}
    usual = [draws for window in seen if (draws := draws_of(judged.sight).get(window.instance_id)) is not None]
    return draws_needed.evidence_of(
        verdict,
        statement_level=judged.rollout.cluster.is_statement_level,
        counts_sessions=not seen
        or any(one.sessions is not None or counts_sessions(versions.get(one.name, "")) for one in seen),
        draws_per_read=sum(usual) / len(usual) if usual else None,
    )


def _verdict(
    judged: _Judged, windows: Sequence[InstanceWindow], conditions: Mapping[int, Condition], *, window_s: float
) -> Verdict:
    readings = [_reading(judged, window, conditions) for window in windows if window.name in judged.weights]
    return routing.pooled_verdict(
        readings,
        statement_level=judged.rollout.cluster.is_statement_level,
        names=judged.names,
        conditions=conditions,
        window_s=window_s,
    )


def _reading(judged: _Judged, window: InstanceWindow, conditions: Mapping[int, Condition]) -> InstanceReading:
    weights = {int(node_id): float(weight) for node_id, weight in judged.weights[window.name].items()}
    drawn = [one for one, weight in weights.items() if weight > 0 and conditions.get(one, Condition()).is_up]
    draws = draws_of(judged.sight).get(window.instance_id)
    if draws is None and window.sessions is None and len(drawn) == 1:
        draws = UNSPREAD_DRAWS_PER_READ
    return InstanceReading(
        name=window.name,
        weights=weights,
        select_counts=window.select_counts,
        sessions=window.sessions,
        draws_per_read=draws,
    )


def _nodes(judged: _Judged, verdict: Verdict) -> list[ConvergedNode]:
    return [
        {
            "node_id": node.node_id,
            "name": judged.names.get(node.node_id, f"backend {node.node_id}"),
            "weight_share": node.weight_share,
            "effective_share": node.effective_share,
            "observed_share": node.observed_share,
            "low": node.low,
            "high": node.high,
        }
        for node in verdict.nodes
    ]


def _store(rollout: Rollout, found: Convergence, now: datetime) -> None:
    had_converged = rollout.converged_at is not None
    rollout.convergence = dict(found)
    if not had_converged and _has_converged(found):
        rollout.converged_at = now
    rollout.save(update_fields=["convergence", "converged_at"])
    facts = {"rollout": rollout.pk, "state": rollout.state, "converged": rollout.converged_at is not None}
    events.announce(f"rollout.{rollout.pk}", "rollout", **facts)
    if rollout.converged_at is not None and not had_converged:
        logger.info("rollout %s converged: %s", rollout.pk, found["sentence"])
        events.announce(f"cluster.{rollout.cluster_id}", "rollout", **facts)
