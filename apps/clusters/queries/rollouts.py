"""Rollouts: how far each is, what it did to every pgpool, and whether it can be taken back."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from django.db.models import QuerySet

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.control import revisions, rollout_rows, rollout_steps, writes
from apps.clusters.control.convergence import Convergence, Finding
from apps.clusters.domain import pgpool_conf, rollout_plan
from apps.clusters.domain.rollout_plan import Action, Finish, Hold, Wait
from apps.clusters.domain.rollout_waves import stored_plan
from apps.clusters.models import Cluster, PgpoolInstance, Rollout, RolloutStep, WritesSwitch
from apps.clusters.queries import rollout_words, weight_words
from apps.clusters.queries.rollout_plans import PlanAnswer, plan_answer, plan_text
from apps.clusters.queries.superseded import Newer, latest_touching, newer_rollouts
from apps.clusters.queries.weight_words import backend_names

Weights = dict[str, dict[str, float]]


class StepAnswer(TypedDict):
    """One pgpool of a rollout. receipt: hashes before and after, and the values that were read back.

    is_as_before: the new file is the old one, byte for byte.
    doing: what a worker does there now, empty elsewhere; given_up_at: when it stops trying at the latest, where it is
    time that ends it. waiting_for: what the next action waits for without failing, empty elsewhere.
    pending_text: what waits for a restart of this pgpool. converged: do the reads that it sent since it was verified
    follow; convergence: the evidence, null until it was judged.
    """

    instance: str
    instance_id: int | None
    az: str
    position: int
    state: str
    is_current: bool
    doing: str
    given_up_at: datetime | None
    is_touched: bool
    is_as_before: bool
    error: str
    waiting_for: str
    waiting_since: datetime | None
    written_at: datetime | None
    reloaded_at: datetime | None
    verified_at: datetime | None
    restored_at: datetime | None
    read_back_text: str
    converged: bool
    convergence: Finding | None
    reads_text: str
    pending_text: str
    receipt: dict[str, Any]


class LogLine(TypedDict):
    at: datetime
    instance: str
    text: str
    is_problem: bool


class RolloutAnswer(TypedDict):
    """state: is the configuration verified; converged: do the reads follow.

    hold_ends_at: when the pgpools of the next wave follow, null while nothing is held. paused_by: empty for its guards.
    parameters: names but weights that it changes or confirms. moves_reads: whether it can be seen in the reads at all.
    reads_ended: why nobody waits for the reads to follow any more, empty while somebody does.
    weights_text, change_text, rollback_text: shares of new sessions; integers_text: backend_weight in pgpool.conf.
    Lists leave out the log and all of before.
    """

    id: int
    cluster: str
    cluster_name: str
    state: str
    sentence: str
    parameters: list[str]
    parameters_text: str
    moves_reads: bool
    reads_ended: str
    converged: bool
    converged_at: datetime | None
    convergence: Convergence | None
    revision: int
    rollback_of: int | None
    note: str
    requested_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    halt_reason: str
    is_halting: bool
    is_cancel_requested: bool
    plan: PlanAnswer
    plan_text: str
    hold_started_at: datetime | None
    hold_ends_at: datetime | None
    paused_at: datetime | None
    paused_by: str
    pause_reason: str
    can_pause: bool
    can_resume: bool
    weights_before: Weights | None
    weights_after: Weights
    weights_before_text: str
    weights_text: str
    change_text: str
    rollback_text: str
    integers_before_text: str
    integers_text: str
    touched: int
    can_roll_back: bool
    can_cancel: bool
    way_back: str
    steps: list[StepAnswer]
    log: list[LogLine]


def rollout_answer(*, rollout: Rollout, caller: Caller, now: datetime) -> RolloutAnswer:
    """One rollout with its log. It is read afresh: the caller's object may be older than the workers' rows."""
    current = _whole(Rollout.objects.filter(pk=rollout.pk)).get()
    has_active = current.cluster_id in _busy([current.cluster_id])
    newer = newer_rollouts([current]).get(current.pk)
    stop = writes.stop_in_force(caller.organisation.pk)
    latest = latest_touching([current.cluster_id])
    answer = _answer(current, caller, has_active=has_active, newer=newer, stop=stop, latest=latest, now=now)
    before, names = _weights_before(current), backend_names(cluster=current.cluster)
    answer["weights_before"], answer["weights_before_text"] = before, weight_words.shares_text(before, names)
    answer["change_text"] = weight_words.change_text(before, current.revision.weights, names)
    answer["rollback_text"] = weight_words.change_text(current.revision.weights, before, names)
    answer["integers_before_text"] = weight_words.integers_text(before)
    answer["log"] = [
        {"at": line.at, "instance": line.instance_name, "text": line.text, "is_problem": line.is_problem}
        for line in current.log.order_by("pk")
    ]
    return answer


def rollout_answers(
    *, cluster: Cluster, caller: Caller, before: int | None, limit: int, now: datetime
) -> list[RolloutAnswer]:
    """Rollouts of the cluster, latest first; before: only ids below it."""
    return _page(Rollout.objects.filter(cluster=cluster), caller, before, limit, now)


def organisation_rollouts(*, caller: Caller, before: int | None, limit: int, now: datetime) -> list[RolloutAnswer]:
    """Rollouts of all clusters of the caller's organisation, latest first."""
    return _page(Rollout.objects.filter(cluster__organisation=caller.organisation), caller, before, limit, now)


