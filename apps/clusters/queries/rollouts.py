"""Rollouts: how far each is, what it did to every pgpool, and whether it can be taken back."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from django.db.models import QuerySet

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.control import redrafting, revisions, rollout_rows, rollout_steps, writes
from apps.clusters.control.convergence import Finding
from apps.clusters.domain import pgpool_conf, rollout_plan
from apps.clusters.domain.rollout_plan import Action, Finish, Hold, Wait
from apps.clusters.domain.rollout_waves import stored_plan
from apps.clusters.models import Cluster, PgpoolInstance, Rollout, RolloutStep, WritesSwitch
from apps.clusters.queries import rollout_words, weight_words
from apps.clusters.queries.debts import DebtAnswer, debts_of_steps
from apps.clusters.queries.rollout_plans import guards_said, plan_answer, plan_text
from apps.clusters.queries.rollout_shapes import (
    Course,
    Pace,
    Reads,
    RolloutAnswer,
    RolloutStateName,
    StepAnswer,
    StepStateName,
    Ways,
    Weighed,
    Weights,
)
from apps.clusters.queries.superseded import Newer, latest_touching, newer_rollouts
from apps.clusters.queries.weight_words import backend_names


@dataclass(frozen=True)
class _Asked:
    """Who asks when, and what is known beside the rows of the rollouts that are asked for."""

    caller: Caller
    now: datetime
    busy: AbstractSet[int]  # clusters with a rollout that has not ended
    newer: Mapping[int, Newer]
    latest: Mapping[int, int]
    taken_back: AbstractSet[int]
    stop: WritesSwitch | None
    debts: Mapping[int, DebtAnswer]

    @classmethod
    def about(cls, rollouts: Sequence[Rollout], *, caller: Caller, now: datetime) -> "_Asked":
        clusters = {rollout.cluster_id for rollout in rollouts}
        busy = _busy(clusters)
        return cls(
            caller=caller,
            now=now,
            busy=busy,
            newer=newer_rollouts(rollouts),
            latest=latest_touching(clusters),
            taken_back=redrafting.taken_back([rollout.pk for rollout in rollouts]),
            stop=writes.stop_in_force(caller.organisation.pk) if busy else None,
            debts=debts_of_steps(rollouts=rollouts),
        )


def rollout_answer(*, rollout: Rollout, caller: Caller, now: datetime) -> RolloutAnswer:
    """One rollout with its log. It is read afresh: the caller's object may be older than the workers' rows."""
    current = _whole(Rollout.objects.filter(pk=rollout.pk)).get()
    answer = _answer(current, _Asked.about([current], caller=caller, now=now))
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
    asked = _Asked.about(rollouts, caller=caller, now=now)
    return [_answer(rollout, asked) for rollout in rollouts]


def _whole(found: QuerySet[Rollout]) -> QuerySet[Rollout]:
    return found.select_related("revision", "cluster").prefetch_related("steps__instance", "cluster__backends")


def _busy(cluster_ids: Iterable[int]) -> set[int]:
    """Clusters with a rollout that has not ended."""
    active = Rollout.objects.filter(cluster__in=cluster_ids, state__in=Rollout.ACTIVE)
    return set(active.values_list("cluster_id", flat=True))


def _answer(rollout: Rollout, asked: _Asked) -> RolloutAnswer:
    steps = sorted(rollout.steps.all(), key=lambda step: step.position)
    is_moving = rollout.state in Rollout.ACTIVE and asked.stop is None
    actions = rollout_plan.next_actions(rollout_rows.view_of(rollout, steps)) if is_moving else ()
    findings: Mapping[str, Finding] = (rollout.convergence or {}).get("instances", {})
    is_superseded = rollout.pk < asked.latest.get(rollout.cluster_id, 0)
    reads_ended = rollout_words.reads_ended(rollout, is_superseded=is_superseded, now=asked.now)
    return {
        **_course(rollout, steps, rollout_words.sentence(rollout, steps, asked.stop, ended=reads_ended)),
        **_reads(rollout, reads_ended),
        **_pace(rollout, steps),
        **_ways(rollout, steps, asked),
        **_weighed(rollout),
        "steps": [
            _step(step, actions, findings.get(step.instance_name), asked.debts.get(step.pk), asked.now)
            for step in steps
        ],
        "log": [],
    }


def _course(rollout: Rollout, steps: Sequence[RolloutStep], sentence: str) -> Course:
    return {
        "id": rollout.pk,
        "cluster": rollout.cluster.slug,
        "cluster_name": rollout.cluster.name,
        "state": cast("RolloutStateName", rollout.state),
        "sentence": sentence,
        "revision": rollout.revision.number,
        "rollback_of": rollout.rollback_of_id,
        "settles": rollout.settles_id,
        "note": rollout.revision.note,
        "requested_by": rollout.requested_by_name,
        "created_at": rollout.created_at,
        "started_at": rollout.started_at,
        "finished_at": rollout.finished_at,
        "halt_reason": rollout.halt_reason,
        "is_halting": rollout.is_halting,
        "is_cancel_requested": rollout.is_cancel_requested,
        "touched": sum(step.is_touched for step in steps),
    }


def _reads(rollout: Rollout, reads_ended: str) -> Reads:
    return {
        "parameters": rollout.revision.parameter_names,
        "parameters_text": weight_words.names_text(rollout.revision.parameter_names),
        "moves_reads": rollout.revision.moves_reads,
        "reads_ended": reads_ended,
        "converged": rollout.converged_at is not None,
        "converged_at": rollout.converged_at,
        "convergence": rollout.convergence,
    }


def _pace(rollout: Rollout, steps: Sequence[RolloutStep]) -> Pace:
    plan, is_active = stored_plan(rollout.plan), rollout.state in Rollout.ACTIVE
    instances = [step.instance for step in steps if step.instance is not None]
    return {
        "plan": plan_answer(plan),
        "plan_text": plan_text(plan),
        "guards": guards_said(rollout.cluster, plan, instances, is_over=not is_active),
        "hold_started_at": rollout.hold_started_at,
        "hold_ends_at": rollout.hold_ends_at,
        "is_last_hold": is_active and plan.hold_last and rollout_words.is_last_hold(steps),
        "paused_at": rollout.paused_at,
        "paused_by": rollout.paused_by_name,
        "pause_reason": rollout.pause_reason,
    }


def _ways(rollout: Rollout, steps: Sequence[RolloutStep], asked: _Asked) -> Ways:
    may_operate = asked.caller.may(Role.OPERATOR)
    has_active, newer = rollout.cluster_id in asked.busy, asked.newer.get(rollout.pk)
    is_paused = rollout.state == Rollout.State.PAUSED
    is_undone = redrafting.does_not_stand(rollout, is_rolled_back=rollout.pk in asked.taken_back)
    can_cancel = may_operate and rollout.state in Rollout.ACTIVE and not rollout.is_cancel_requested
    return {
        "can_pause": can_cancel and not is_paused and not rollout.is_halting,
        "can_resume": can_cancel and is_paused,
        "can_roll_back": may_operate and not has_active and newer is None and _can_be_taken_back(rollout, steps),
        "can_cancel": can_cancel,
        "can_redraft": may_operate and is_undone,
        "way_back": rollout_words.way_back(rollout, steps, has_active=has_active, newer=newer),
    }


def _weighed(rollout: Rollout) -> Weighed:
    """As it stands after it; what stood before is told of one rollout only."""
    after = rollout.revision.weights
    return {
        "weights_before": None,
        "weights_after": after,
        "weights_before_text": "",
        "weights_text": weight_words.shares_text(after, backend_names(cluster=rollout.cluster)),
        "change_text": "",
        "rollback_text": "",
        "integers_before_text": "",
        "integers_text": weight_words.integers_text(after),
    }


def _can_be_taken_back(rollout: Rollout, steps: Sequence[RolloutStep]) -> bool:
    is_over = rollout.state in {Rollout.State.VERIFIED, Rollout.State.FAILED}
    return is_over and any(step.is_touched for step in steps) and all(step.instance is not None for step in steps)


def _step(
    step: RolloutStep, actions: Sequence[Action], finding: Finding | None, debt: DebtAnswer | None, now: datetime
) -> StepAnswer:
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
        "state": cast("StepStateName", step.state),
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
        "debt": debt,
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
