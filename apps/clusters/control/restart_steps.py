"""Carries a rolling restart on: looks, restarts one pgpool, waits for it, reads it back, and takes the next.

Rows decide, so any worker goes on where another one died: it looks which run of the pgpool answers before it does
anything, and gives no order twice as long as the first one may still be carried out.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from apps.clusters.control import pending_restarts, restart_checks, restart_orders, restart_words, writes
from apps.clusters.control import restart_rows as rows
from apps.clusters.control.leased_rows import LeaseLost
from apps.clusters.control.restart_checks import NotReady, NotServing, Ready
from apps.clusters.domain import rolling_restart
from apps.clusters.domain.rolling_restart import (
    Enter,
    Generation,
    GiveUp,
    Look,
    OrderAgain,
    Prepare,
    ReadBack,
    RestartAction,
    RestartState,
)
from apps.clusters.domain.show_rows import ShowRowError
from apps.clusters.models import PgpoolInstance, RestartStep, RollingRestart
from apps.clusters.outside import generation
from apps.clusters.outside.pgpool_client import PgpoolUnreachable
from apps.clusters.polling.registry import WatchedInstance, watched_cluster

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
Steps = Sequence[RestartStep]
State = RestartStep.State
# A person restarts it, or writes are stopped: beat comes again.
LOOK_LATER = timedelta(seconds=3)
LOOK_S = 0.25
# After the command ended, and after another run answered: how long it was away is known to LOOK_S. Then a look with
# every tick of beat will do, since a worker that waits holds up rollouts.
WATCHED_CLOSELY = timedelta(seconds=10)
LOOK_SOON = timedelta(seconds=1)
RETRY_S = 2.0


def advance(*, restart_id: int, holder: str, clock: Clock, sleep: Callable[[float], None] = time.sleep) -> None:
    """Carry the restart on until it ends or has to wait. Returns at once while another worker holds it."""
    try:
        while rows.take_lease(restart_id, holder):
            pause_s = _advance_once(restart_id, holder, clock)
            if pause_s is None:
                break
            if pause_s > 0:
                sleep(pause_s)
    except LeaseLost as error:
        logger.info("%s", error)
        return
    rows.release_lease(restart_id, holder)


def _advance_once(restart_id: int, holder: str, clock: Clock) -> float | None:
    """Do the one thing that is due. Returns the seconds until the next one, None when it is left to a later tick."""
    restart = RollingRestart.objects.select_related("cluster__organisation").get(pk=restart_id)
    if restart.next_look_at is not None and restart.next_look_at > clock():
        return None
    found = restart.steps.select_related("instance__cluster__organisation__ssh_key").order_by("position")
    steps = list(found)
    action = rolling_restart.next_action(rows.view_of(restart, steps, now=clock()))
    if isinstance(action, OrderAgain | GiveUp):
        _look_before_it_is_too_late(restart, steps[action.position], holder, clock)
        if action != rolling_restart.next_action(rows.view_of(restart, steps, now=clock())):
            return 0.0
    return _carry_on(action, restart, steps, holder, clock)


def _carry_on(action: RestartAction, restart: RollingRestart, steps: Steps, holder: str, clock: Clock) -> float | None:
    match action:
        case Enter(state):
            _enter(restart, steps, state, holder, now=clock())
            return 0.0
        case Prepare(position):
            return _prepare(restart, steps[position], holder, clock)
        case OrderAgain(position):
            return _order(restart, steps[position], holder, clock, {"answered_at": steps[position].answered_at})
        case Look(position):
            return _look(restart, steps[position], holder, clock)
        case ReadBack(position):
            step = steps[position]
            _read_back(restart, step, holder, clock)
            if step.state == State.RESTARTED:
                return _look_again(restart, holder, since=step.returned_at, now=clock())
            return 0.0
        case GiveUp(position):
            _fail(restart, steps[position], holder, restart_words.given_up(steps[position]))
            return 0.0
    return None


def _look_before_it_is_too_late(restart: RollingRestart, step: RestartStep, holder: str, clock: Clock) -> None:
    """Nobody may have looked since long before its time was over: all workers were away."""
    if step.state == State.ORDERED:
        _seen(restart, step, holder, clock)
    elif step.state == State.RESTARTED:
        _read_back(restart, step, holder, clock)


def _enter(restart: RollingRestart, steps: Steps, state: RestartState, holder: str, *, now: datetime) -> None:
    outcome = restart_words.outcome(state, steps)
    with transaction.atomic():
        rows.change(restart, holder, state=state.value, outcome=outcome, finished_at=now, next_look_at=None)
        restart.steps.filter(state=State.PENDING).update(state=State.SKIPPED)
        is_problem = state == RestartState.FAILED
        title = f"restart #{restart.pk} of pgpools {'halted' if is_problem else state.value}"
        rows.add_event(restart, title, at=now, detail=outcome, is_problem=is_problem)
        rows.announce(restart)


def _prepare(restart: RollingRestart, step: RestartStep, holder: str, clock: Clock) -> float | None:
    if step.instance is None:
        _fail(restart, step, holder, f"{step.instance_name} is no longer registered.")
        return 0.0
    # Only waits: a look that is not made counts as none.
    if why := writes.why_not(restart.cluster):
        _later(restart, holder, why, now=clock())
        return None
    rows.change_step(step, restart, holder, attempts=step.attempts + 1)
    try:
        ready = restart_checks.prepare(restart.cluster, step.instance)
    except NotReady as error:
        if error.is_final:
            _fail(restart, step, holder, str(error))
            return 0.0
        _store(restart, step, holder, error=str(error))
        return RETRY_S
    return _order(restart, step, holder, clock, _first_order(step, step.instance, ready))


def _first_order(step: RestartStep, instance: PgpoolInstance, ready: Ready) -> dict[str, Any]:
    waiting = instance.pending_restarts.order_by("name").values_list("name", flat=True)
    return {
        "attempts": 1,
        "error": "",
        "before": ready.before,
        "parameters": sorted({*step.parameters, *waiting}),
        "receipt": {"checked": ready.checked, "out_of_service": restart_words.out_of_service(step.way)},
    }


def _order(
    restart: RollingRestart, step: RestartStep, holder: str, clock: Clock, changes: dict[str, Any]
) -> float | None:
    """Tell it to restart, or a person to do it, while writes are allowed. That it was told is stored first."""
    try:
        with writes.under_way(restart.cluster):
            now = clock()
            changes = {"attempts": step.attempts + 1, "answered_at": now, **changes}
            with transaction.atomic():
                # First the row that cancelling holds: whoever came first has decided.
                rows.change(restart, holder, next_look_at=None, outcome="")
                rows.change_step(step, restart, holder, state=State.ORDERED, ordered_at=now, **changes)
                title = restart_words.turn(step)
                rows.add_event(restart, title, at=now, instance_name=step.instance_name)
                rows.announce(restart)
            if step.way != RestartStep.Way.HAND and step.instance is not None:
                return _carry_out(restart, step, step.instance, holder, clock)
    except writes.NotAllowed as error:
        _later(restart, holder, str(error), now=clock())
        return None
    return 0.0


def _carry_out(
    restart: RollingRestart, step: RestartStep, instance: PgpoolInstance, holder: str, clock: Clock
) -> float:
    """Look at it while its command runs, so that it is known how long it was away."""
    order = restart_orders.Order(instance, step.way)
    while not order.wait(LOOK_S):
        if not rows.take_lease(restart.pk, holder):
            raise LeaseLost(f"{step}: another worker carries it on")
        if step.state == State.ORDERED:
            _seen(restart, step, holder, clock)
    if order.is_unknown:
        _store(restart, step, holder, receipt={**step.receipt, "command": order.receipt})
        return LOOK_S
    _store(restart, step, holder, ended_at=clock(), receipt={**step.receipt, "command": order.receipt})
    if step.state == State.ORDERED:
        _seen(restart, step, holder, clock)
    if order.failure and step.state == State.ORDERED:
        _fail(restart, step, holder, restart_words.command_failed(step, order.failure))
    return 0.0


def _look(restart: RollingRestart, step: RestartStep, holder: str, clock: Clock) -> float | None:
    _seen(restart, step, holder, clock)
    if step.way == RestartStep.Way.HAND and step.state == State.ORDERED:
        rows.change(restart, holder, next_look_at=clock() + LOOK_LATER)
        return None
    return _look_again(restart, holder, since=step.returned_at or step.ended_at or step.ordered_at, now=clock())


def _look_again(restart: RollingRestart, holder: str, *, since: datetime | None, now: datetime) -> float | None:
    """since: when what is waited for began."""
    if since is None or now < since + WATCHED_CLOSELY:
        return LOOK_S
    rows.change(restart, holder, next_look_at=now + LOOK_SOON)
    return None


def _seen(restart: RollingRestart, step: RestartStep, holder: str, clock: Clock) -> None:
    """Which run of the pgpool answers, if any does."""
    watched = _watched(restart, step)
    if watched is None or step.before is None:
        return
    try:
        now_seen = asyncio.run(generation.look(watched.address)).generation
    except (PgpoolUnreachable, ShowRowError):
        if step.silent_at is None:
            _store(restart, step, holder, silent_at=clock())
        return
    before, at = Generation.of(step.before), clock()
    if rolling_restart.was_restarted(before, now_seen):
        receipt = {**step.receipt, "generation": now_seen.as_json()}
        _store(restart, step, holder, state=State.RESTARTED, returned_at=at, receipt=receipt)
    else:
        # Children are replaced one by one: the latest look is what the next one is held against.
        kept = {**step.before, **now_seen.as_json()}
        rows.change_step(step, restart, holder, before=kept, answered_at=at, silent_at=None)


def _read_back(restart: RollingRestart, step: RestartStep, holder: str, clock: Clock) -> None:
    watched = _watched(restart, step)
    if watched is None or step.instance is None:
        _fail(restart, step, holder, f"{step.instance_name} is no longer registered.")
        return
    backends = {each.node_id: each for each in restart.cluster.backends.all()}
    try:
        restart_checks.serves(watched, step, backends)
        if step.serves_at is None:
            rows.change_step(step, restart, holder, serves_at=clock())
        receipt = restart_checks.read_back(step.instance, step)
    except NotServing as error:
        if error.is_final:
            _fail(restart, step, holder, str(error))
        elif step.error != str(error):
            _store(restart, step, holder, error=str(error))
        return
    _succeed(restart, step, step.instance, holder, receipt, now=clock())


def _succeed(
    restart: RollingRestart,
    step: RestartStep,
    instance: PgpoolInstance,
    holder: str,
    receipt: dict[str, Any],
    *,
    now: datetime,
) -> None:
    whole = {**step.receipt, "read_back": receipt, "out_of_service_s": restart_words.out_of_service_s(step)}
    with transaction.atomic():
        rows.change_step(step, restart, holder, state=State.DONE, error="", receipt=whole)
        pending_restarts.settle(instance, receipt["parameters"])
        title = f"{step.instance_name} was restarted and uses its file"
        detail = restart_words.done(step)
        rows.add_event(restart, title, at=now, detail=detail, instance_name=step.instance_name)
        rows.announce(restart)


def _watched(restart: RollingRestart, step: RestartStep) -> WatchedInstance | None:
    found = watched_cluster(restart.cluster).instances
    return next((each for each in found if each.instance_id == step.instance_id), None)


def _later(restart: RollingRestart, holder: str, why: str, *, now: datetime) -> None:
    with transaction.atomic():
        rows.change(restart, holder, outcome=why, next_look_at=now + LOOK_LATER)
        rows.announce(restart)


def _fail(restart: RollingRestart, step: RestartStep, holder: str, error: str) -> None:
    _store(restart, step, holder, state=State.FAILED, error=error)


def _store(restart: RollingRestart, step: RestartStep, holder: str, **changes: Any) -> None:
    with transaction.atomic():
        rows.change_step(step, restart, holder, **changes)
        rows.announce(restart)
