"""Carries an attach, detach or drain on: waits for the weights, counts sessions, acts on one pgpool after the other.

Rows decide, so any worker goes on where another one died: it looks at the pgpool before it does anything.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.control import backend_operation_rows as rows
from apps.clusters.control import backend_operations, writes
from apps.clusters.control.backend_survey import assessed
from apps.clusters.control.leased_rows import LeaseLost
from apps.clusters.domain import backend_operation_plan, pool_sessions
from apps.clusters.domain.backend_operation_plan import (
    Act,
    Check,
    CountSessions,
    Enter,
    GiveBack,
    GiveUp,
    NextAction,
    Wait,
)
from apps.clusters.domain.pool_sessions import HeldSession
from apps.clusters.domain.routing_words import listed
from apps.clusters.domain.show_rows import ShowRowError
from apps.clusters.models import BackendOperation, BackendOperationStep
from apps.clusters.outside import node_control
from apps.clusters.outside.node_control import Brought, NotBrought, ShownNodes
from apps.clusters.outside.pgpool_client import PgpoolUnreachable
from apps.clusters.polling.registry import WatchedInstance, watched_cluster

logger = logging.getLogger(__name__)

LOOK_EVERY = timedelta(seconds=3)
RETRY_S = 1.0
State = BackendOperation.State
Steps = Sequence[BackendOperationStep]
Counted = tuple[HeldSession, ...] | str  # or why they could not be counted


def advance(
    *,
    operation_id: int,
    holder: str,
    clock: Callable[[], datetime],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Carry the operation on until it ends or has to wait. Returns at once while another worker holds it."""
    try:
        while rows.take_lease(operation_id, holder):
            pause_s = _advance_once(operation_id, holder, clock)
            if pause_s is None:
                break
            if pause_s > 0:
                sleep(pause_s)
    except LeaseLost as error:
        logger.info("%s", error)
        return
    rows.release_lease(operation_id, holder)


def _advance_once(operation_id: int, holder: str, clock: Callable[[], datetime]) -> float | None:
    """Do the one thing that is due. Returns the seconds until the next one, None when it is left to a later tick."""
    operation = BackendOperation.objects.select_related("cluster", "rollout").get(pk=operation_id)
    if operation.next_look_at is not None and operation.next_look_at > clock():
        return None
    steps = list(operation.steps.select_related("instance").order_by("position"))
    action = backend_operation_plan.next_action(rows.view_of(operation, steps, now=clock()))
    if isinstance(action, Wait):
        return None
    if isinstance(action, CountSessions):
        _count(operation, steps, holder, now=clock())
        return 0.0 if all(step.sessions_left == 0 for step in steps) else None
    return _do(operation, steps, action, holder, now=clock())


def _do(operation: BackendOperation, steps: Steps, action: NextAction, holder: str, *, now: datetime) -> float | None:
    match action:
        case Enter(state):
            _enter(operation, steps, State(state.value), holder, now=now)
        case Check():
            _check(operation, holder, now=now)
        case GiveUp(position):
            with transaction.atomic():
                rows.change_step(steps[position], operation, holder, state=BackendOperationStep.State.FAILED)
                rows.announce(operation)
        case GiveBack():
            return _give_back(operation, holder, now=now)
        case Act(position):
            return _act_if_allowed(operation, steps[position], holder, now=now)
    return 0.0


def _check(operation: BackendOperation, holder: str, *, now: datetime) -> None:
    """What was true when it was asked for may have changed: the primary moved, another backend went down."""
    found = assessed(cluster=operation.cluster, kind=operation.kind, node_id=operation.node_id)
    if found.refusals:
        _fail(operation, " ".join(found.refusals), holder, now=now)
    else:
        rows.change(operation, holder, checked_at=now)


def _give_back(operation: BackendOperation, holder: str, *, now: datetime) -> float | None:
    """A cancelled drain ends; while writes are stopped it waits with what would have to be written."""
    rollout = operation.rollout
    why = writes.why_not(operation.cluster) if rollout is not None and rollout.state == rollout.State.VERIFIED else ""
    with transaction.atomic():
        if why:
            rows.change(operation, holder, outcome=why, next_look_at=now + LOOK_EVERY)
        else:
            # First, so that a rollout of the way back is not refused because of it.
            rows.change(operation, holder, state=State.CANCELLED, finished_at=now)
            way_back, outcome = backend_operations.weights_back(_who_cancelled(operation), operation, now)
            rows.change(operation, holder, way_back=way_back, outcome=outcome)
            rows.add_event(operation, f"drain of {operation.backend_name}: cancelled", at=now, detail=outcome)
        rows.announce(operation)
    return None if why else 0.0


def _who_cancelled(operation: BackendOperation) -> Caller | None:
    """They were allowed to when they asked; what they may do today does not leave the weights half changed."""
    user = operation.cancelled_by
    return None if user is None else Caller(user, operation.cluster.organisation, Role.OPERATOR)


def _enter(operation: BackendOperation, steps: Steps, state: State, holder: str, *, now: datetime) -> None:
    if state == State.FAILED:
        _fail(operation, _failure(operation, steps), holder, now=now)
        return
    changes: dict[str, Any] = {"state": state, "next_look_at": None}
    if state == State.WAITING:
        changes["waiting_since"] = now
    if state == State.DONE:
        changes |= {"finished_at": now, "outcome": _success(operation, steps)}
    with transaction.atomic():
        rows.change(operation, holder, **changes)
        if state == State.DONE:
            title = f"{operation.get_kind_display().capitalize()} of {operation.backend_name}: done"
            rows.add_event(operation, title, at=now, detail=operation.outcome)
        if state == State.ASKING:
            title = f"Sessions still read from {operation.backend_name}: its drain asks whether to go on"
            rows.add_event(operation, title, at=now, is_problem=True)
        rows.announce(operation)


