"""One action on one instance of a rollout: counted before it begins, done, its outcome stored with a receipt.

What is counted and what came of it is put into the batch of the caller, who stores and announces it.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from apps.clusters.control import presence, published, rollout_actions, rollout_rows, writes
from apps.clusters.control.presence import NoSession
from apps.clusters.control.rollout_actions import ActionFailed, Done
from apps.clusters.control.rollout_batch import Batch
from apps.clusters.domain import rollout_plan
from apps.clusters.domain.not_yet import NotYet
from apps.clusters.domain.rollout_plan import CheckBase, ConfirmRestored, Reload, Restore, StepAction, Verify, Write
from apps.clusters.domain.rollout_waves import stored_plan
from apps.clusters.models import Rollout, RolloutStep
from apps.clusters.outside import read_back

RETRY_S: Mapping[type[StepAction], float] = {
    CheckBase: 1.0,
    Write: 1.0,
    Reload: 1.0,
    Verify: 0.3,
    Restore: 1.0,
    ConfirmRestored: 1.0,
}
# From this try on, every wait is twice the one before.
PATIENT_TRIES = 5
LONGEST_RETRY_S = 30.0
# pgpool answers PCP in 30 ms and takes a reload in within 90 ms. One that has not by then, and was asked three times,
# will not: it is frozen, or keeps its old file.
RELOAD_FOR = timedelta(seconds=4)
VERIFY_FOR = timedelta(seconds=5)
FEWEST_TRIES = 3
_LONGEST_TRY_S: Mapping[type[StepAction], float] = {
    Reload: rollout_actions.RELOAD_DEADLINE_S,
    Verify: read_back.DEADLINE_S,
}

_ACTIONS: Mapping[type[StepAction], Callable[[RolloutStep, float], Done]] = {
    CheckBase: rollout_actions.check_base,
    Write: rollout_actions.write,
    Reload: rollout_actions.reload,
    Verify: rollout_actions.verify_new,
    Restore: rollout_actions.restore,
    ConfirmRestored: rollout_actions.confirm_restored,
}
# The new text and the one that it is to replace; the way back is made of both.
_TEXTS: Mapping[type[StepAction], frozenset[str]] = {
    CheckBase: frozenset({"text"}),
    Write: frozenset({"text"}),
    Reload: frozenset(),
    Verify: frozenset({"text"}),
    Restore: frozenset({"text", "base_text"}),
    ConfirmRestored: frozenset({"text", "base_text"}),
}
_DONE_AT: Mapping[type[StepAction], str] = {
    Write: "written_at",
    Reload: "reloaded_at",
    Verify: "verified_at",
    ConfirmRestored: "restored_at",
}
_NO_WAITING: Mapping[str, Any] = {"waiting_for": "", "waiting_since": None}


@dataclass(frozen=True)
class Try:
    """An action on one instance that was counted. tried: how often it had been tried before."""

    step: RolloutStep
    action: StepAction
    tried: int


# ActionFailed and NotYet are what an action came to, as much as Done is.
Outcome: TypeAlias = Done | ActionFailed | NotYet


def begin(*, rollout: Rollout, step: RolloutStep, action: StepAction, batch: Batch, now: datetime) -> Try | None:
    """Count the try; nothing may happen before the batch is stored. None: there is nothing to do."""
    one = Try(step, action, tried=step.attempts)
    if step.attempts >= _most_tries(action):
        reason = f"given up: {step.attempts} tries ended without an outcome; look at the log of the worker"
        _store_failure(rollout, one, batch, ActionFailed(reason, is_final=True), now=now)
        return None
    # The instance is marked as touched too: whoever goes on after a crash must know of it.
    is_touched = step.is_touched or (isinstance(action, Write) and not action.step.is_as_found)
    batch.change(step, attempts=step.attempts + 1, is_touched=is_touched, retry_at=None)
    return one


def texts_read(actions: Iterable[StepAction]) -> frozenset[str]:
    """Which texts of a revision's file these actions need, as rollout_rows.loaded takes them."""
    return frozenset().union(*(_TEXTS[type(action)] for action in actions))


def asks_database(one: Try) -> bool:
    """Whether only the worker's own thread may do it: a file that others apply is published by a row."""
    return published.is_published(one.step.instance) and isinstance(one.action, CheckBase | Write | Restore)


