"""One turn of the worker that carries a rollout on: begin what is due, or store what has come to an end."""

from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import transaction

from apps.clusters.control import rollout_rows, rollout_steps, writes
from apps.clusters.control.rollout_batch import Batch
from apps.clusters.control.rollout_crew import Crew
from apps.clusters.domain.rollout_plan import Action, Finish, Hold, StepAction, Verify, Wait
from apps.clusters.models import Rollout, RolloutStep

# While actions are under way.
LOOK_EVERY_S = 1.0


def due_now(
    actions: Sequence[Action], steps: Sequence[RolloutStep], crew: Crew, clock: Callable[[], datetime]
) -> tuple[list[tuple[int, StepAction]], float | None]:
    """What can be begun now, as ids of steps and what to do there, and the seconds until more can."""
    by_position = {step.position: step for step in steps}
    busy, waits = crew.step_ids, list[float]()
    due: list[tuple[int, StepAction]] = []
    for action in actions:
        if isinstance(action, Wait | Hold | Finish):
            continue
        step = by_position[action.step.position]
        if step.pk in busy:
            continue
        left_s = 0.0 if step.retry_at is None else (step.retry_at - clock()).total_seconds()
        if left_s > 0:
            waits.append(left_s)
        elif len(due) < crew.room:
            due.append((step.pk, action))
    return due, min(waits, default=None)


def allowed(rollout: Rollout, due: Sequence[tuple[int, StepAction]], crew: Crew) -> Sequence[tuple[int, StepAction]]:
    """While all writes are stopped only reading back goes on; beat looks at the rest again, and no try is counted."""
    if all(isinstance(action, Verify) for _, action in due):
        return due
    try:
        crew.pass_gate(rollout.cluster)
    except writes.NotAllowed:
        return [(step_id, action) for step_id, action in due if isinstance(action, Verify)]
    return due


def begin(
    rollout: Rollout,
    due: Sequence[tuple[int, StepAction]],
    holder: str,
    held_until: float,
    clock: Callable[[], datetime],
    crew: Crew,
) -> None:
    """Count what is due, and send it once that is stored. Raises LeaseLost."""
    texts = rollout_steps.texts_read(action for _, action in due)
    steps = rollout_rows.loaded(rollout, [step_id for step_id, _ in due], texts=texts)
    now, batch = clock(), Batch(rollout, holder)
    with transaction.atomic():
        _start(rollout, holder, now=now)
        tries = [
            rollout_steps.begin(rollout=rollout, step=steps[step_id], action=action, batch=batch, now=now)
            for step_id, action in due
        ]
        batch.store(now=now)
        rollout_rows.announce(rollout)
    for one in tries:
        if one is not None:
            crew.send(one, held_until=held_until)


def store(rollout: Rollout, holder: str, clock: Callable[[], datetime], crew: Crew, *, timeout_s: float | None) -> None:
    """Wait for something to end, and store what came of it. Raises LeaseLost."""
    # The lease is renewed, and a request to cancel or pause seen, with every look.
    if not crew.step_ids:
        return  # what was begun was given up
    ended = crew.wait(timeout_s=min(timeout_s or LOOK_EVERY_S, LOOK_EVERY_S))
    now, batch = clock(), Batch(rollout, holder)
    with transaction.atomic():
        for one, outcome in ended:
            rollout_steps.store(rollout=rollout, one=one, outcome=outcome, batch=batch, now=now)
        batch.store(now=now)
        rollout_rows.announce(rollout)


def _start(rollout: Rollout, holder: str, *, now: datetime) -> None:
    if rollout.state == Rollout.State.PENDING:
        rollout_rows.change_rollout(rollout, holder, state=Rollout.State.RUNNING, started_at=now)
