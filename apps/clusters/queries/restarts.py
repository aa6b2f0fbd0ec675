"""Rolling restarts of a cluster: what waits for one, the one under way, and those before."""

from datetime import datetime
from typing import Any, TypedDict

from django.db.models import QuerySet

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.control import restart_rows, restarts, writes
from apps.clusters.models import BackendOperation, Cluster, RestartStep, RollingRestart, Rollout
from apps.clusters.queries.pending_restarts import PendingRestartAnswer, pending_restarts

_MOST_SHOWN = 20


class RestartStepAnswer(TypedDict):
    """One pgpool. way: command, script or hand. parameters: names that waited for its restart.

    out_of_service_s: from the latest answer before to the first moment it served again, so at most that; null before.
    receipt: what was checked, what the command said (for operators), the children before and after, every value read
    back.
    """

    instance: str
    state: str
    way: str
    parameters: list[str]
    attempts: int
    error: str
    ordered_at: datetime | None
    silent_at: datetime | None
    serves_at: datetime | None
    out_of_service_s: float | None
    receipt: dict[str, Any]


class RestartAnswer(TypedDict):
    """risks: what was said before. outcome: what it waits for, or what came of it and what to do."""

    id: int
    cluster: str
    state: str
    sentence: str
    note: str
    risks: list[str]
    outcome: str
    requested_by: str
    created_at: datetime
    finished_at: datetime | None
    is_active: bool
    is_cancel_requested: bool
    can_cancel: bool
    steps: list[RestartStepAnswer]


class RestartsAnswer(TypedDict):
    """busy: why none can begin now, empty if one can. waiting: names of pgpools with pending_restarts; latest first."""

    busy: str
    waiting: list[str]
    pending_restarts: list[PendingRestartAnswer]
    restart: RestartAnswer | None
    restarts: list[RestartAnswer]


class RestartRiskAnswer(TypedDict):
    """refusals: why it would not be done; risks: what it would do; order: the names in their turn."""

    refusals: list[str]
    risks: list[str]
    order: list[str]


def restarts_answer(*, cluster: Cluster, caller: Caller) -> RestartsAnswer:
    found = [_answer(each, caller) for each in _whole(cluster.restarts.all()).order_by("-pk")[:_MOST_SHOWN]]
    pending = pending_restarts(cluster=cluster)
    return {
        "busy": _busy(cluster),
        "waiting": sorted({each["instance"] for each in pending}),
        "pending_restarts": pending,
        "restart": next((each for each in found if each["is_active"]), None),
        "restarts": found,
    }


def restart_answer(*, restart: RollingRestart, caller: Caller) -> RestartAnswer:
    """It is read afresh: the caller's object may be older than the workers' rows."""
    return _answer(_whole(RollingRestart.objects.filter(pk=restart.pk)).get(), caller)


def _whole(found: QuerySet[RollingRestart]) -> QuerySet[RollingRestart]:
    return found.select_related("cluster").prefetch_related("steps__instance")


def _busy(cluster: Cluster) -> str:
    if why := restarts.why_none(cluster):
        return why
    restart = cluster.restarts.filter(state=RollingRestart.State.RUNNING).first()
    if restart is not None:
        return f"Restart #{restart.pk} of pgpools of this cluster is under way. Wait for its end."
    rollout = cluster.rollouts.filter(state__in=Rollout.ACTIVE).first()
    if rollout is not None:
        return f"Rollout #{rollout.pk} of this cluster is under way. Wait for its end."
    operation = cluster.backend_operations.filter(state__in=BackendOperation.ACTIVE).first()
    if operation is None:
        return ""
    what = f"{operation.get_kind_display().capitalize()} of {operation.backend_name}"
    return f"{what} is under way in this cluster. Wait for its end."


def _answer(restart: RollingRestart, caller: Caller) -> RestartAnswer:
    steps = sorted(restart.steps.all(), key=lambda step: step.position)
    is_active = restart.state == RollingRestart.State.RUNNING
    return {
        "id": restart.pk,
        "cluster": restart.cluster.slug,
        "state": restart.state,
        "sentence": _sentence(restart, steps),
        "note": restart.note,
        "risks": list(restart.risks),
        "outcome": restart.outcome,
        "requested_by": restart.requested_by_name,
        "created_at": restart.created_at,
        "finished_at": restart.finished_at,
        "is_active": is_active,
        "is_cancel_requested": restart.is_cancel_requested,
        "can_cancel": is_active and not restart.is_cancel_requested and caller.may(Role.OPERATOR),
        "steps": [_step(step, caller) for step in steps],
    }


def _sentence(restart: RollingRestart, steps: list[RestartStep]) -> str:
    """The headline: where it stands."""
    if restart.state != RollingRestart.State.RUNNING:
        return restart.outcome
    done = sum(step.state == RestartStep.State.DONE for step in steps)
    current = next((step for step in steps if step.state != RestartStep.State.DONE), None)
    counted = f"{done} of {len(steps)} pgpools restarted."
    if restart.outcome or current is None:
        return f"{counted} {restart.outcome}".strip()
    return f"{_doing(current, restart.cluster)} {counted}"


def _doing(step: RestartStep, cluster: Cluster) -> str:
    name = step.instance_name
    match step.state:
        case RestartStep.State.PENDING:
            return f"Looking whether {name} may be restarted now."
        case RestartStep.State.ORDERED if step.way == RestartStep.Way.HAND:
            return _by_hand(step, cluster)
        case RestartStep.State.ORDERED:
            return f"Restarting {name}."
        case RestartStep.State.RESTARTED:
            return f"{name} was restarted: reading back what it uses."
    return step.error


def _by_hand(step: RestartStep, cluster: Cluster) -> str:
    name, stop = step.instance_name, writes.stop_in_force(cluster.organisation_id)
    if stop is None:
        return f"Restart {name} now: Lifeguard waits until it sees it."
    hours = restart_rows.by_hand_within(step).total_seconds() / 3600
    return (
        f"{name} waits to be restarted by hand. {writes.words(stop)} The time for it, {hours:.3g} h, begins anew once "
        "they are allowed again."
    )


def _step(step: RestartStep, caller: Caller) -> RestartStepAnswer:
    return {
        "instance": step.instance_name,
        "state": step.state,
        "way": step.way,
        "parameters": list(step.parameters),
        "attempts": step.attempts,
        "error": step.error,
        "ordered_at": step.ordered_at,
        "silent_at": step.silent_at,
        "serves_at": step.serves_at,
        "out_of_service_s": step.receipt.get("out_of_service_s"),
        "receipt": step.receipt if caller.may(Role.OPERATOR) else _without_words(step.receipt),
    }


def _without_words(receipt: dict[str, Any]) -> dict[str, Any]:
    """What the command printed may tell of the host."""
    if "command" not in receipt:
        return receipt
    return {**receipt, "command": {name: value for name, value in receipt["command"].items() if name != "said"}}