def _fail(operation: BackendOperation, outcome: str, holder: str, *, now: datetime) -> None:
    with transaction.atomic():
        rows.change(operation, holder, state=State.FAILED, finished_at=now, outcome=outcome)
        title = f"{operation.get_kind_display().capitalize()} of {operation.backend_name} failed"
        rows.add_event(operation, title, at=now, detail=outcome, is_problem=True)
        rows.announce(operation)


def _success(operation: BackendOperation, steps: Steps) -> str:
    return f"{operation.backend_name} is {_wanted(operation)} at {listed([step.instance_name for step in steps])}."


def _failure(operation: BackendOperation, steps: Steps) -> str:
    rollout = operation.rollout
    if operation.state == State.WEIGHING:
        number = "that takes its weight to 0 is gone" if rollout is None else f"#{rollout.pk} did not end as verified"
        return f"The rollout {number}, so nothing was detached."
    failed = [f"{step.instance_name}: {step.error}" for step in steps if step.state == step.State.FAILED]
    done = [step.instance_name for step in steps if step.state == step.State.DONE]
    where = f"at {listed(done)}" if done else "nowhere"
    return f"{operation.backend_name} is confirmed {_wanted(operation)} {where}. {' '.join(failed)}"


def _wanted(operation: BackendOperation) -> node_control.Wanted:
    return "up" if operation.kind == BackendOperation.Kind.ATTACH else "down"


def _count(operation: BackendOperation, steps: Steps, holder: str, *, now: datetime) -> None:
    """How many of the sessions of before are there still, at every pgpool at once."""
    watched = {each.instance_id: each for each in watched_cluster(operation.cluster).instances}
    counts = asyncio.run(_counts([watched.get(step.instance_id or 0) for step in steps], operation.node_id))
    with transaction.atomic():
        for step, counted in zip(steps, counts, strict=True):
            _store_count(operation, step, counted, holder, now=now)
        rows.change(operation, holder, next_look_at=now + LOOK_EVERY)
        rows.announce(operation)
    if all(step.sessions_left == 0 for step in steps):
        rows.change(operation, holder, next_look_at=None)


async def _counts(instances: Sequence[WatchedInstance | None], node_id: int) -> list[Counted]:
    return list(await asyncio.gather(*(_counted(instance, node_id) for instance in instances)))


async def _counted(instance: WatchedInstance | None, node_id: int) -> Counted:
    if instance is None:
        return ()
    try:
        return await node_control.held_sessions(instance.address, node_id)
    except (PgpoolUnreachable, ShowRowError) as error:
        return str(error)


def _store_count(
    operation: BackendOperation, step: BackendOperationStep, counted: Counted, holder: str, *, now: datetime
) -> None:
    if isinstance(counted, str):
        rows.change_step(step, operation, holder, sessions_left=None, sessions_at=now, sessions_reason=counted)
        return
    before: list[str] | None = step.sessions_before
    if before is None:
        before = [one.key for one in counted if one.may_read_here()]
    left = pool_sessions.still_there(before, counted)
    rows.change_step(
        step, operation, holder, sessions_before=before, sessions_left=left, sessions_at=now, sessions_reason=""
    )


def _act_if_allowed(
    operation: BackendOperation, step: BackendOperationStep, holder: str, *, now: datetime
) -> float | None:
    """While writes are stopped it waits for them to be allowed again; no try is counted."""
    try:
        with writes.under_way(operation.cluster):
            return _act(operation, step, holder, now=now)
    except writes.NotAllowed as error:
        with transaction.atomic():
            rows.change(operation, holder, outcome=str(error), next_look_at=now + LOOK_EVERY)
            rows.announce(operation)
        return None


def _act(operation: BackendOperation, step: BackendOperationStep, holder: str, *, now: datetime) -> float:
    # The try is counted before anything happens: whoever goes on after a crash must know of it.
    rows.change_step(step, operation, holder, attempts=step.attempts + 1)
    watched = watched_cluster(operation.cluster)
    instance = next((each for each in watched.instances if each.instance_id == step.instance_id), None)
    if instance is None or instance.pcp is None:
        why = "no longer registered" if instance is None else "registered without PCP"
        changes = {"state": step.State.FAILED, "error": f"it is {why}."}
        _store(operation, step, holder, **changes)
        return 0.0
    known = {backend.node_id: backend.place for backend in watched.backends}
    node_id, wanted = operation.node_id, _wanted(operation)
    try:
        done = asyncio.run(node_control.bring(instance.address, instance.pcp, node_id, wanted, known=known))
    except NotBrought as error:
        receipt = {"before": _seen(error.before, operation), "pcp": error.answer, "at": now.isoformat()}
        _store(operation, step, holder, error=f"{error.reason}.", receipt=receipt)
        return RETRY_S
    _store(
        operation,
        step,
        holder,
        state=step.State.DONE,
        error="",
        confirmed_at=now,
        receipt=_receipt(done, operation, now),
    )
    return 0.0


def _store(operation: BackendOperation, step: BackendOperationStep, holder: str, **changes: Any) -> None:
    with transaction.atomic():
        rows.change_step(step, operation, holder, **changes)
        rows.announce(operation)


def _receipt(done: Brought, operation: BackendOperation, now: datetime) -> dict[str, Any]:
    return {
        "before": _seen(done.before, operation),
        "pcp": done.answer or "not asked: it was so already",
        "after": _seen(done.after, operation),
        "at": now.isoformat(),
    }


def _seen(shown: ShownNodes | None, operation: BackendOperation) -> dict[str, str] | None:
    if shown is None:
        return None
    return {"status": shown.statuses.get(operation.node_id, "unknown"), "source": shown.source}