def _page(
    found: QuerySet[Rollout], caller: Caller, before: int | None, limit: int, now: datetime
) -> list[RolloutAnswer]:
    if before is not None:
        found = found.filter(pk__lt=before)
    rollouts = list(_whole(found).order_by("-pk")[:limit])
    busy = _busy({rollout.cluster_id for rollout in rollouts})
    newer = newer_rollouts(rollouts)
    stop = writes.stop_in_force(caller.organisation.pk) if busy else None
    latest = latest_touching({rollout.cluster_id for rollout in rollouts})
    return [
        _answer(
            rollout,
            caller,
            has_active=rollout.cluster_id in busy,
            newer=newer.get(rollout.pk),
            stop=stop,
            latest=latest,
            now=now,
        )
        for rollout in rollouts
    ]


def _whole(found: QuerySet[Rollout]) -> QuerySet[Rollout]:
    return found.select_related("revision", "cluster").prefetch_related("steps__instance", "cluster__backends")


def _busy(cluster_ids: Iterable[int]) -> set[int]:
    """Clusters with a rollout that has not ended."""
    active = Rollout.objects.filter(cluster__in=cluster_ids, state__in=Rollout.ACTIVE)
    return set(active.values_list("cluster_id", flat=True))


def _answer(
    rollout: Rollout,
    caller: Caller,
    *,
    has_active: bool,
    newer: Newer | None,
    stop: WritesSwitch | None,
    latest: Mapping[int, int],
    now: datetime,
) -> RolloutAnswer:
    steps = sorted(rollout.steps.all(), key=lambda step: step.position)
    is_active = rollout.state in Rollout.ACTIVE
    may_operate = caller.may(Role.OPERATOR)
    can_roll_back = may_operate and not has_active and newer is None and _can_be_taken_back(rollout, steps)
    plan, is_paused = stored_plan(rollout.plan), rollout.state == Rollout.State.PAUSED
    can_cancel = may_operate and is_active and not rollout.is_cancel_requested
    findings: Mapping[str, Finding] = (rollout.convergence or {}).get("instances", {})
    is_moving = is_active and stop is None
    is_superseded = rollout.pk < latest.get(rollout.cluster_id, 0)
    reads_ended = rollout_words.reads_ended(rollout, is_superseded=is_superseded, now=now)
    actions = rollout_plan.next_actions(rollout_rows.view_of(rollout, steps)) if is_moving else ()
    return {
        "id": rollout.pk,
        "cluster": rollout.cluster.slug,
        "cluster_name": rollout.cluster.name,
        "state": rollout.state,
        "sentence": rollout_words.sentence(rollout, steps, stop, ended=reads_ended),
        "parameters": rollout.revision.parameter_names,
        "parameters_text": weight_words.names_text(rollout.revision.parameter_names),
        "moves_reads": rollout.revision.moves_reads,
        "reads_ended": reads_ended,
        "converged": rollout.converged_at is not None,
        "converged_at": rollout.converged_at,
        "convergence": rollout.convergence,
        "revision": rollout.revision.number,
        "rollback_of": rollout.rollback_of_id,
        "note": rollout.revision.note,
        "requested_by": rollout.requested_by_name,
        "created_at": rollout.created_at,
        "started_at": rollout.started_at,
        "finished_at": rollout.finished_at,
        "halt_reason": rollout.halt_reason,
        "is_halting": rollout.is_halting,
        "is_cancel_requested": rollout.is_cancel_requested,
        "plan": plan_answer(plan),
        "plan_text": plan_text(plan),
        "hold_started_at": rollout.hold_started_at,
        "hold_ends_at": rollout.hold_ends_at,
        "paused_at": rollout.paused_at,
        "paused_by": rollout.paused_by_name,
        "pause_reason": rollout.pause_reason,
        "can_pause": can_cancel and not is_paused and not rollout.is_halting,
        "can_resume": can_cancel and is_paused,
        "weights_before": None,
        "weights_after": rollout.revision.weights,
        "weights_before_text": "",
        "weights_text": weight_words.shares_text(rollout.revision.weights, backend_names(cluster=rollout.cluster)),
        "change_text": "",
        "rollback_text": "",
        "integers_before_text": "",
        "integers_text": weight_words.integers_text(rollout.revision.weights),
        "touched": sum(step.is_touched for step in steps),
        "can_roll_back": can_roll_back,
        "can_cancel": can_cancel,
        "way_back": rollout_words.way_back(rollout, steps, has_active=has_active, newer=newer),
        "steps": [_step(step, actions, findings.get(step.instance_name), now) for step in steps],
        "log": [],
    }


