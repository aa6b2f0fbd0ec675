"""Rows of rolling restarts: one per cluster at a time, held by a lease, changed by compare-and-set."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now

from apps.clusters.control import leased_rows, writes
from apps.clusters.control.revisions import WeightsRefused
from apps.clusters.domain.rolling_restart import RestartState, RestartStepState, RestartStepView, RestartView
from apps.clusters.models import Cluster, ClusterEvent, RestartStep, RollingRestart
from apps.clusters.outside.delivery.restart import LONGEST_S
from apps.live import events

ADVANCE_TASK = "clusters.advance_restart"
# Longer than any single action, since the lease is renewed before each, and every second while a command runs.
LEASE = timedelta(seconds=30)
# Once the command has ended: some only ask a supervisor, which takes its time.
TAKES_EFFECT_WITHIN = timedelta(seconds=60)
# It may look for a primary for search_primary_node_timeout, 300 s unless set.
RETURNS_WITHIN = timedelta(seconds=360)
# It serves, and its values are asked for; also by the worker that takes over where the one that saw it serve has died.
READ_BACK_WITHIN = LEASE + timedelta(seconds=30)
# Nobody knows what came of the command: by then it has ended.
ORDER_UNKNOWN_FOR = timedelta(seconds=LONGEST_S + 20)
State = RestartStep.State


class RestartRunning(WeightsRefused):
    """The pgpools of this cluster are being restarted."""

    def __init__(self, restart: RollingRestart) -> None:
        super().__init__(
            f"Restart #{restart.pk} of pgpools of this cluster is under way. Wait for its end, or cancel it on the "
            "page Restarts."
        )
        self.restart = restart


def refuse_running(cluster: Cluster) -> None:
    """Raises RestartRunning."""
    running = cluster.restarts.filter(state=RollingRestart.State.RUNNING).first()
    if running is not None:
        raise RestartRunning(running)


def view_of(restart: RollingRestart, steps: Sequence[RestartStep], *, now: datetime) -> RestartView:
    """The rows as the plan reads them."""
    return RestartView(
        state=RestartState(restart.state),
        steps=tuple(
            RestartStepView(
                position=step.position,
                state=RestartStepState(step.state),
                is_by_hand=step.way == RestartStep.Way.HAND,
                attempts=step.attempts,
                has_ended=step.ended_at is not None,
                is_overdue=is_overdue(step, restart.cluster.organisation_id, now=now),
            )
            for step in steps
        ),
        is_cancel_requested=restart.is_cancel_requested,
    )


def is_overdue(step: RestartStep, organisation_id: int, *, now: datetime) -> bool:
    """Whether what is waited for should have come. Nobody is hurried while writes are stopped."""
    if step.ordered_at is None:
        return False
    if step.state == State.ORDERED and step.way == RestartStep.Way.HAND:
        if writes.stop_in_force(organisation_id) is not None:
            return False
        changed_at = writes.changed_at(organisation_id)
        asked_at = step.ordered_at if changed_at is None else max(step.ordered_at, changed_at)
        return now >= asked_at + by_hand_within(step)
    return now >= _given_up_at(step, step.ordered_at)


def by_hand_within(step: RestartStep) -> timedelta:
    """How long a person may take to begin with it; anew once writes that were stopped are allowed again."""
    return timedelta(hours=step.instance.longest_wait_h if step.instance else 0)


def _given_up_at(step: RestartStep, ordered_at: datetime) -> datetime:
    if step.state == State.RESTARTED:
        if step.serves_at is not None:
            return step.serves_at + READ_BACK_WITHIN
        return (step.returned_at or ordered_at) + RETURNS_WITHIN
    if step.ended_at is None:
        known_at = ordered_at + ORDER_UNKNOWN_FOR
        # It is away, so it may be starting: another order would cut that short.
        return known_at if step.silent_at is None else max(known_at, step.silent_at + RETURNS_WITHIN)
    return step.ended_at + (TAKES_EFFECT_WITHIN if step.silent_at is None else RETURNS_WITHIN)


def away_for(instance_id: int, *, now: datetime) -> RestartStep | None:
    """The step under way that this pgpool may be away for; None once it should have been back."""
    running = RestartStep.objects.filter(
        instance_id=instance_id, state__in=(State.ORDERED, State.RESTARTED), restart__state=RollingRestart.State.RUNNING
    )
    step = running.select_related("instance", "restart__cluster").first()
    if step is None or step.ordered_at is None or is_overdue(step, step.restart.cluster.organisation_id, now=now):
        return None
    # A person may take hours to begin with it, but not to end it.
    is_late = step.silent_at is not None and now >= step.silent_at + RETURNS_WITHIN
    return None if is_late and step.state == State.ORDERED else step


def announce(restart: RollingRestart) -> None:
    facts = {"restart": restart.pk, "state": restart.state}
    events.announce(f"cluster.{restart.cluster_id}", "event", **facts)


def add_event(
    restart: RollingRestart,
    title: str,
    *,
    at: datetime,
    detail: str = "",
    is_problem: bool = False,
    instance_name: str = "",
) -> None:
    ClusterEvent.objects.create(
        cluster_id=restart.cluster_id,
        at=at,
        kind=ClusterEvent.Kind.RESTART,
        is_problem=is_problem,
        title=title[:200],
        detail=detail,
        instance_name=instance_name,
    )


def take_lease(restart_id: int, holder: str) -> bool:
    """Get or renew the lease, by the database's clock. False: another worker holds it, or there is nothing to do."""
    free = Q(lease_holder=holder) | Q(lease_expires_at=None) | Q(lease_expires_at__lte=Now())
    running = RollingRestart.objects.filter(free, pk=restart_id, state=RollingRestart.State.RUNNING)
    return running.update(lease_holder=holder, lease_expires_at=Now() + LEASE) == 1


def release_lease(restart_id: int, holder: str) -> None:
    held = RollingRestart.objects.filter(pk=restart_id, lease_holder=holder)
    held.update(lease_holder="", lease_expires_at=None)


def due_restart_ids(*, now: datetime) -> list[int]:
    """Restarts with something to do that no living worker holds."""
    is_free = Q(lease_expires_at=None) | Q(lease_expires_at__lte=Now())
    is_due = Q(next_look_at=None) | Q(next_look_at__lte=now)
    due = RollingRestart.objects.filter(is_free, is_due, state=RollingRestart.State.RUNNING).order_by("pk")
    return list(due.values_list("pk", flat=True))


def change(restart: RollingRestart, holder: str, **changes: Any) -> None:
    """Compare-and-set by state and lease. Raises LeaseLost when somebody was there first."""
    own = RollingRestart.objects.filter(
        pk=restart.pk, state=restart.state, lease_holder=holder, lease_expires_at__gt=Now()
    )
    leased_rows.changed(restart, own.update(**changes), changes)


def change_step(step: RestartStep, restart: RollingRestart, holder: str, **changes: Any) -> None:
    """Compare-and-set by the step's state and attempts, the restart's state and lease. Raises LeaseLost."""
    own = RestartStep.objects.filter(
        pk=step.pk,
        state=step.state,
        attempts=step.attempts,
        restart__state=restart.state,
        restart__lease_holder=holder,
        restart__lease_expires_at__gt=Now(),
    )
    leased_rows.changed(step, own.update(**changes), changes)