def carry_out(one: Try, held_until: float) -> Outcome:
    """Do it, without a word to the database unless asks_database. held_until: as rollout_actions says."""
    try:
        outcome: Outcome = _ACTIONS[type(one.action)](one.step, held_until)
    except (ActionFailed, NotYet) as error:
        outcome = error
    except OSError as error:
        outcome = ActionFailed(f"this worker could not do it: {error}", is_final=False)
    return outcome


def heard(one: Try, outcome: Outcome) -> Outcome:
    """What it came to, once it is known whether a session can be had of the pgpool at all. Asks no database.

    One that is silent owes the revision, or keeps the rollout from everybody, before anything is written; so does one
    that turns Lifeguard away, which can owe nothing: it is there.
    """
    is_checked = isinstance(outcome, Done) and isinstance(one.action, CheckBase)
    if one.step.instance is None or _goes_on_without(one):
        return outcome
    rollout = one.step.rollout
    lets_owe = stored_plan(rollout.plan).lets_owe
    if not is_checked and not (lets_owe and isinstance(outcome, ActionFailed)):
        return outcome
    found = presence.no_session_at(one.step.instance)
    if found is None:
        return outcome
    if not found.is_silence:
        is_kept = is_checked and not rollout_rows.goes_past_failures(rollout)
        return ActionFailed(_turned_away(found), is_final=False) if is_kept else outcome
    if not isinstance(outcome, ActionFailed):
        way = "" if lets_owe else NOT_WITHOUT_IT
        outcome = ActionFailed(f"It does not answer: {found.reason}.{way}", is_final=False)
    outcome.is_absent = lets_owe
    return outcome


# What the plan of a rollout says of a pgpool that does not answer, unless it may owe the revision.
NOT_WITHOUT_IT = (
    " Nothing is rolled out without it by this plan. Bring it back, or start again with “A pgpool that cannot be "
    'reached” set to “It owes the change” (by REST: "absent": "owe" in the plan).'
)


def _turned_away(found: NoSession) -> str:
    said = f"It lets Lifeguard open no session: {found.reason}. {found.fix}".strip()
    return f"{said} What is written there could not be read back, so nothing is rolled out before that is mended."


def _goes_on_without(one: Try) -> bool:
    """Nobody is asked on the way back; nor before one that goes past failures, unless the pgpool may owe it."""
    if not isinstance(one.action, CheckBase | Write | Reload | Verify):
        return True
    rollout = one.step.rollout
    return rollout_rows.goes_past_failures(rollout) and not stored_plan(rollout.plan).lets_owe


def store(*, rollout: Rollout, one: Try, outcome: Outcome, batch: Batch, now: datetime) -> None:
    """What came of it."""
    if isinstance(outcome, Done):
        _store_success(one, batch, outcome, now=now)
    elif not isinstance(outcome, NotYet):
        _store_failure(rollout, one, batch, outcome, now=now)
    else:
        _store_not_yet(rollout, one, batch, outcome, now=now)


def _most_tries(action: StepAction) -> float:
    """Tries that ended without any outcome count too. A way back keeps those of the way there, and then has its own."""
    if isinstance(action, ConfirmRestored):
        return math.inf
    if isinstance(action, Restore):
        return max(rollout_plan.ATTEMPTS.values()) + rollout_plan.ATTEMPTS[Restore]
    return rollout_plan.ATTEMPTS[type(action)]


def _store_success(one: Try, batch: Batch, done: Done, *, now: datetime) -> None:
    step, action = one.step, one.action
    after = rollout_plan.after_success(action)
    changes: dict[str, Any] = {"state": after.state.value, "attempts": after.attempts, "retry_at": None}
    changes |= _NO_WAITING
    if not isinstance(action, Restore | ConfirmRestored):
        changes["error"] = ""
    is_as_found = isinstance(action, Write) and action.step.is_as_found
    was_there = is_as_found and rollout_actions.WRITTEN_OUT not in step.receipt  # so nothing was written
    if type(action) in _DONE_AT and not was_there:
        changes[_DONE_AT[type(action)]] = now
    if isinstance(action, Verify):
        changes["is_touched"] = True  # a file that is adopted stands there from now on
    if done.receipt:
        changes["receipt"] = {**step.receipt, **done.receipt}
    batch.change(step, **changes)
    batch.read(step, rollout_actions.read_parameters(done.receipt))
    batch.log(done.text, instance_name=step.instance_name)