def _can_be_taken_back(rollout: Rollout, steps: Sequence[RolloutStep]) -> bool:
    is_over = rollout.state in {Rollout.State.VERIFIED, Rollout.State.FAILED}
    return is_over and any(step.is_touched for step in steps) and all(step.instance is not None for step in steps)


def _step(step: RolloutStep, actions: Sequence[Action], finding: Finding | None, now: datetime) -> StepAnswer:
    """actions: what the rollout does now, to this step and others."""
    instance: PgpoolInstance | None = step.instance
    steps = (action for action in actions if not isinstance(action, Wait | Hold | Finish))
    at_work = next((action for action in steps if action.step.position == step.position), None)
    given_up_at = None if at_work is None else rollout_steps.given_up_at(step, at_work)
    return {
        "instance": step.instance_name,
        "instance_id": step.instance_id,
        "az": instance.az if instance else "",
        "position": step.position,
        "state": step.state,
        "is_current": at_work is not None,
        "doing": "" if at_work is None else rollout_words.doing(step, at_work),
        "given_up_at": given_up_at if given_up_at is not None and given_up_at > now else None,
        "is_touched": step.is_touched,
        "is_as_before": rollout_words.is_as_before(step),
        "error": step.error,
        "waiting_for": step.waiting_for,
        "waiting_since": step.waiting_since,
        "written_at": step.written_at,
        "reloaded_at": step.reloaded_at,
        "verified_at": step.verified_at,
        "restored_at": step.restored_at,
        "read_back_text": rollout_words.read_back_text(step.receipt),
        "converged": finding is not None and finding["converged_at"] is not None,
        "convergence": finding,
        "reads_text": rollout_words.reads_text(finding),
        "pending_text": rollout_words.pending_text(step.receipt),
        "receipt": step.receipt,
    }


def _weights_before(rollout: Rollout) -> Weights:
    """From the files that the revision was made from: no other revision need ever have run."""
    files = rollout.revision.files.order_by("instance_name")
    return {file.instance_name: _weights_in(file.base_text) for file in files}


def _weights_in(text: str) -> dict[str, float]:
    try:
        conf = pgpool_conf.parse(text)
    except (pgpool_conf.ConfigSyntaxError, pgpool_conf.IncludeUnsupported):
        return {}
    found: Mapping[str, float] = revisions.plain(revisions.weights_of(conf))
    return dict(found)
