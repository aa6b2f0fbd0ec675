"""One backend, and what was and is done to it: attach, detach, drain."""

from datetime import datetime, timedelta
from typing import Any, TypedDict

from django.db.models import QuerySet

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.models import Backend, BackendOperation, BackendOperationStep, Cluster, Rollout
from apps.clusters.queries import backend_operation_words
from apps.clusters.queries.nodes import NodeAnswer, node_answer

_MOST_SHOWN = 20


class OperationStepAnswer(TypedDict):
    """One pgpool. sessions_left: of those that were there when the weight was gone, null while not counted.

    receipt: the status that pgpool showed before and after, by which channel, and what PCP said.
    """

    instance: str
    state: str
    attempts: int
    error: str
    sessions_left: int | None
    sessions_at: datetime | None
    sessions_reason: str
    confirmed_at: datetime | None
    receipt: dict[str, Any]


class OperationAnswer(TypedDict):
    """risks: what was said before. rollout takes the weight to 0, way_back gives the weights back.

    asks_at: when a drain asks whether to go on although sessions are left.
    """

    id: int
    cluster: str
    node_id: int
    backend: str
    kind: str
    state: str
    sentence: str
    reason: str
    risks: list[str]
    rollout: int | None
    way_back: int | None
    wait_limit_s: int
    asks_at: datetime | None
    sessions_left: int | None
    is_go_on: bool
    outcome: str
    requested_by: str
    created_at: datetime
    finished_at: datetime | None
    is_active: bool
    can_cancel: bool
    can_go_on: bool
    steps: list[OperationStepAnswer]


class BackendAnswer(TypedDict):
    """is_seen: whether a pgpool tells of it now. busy: why no operation can begin now, empty if one can.

    operation: the one under way here; latest ones first.
    """

    node: NodeAnswer
    is_seen: bool
    busy: str
    operation: OperationAnswer | None
    operations: list[OperationAnswer]


class RiskAnswer(TypedDict):
    """refusals: why it would not be done; risks: what it would do. settled: that it is so already."""

    refusals: list[str]
    risks: list[str]
    settled: str


def backend_answer(*, cluster: Cluster, backend: Backend, caller: Caller, now: datetime) -> BackendAnswer:
    here = _whole(cluster.backend_operations.filter(node_id=backend.node_id)).order_by("-pk")[:_MOST_SHOWN]
    operations = [_answer(each, caller) for each in here]
    node = node_answer(cluster=cluster, node_id=backend.node_id, now=now)
    return {
        "node": node,
        "is_seen": any(each["is_current"] for each in node["per_instance"]),
        "busy": _busy(cluster),
        "operation": next((each for each in operations if each["is_active"]), None),
        "operations": operations,
    }


def operation_answer(*, operation: BackendOperation, caller: Caller) -> OperationAnswer:
    """It is read afresh: the caller's object may be older than the workers' rows."""
    return _answer(_whole(BackendOperation.objects.filter(pk=operation.pk)).get(), caller)


def _whole(found: QuerySet[BackendOperation]) -> QuerySet[BackendOperation]:
    return found.select_related("cluster").prefetch_related("steps")


def _busy(cluster: Cluster) -> str:
    operation = cluster.backend_operations.filter(state__in=BackendOperation.ACTIVE).first()
    if operation is not None:
        return f"{operation.get_kind_display().capitalize()} of {operation.backend_name} is under way in this cluster."
    rollout = cluster.rollouts.filter(state__in=Rollout.ACTIVE).first()
    return "" if rollout is None else f"Rollout #{rollout.pk} of this cluster is under way."


def _answer(operation: BackendOperation, caller: Caller) -> OperationAnswer:
    steps = sorted(operation.steps.all(), key=lambda step: step.position)
    may_operate, since = caller.may(Role.OPERATOR), operation.waiting_since
    left = [step.sessions_left for step in steps]
    is_waiting = operation.state in {operation.State.WAITING, operation.State.ASKING}
    asks_at = None if since is None else since + timedelta(seconds=operation.wait_limit_s)
    return {
        "id": operation.pk,
        "cluster": operation.cluster.slug,
        "node_id": operation.node_id,
        "backend": operation.backend_name,
        "kind": operation.kind,
        "state": operation.state,
        "sentence": backend_operation_words.sentence(operation, steps),
        "reason": operation.reason,
        "risks": list(operation.risks),
        "rollout": operation.rollout_id,
        "way_back": operation.way_back_id,
        "wait_limit_s": operation.wait_limit_s,
        "asks_at": asks_at if operation.state == operation.State.WAITING else None,
        "sessions_left": sum(each or 0 for each in left) if left and None not in left else None,
        "is_go_on": operation.is_go_on,
        "outcome": operation.outcome,
        "requested_by": operation.requested_by_name,
        "created_at": operation.created_at,
        "finished_at": operation.finished_at,
        "is_active": operation.state in BackendOperation.ACTIVE,
        "can_cancel": may_operate
        and operation.state in BackendOperation.CANCELLABLE
        and not operation.cancelled_by_name,
        "can_go_on": may_operate and is_waiting and not operation.is_go_on,
        "steps": [_step(step) for step in steps],
    }


def _step(step: BackendOperationStep) -> OperationStepAnswer:
    return {
        "instance": step.instance_name,
        "state": step.state,
        "attempts": step.attempts,
        "error": step.error,
        "sessions_left": step.sessions_left,
        "sessions_at": step.sessions_at,
        "sessions_reason": step.sessions_reason,
        "confirmed_at": step.confirmed_at,
        "receipt": step.receipt,
    }