def _store_failure(rollout: Rollout, one: Try, batch: Batch, error: ActionFailed, *, now: datetime) -> None:
    step, action = one.step, one.action
    # A rollout that has failed asks for an hour: its log need not say every time that nobody answers.
    is_old_news = rollout.state == Rollout.State.FAILED and step.error == error.reason
    is_final = error.is_final or _is_hopeless(step, action, error, now)
    after = rollout_plan.after_failure(
        action,
        error.reason,
        is_final=is_final,
        is_absent=error.is_absent,
        keeps_file=rollout_rows.goes_past_failures(rollout),
    )
    wait_s = min(RETRY_S[type(action)] * 2 ** max(0, after.attempts - PATIENT_TRIES), LONGEST_RETRY_S)
    batch.change(
        step,
        state=after.state.value,
        attempts=after.attempts,
        error=after.error,
        retry_at=now + timedelta(seconds=wait_s),
        receipt={**step.receipt, **error.receipt},
        **_NO_WAITING,
    )
    if not is_old_news:
        batch.log(error.reason, instance_name=step.instance_name, is_problem=True)


def _store_not_yet(rollout: Rollout, one: Try, batch: Batch, waiting: NotYet, *, now: datetime) -> None:
    """Its patience begins anew once writes are allowed again: while they are stopped nobody can end the wait."""
    organisation_id, since = rollout.cluster.organisation_id, one.step.waiting_since
    stop = writes.stop_in_force(organisation_id)
    if stop is not None:
        _store_waiting(one, batch, published.while_stopped(waiting, writes.words(stop)), now=now)
        return
    changed_at = writes.changed_at(organisation_id)
    if since is not None and changed_at is not None:
        since = max(since, changed_at)
    if waiting.is_over(since=since, now=now):
        _store_failure(rollout, one, batch, _waited_for_too_long(waiting), now=now)
    else:
        _store_waiting(one, batch, waiting, now=now)


def _store_waiting(one: Try, batch: Batch, waiting: NotYet, *, now: datetime) -> None:
    """As if it had not been tried; told once, not each time that it is asked again."""
    step = one.step
    is_news = step.waiting_for != waiting.reason
    batch.change(
        step,
        attempts=one.tried,
        retry_at=now + timedelta(seconds=waiting.retry_s),
        waiting_for=waiting.reason,
        waiting_since=step.waiting_since or now,
    )
    if is_news:
        batch.log(waiting.reason, instance_name=step.instance_name)


def _waited_for_too_long(waiting: NotYet) -> ActionFailed:
    hours = waiting.longest.total_seconds() / 3600 if waiting.longest else 0
    return ActionFailed(f"{waiting.reason} Nothing came of it within {hours:.3g} h.", is_final=True)


def _is_hopeless(step: RolloutStep, action: StepAction, error: ActionFailed, now: datetime) -> bool:
    if isinstance(action, ConfirmRestored):
        # The old file is back; a rollout that has ended asks again, so nobody need wait for a frozen pgpool here.
        return error.is_silence
    begun = _begun(step, action)
    return begun is not None and step.attempts >= FEWEST_TRIES and now - begun[0] >= begun[1]


def given_up_at(step: RolloutStep, action: StepAction) -> datetime | None:
    """When an action that does not succeed has ended at the latest. None: its tries are counted only."""
    begun = _begun(step, action)
    if begun is None:
        return None
    since, patience = begun
    longest_s = _LONGEST_TRY_S[type(action)]
    earlier = timedelta(seconds=(FEWEST_TRIES - 1) * (longest_s + RETRY_S[type(action)]))
    return since + max(patience, earlier) + timedelta(seconds=longest_s)


def _begun(step: RolloutStep, action: StepAction) -> tuple[datetime, timedelta] | None:
    """Since when it is tried, and for how long."""
    if isinstance(action, Reload) and step.written_at is not None:
        return step.written_at, RELOAD_FOR
    if isinstance(action, Verify) and step.reloaded_at is not None:
        return step.reloaded_at, VERIFY_FOR
    return None
