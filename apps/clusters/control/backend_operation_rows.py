"""Rows of attach, detach and drain: one per cluster at a time, held by a lease, changed by compare-and-set."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now

from apps.clusters.control import leased_rows
from apps.clusters.control.revisions import WeightsRefused
from apps.clusters.domain.backend_operation_plan import (
    NodeStepState,
    NodeStepView,
    OperationState,
    OperationView,
    WeightsStand,
)
from apps.clusters.models import BackendOperation, BackendOperationStep, Cluster, ClusterEvent, Rollout
from apps.clusters.outside import node_control
from apps.live import events

ADVANCE_TASK = "clusters.advance_backend_operation"
# Longer than any single action, since the lease is renewed before each; a dead worker's operation waits this long.
LEASE = timedelta(seconds=node_control.LONGEST_S + 7)


class OperationRunning(WeightsRefused):
    """A backend of this cluster is being attached, detached or drained."""

    def __init__(self, operation: BackendOperation) -> None:
        super().__init__(
            f"{operation.get_kind_display().capitalize()} of {operation.backend_name} is under way in this cluster "
            f"({operation.get_state_display()}). Wait for its end, or end it on the page of {operation.backend_name}."
        )
        self.operation = operation


def refuse_running(cluster: Cluster) -> None:
    """Raises OperationRunning."""
    running = cluster.backend_operations.filter(state__in=BackendOperation.ACTIVE).first()
    if running is not None:
        raise OperationRunning(running)


def view_of(operation: BackendOperation, steps: Sequence[BackendOperationStep], *, now: datetime) -> OperationView:
    """The rows as the plan reads them."""
    since, limit = operation.waiting_since, timedelta(seconds=operation.wait_limit_s)
    return OperationView(
        state=OperationState(operation.state),
        steps=tuple(
            NodeStepView(step.position, NodeStepState(step.state), step.attempts, step.sessions_left) for step in steps
        ),
        weights=_weights_stand(operation.rollout),
        is_go_on=operation.is_go_on,
        is_cancelled=bool(operation.cancelled_by_name),
        is_overdue=since is not None and now >= since + limit,
        is_checked=operation.checked_at is not None,
    )


def _weights_stand(rollout: Rollout | None) -> WeightsStand:
    if rollout is None:
        return WeightsStand.ENDED_OTHERWISE
    if rollout.state in Rollout.ACTIVE:
        return WeightsStand.UNDER_WAY
    return WeightsStand.VERIFIED if rollout.state == Rollout.State.VERIFIED else WeightsStand.ENDED_OTHERWISE


def announce(operation: BackendOperation) -> None:
    facts = {"operation": operation.pk, "state": operation.state}
    events.announce(f"cluster.{operation.cluster_id}", "event", **facts)


def add_event(
    operation: BackendOperation, title: str, *, at: datetime, detail: str = "", is_problem: bool = False
) -> None:
    ClusterEvent.objects.create(
        cluster_id=operation.cluster_id,
        at=at,
        kind=ClusterEvent.Kind.BACKEND,
        is_problem=is_problem,
        title=title[:200],
        detail=detail,
        node_id=operation.node_id,
    )


def take_lease(operation_id: int, holder: str) -> bool:
    """Get or renew the lease, by the database's clock. False: another worker holds it, or there is nothing to do."""
    free = Q(lease_holder=holder) | Q(lease_expires_at=None) | Q(lease_expires_at__lte=Now())
    active = BackendOperation.objects.filter(free, pk=operation_id, state__in=BackendOperation.ACTIVE)
    return active.update(lease_holder=holder, lease_expires_at=Now() + LEASE) == 1


def release_lease(operation_id: int, holder: str) -> None:
    held = BackendOperation.objects.filter(pk=operation_id, lease_holder=holder)
    held.update(lease_holder="", lease_expires_at=None)


def due_operation_ids(*, now: datetime) -> list[int]:
    """Operations with something to do that no living worker holds."""
    is_free = Q(lease_expires_at=None) | Q(lease_expires_at__lte=Now())
    is_due = Q(next_look_at=None) | Q(next_look_at__lte=now)
    due = BackendOperation.objects.filter(is_free, is_due, state__in=BackendOperation.ACTIVE).order_by("pk")
    return list(due.values_list("pk", flat=True))


def change(operation: BackendOperation, holder: str, **changes: Any) -> None:
    """Compare-and-set by state and lease. Raises LeaseLost when somebody was there first."""
    own = BackendOperation.objects.filter(
        pk=operation.pk, state=operation.state, lease_holder=holder, lease_expires_at__gt=Now()
    )
    leased_rows.changed(operation, own.update(**changes), changes)


def change_step(step: BackendOperationStep, operation: BackendOperation, holder: str, **changes: Any) -> None:
    """Compare-and-set by the step's state and attempts, the operation's state and lease. Raises LeaseLost."""
    own = BackendOperationStep.objects.filter(
        pk=step.pk,
        state=step.state,
        attempts=step.attempts,
        operation__state=operation.state,
        operation__lease_holder=holder,
        operation__lease_expires_at__gt=Now(),
    )
    leased_rows.changed(step, own.update(**changes), changes)
