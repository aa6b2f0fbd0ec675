"""What a rollout does next, decided from its rows alone, so that any worker can go on where another one died.

Nothing is written anywhere before the base of every instance was checked. Wave after wave of instances is written,
reloaded and verified. The first one that fails halts a rollout: every touched instance gets its old file back. A
rollback does not halt: an instance that cannot be reached must not keep the others on the file that is being left. Nor
does an adoption, which has nothing to put back: what was edited by hand is left as it was found, but for the defaults
of lines that are gone, which are written out and stay.
What is due on several instances is given together; a worker may do it at the same time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from apps.clusters.domain.rollout_waves import ONE_BY_ONE, Plan, waves


class RolloutState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    VERIFIED = "verified"
    FAILED = "failed"  # at least one instance is not confirmed on its old file
    ROLLED_BACK = "rolled_back"  # every touched instance is confirmed on its old file
    CANCELLED = "cancelled"  # nothing was touched


class StepState(StrEnum):
    PENDING = "pending"
    WRITTEN = "written"
    RELOADED = "reloaded"
    VERIFIED = "verified"
    RESTORED = "restored"
    RESTORE_PENDING = "restore_pending"  # the old file is back, but the pgpool was not seen to use it yet
    FAILED = "failed"  # given up; is_touched tells whether there is anything to restore
    ABSENT = "absent"  # fell silent after it was given the new file: the old one goes back
    OWED = "owed"  # could not be reached; it gets the revision when it returns
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class StepView:
    """One instance of a rollout, as its row says."""

    position: int
    instance_name: str
    state: StepState
    attempts: int = 0  # failed or interrupted tries of the action that is due
    error: str = ""
    is_touched: bool = False  # stored before the first byte is written
    is_base_checked: bool = False
    is_as_found: bool = False  # edited by hand, and adopted: nothing but defaults is written, nothing put back


@dataclass(frozen=True, slots=True)
class RolloutView:
    """A rollout as its rows say."""

    state: RolloutState
    is_rollback: bool  # or an adoption: it goes on past an instance that fails
    steps: tuple[StepView, ...]
    is_halting: bool = False
    is_cancel_requested: bool = False
    plan: Plan = ONE_BY_ONE
    waves_released: int = 0  # the latest wave whose hold is over


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Look at what is written so far before this wave follows; is_last: before the rollout counts as verified."""

    wave: int
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class CheckBase:
    """Compare the live file with the base and try to parse the new one. Touches nothing."""

    step: StepView


@dataclass(frozen=True, slots=True)
class Write:
    """Put the new file in place of the base; it may stand there already after a crash."""

    step: StepView


@dataclass(frozen=True, slots=True)
class Reload:
    step: StepView


@dataclass(frozen=True, slots=True)
class Verify:
    """Read back on several connections what the pgpool uses now."""

    step: StepView


@dataclass(frozen=True, slots=True)
class Restore:
    """Put the old file back and ask for a reload. Done when the file is back, even if nobody answers the reload."""

    step: StepView


@dataclass(frozen=True, slots=True)
class ConfirmRestored:
    """Reload again and read back that the pgpool uses the old file."""

    step: StepView


@dataclass(frozen=True, slots=True)
class Finish:
    """The rollout ends in this state; steps that are still pending become skipped."""

    state: RolloutState


StepAction: TypeAlias = CheckBase | Write | Reload | Verify | Restore | ConfirmRestored
Action: TypeAlias = Wait | Hold | Finish | StepAction

# After so many tries an action is given up; tries that a dying worker began count too.
ATTEMPTS: Mapping[type[StepAction], int] = {
    CheckBase: 3,
    Write: 3,
    Reload: 4,
    Verify: 15,
    Restore: 5,
    ConfirmRestored: 5,
}
_AFTER_SUCCESS: Mapping[type[StepAction], StepState] = {
    CheckBase: StepState.PENDING,
    Write: StepState.WRITTEN,
    Reload: StepState.RELOADED,
    Verify: StepState.VERIFIED,
    Restore: StepState.RESTORE_PENDING,
    ConfirmRestored: StepState.RESTORED,
}
_AWAY = {StepState.ABSENT, StepState.OWED}
_TOUCHED = {StepState.WRITTEN, StepState.RELOADED, StepState.VERIFIED, StepState.RESTORE_PENDING, StepState.RESTORED}


def next_actions(view: RolloutView) -> tuple[Action, ...]:
    """Decide, and touch nothing: one Wait, Hold or Finish, or what is due on one or more instances, the first first.

    A rollout that FAILED may still confirm what is restored, and end as ROLLED_BACK.
    """
    if view.state in {RolloutState.VERIFIED, RolloutState.ROLLED_BACK, RolloutState.CANCELLED}:
        return (Wait(),)
    if view.state is RolloutState.FAILED:
        return _late_confirmations(view)
    is_done = not is_halting(view) and _is_done(view)
    if is_done and not view.plan.hold_last:
        return (Finish(RolloutState.VERIFIED),)
    if is_halting(view) or view.is_cancel_requested:
        # Of an adoption nothing is put back: cancelled in its last hold, it has done all that it could.
        return _restoring(view) or (Finish(RolloutState.VERIFIED if is_done else _end(view)),)
    if view.state is RolloutState.PAUSED:
        return (Wait(),)
    if is_done:
        return (_last_hold(view) or Finish(RolloutState.VERIFIED),)
    return _forward(view) or (Finish(_end(view)),)


def is_halting(view: RolloutView) -> bool:
    """Whether touched instances get their old file back instead of going on."""
    if view.is_halting:
        return True
    has_failed = any(step.state is StepState.FAILED for step in view.steps)
    return not view.is_rollback and (has_failed or bool(fallen_silent(view)))


def fallen_silent(view: RolloutView) -> tuple[StepView, ...]:
    """Those that no longer answered once they had the new file, where they are more than those that verified it.

    The new file may be what silenced them, so no other gets it.
    """
    verified = sum(step.state is StepState.VERIFIED for step in view.steps)
    silent = tuple(step for step in view.steps if step.state in _AWAY and step.is_touched)
    return silent if len(silent) > verified else ()


def _last_hold(view: RolloutView) -> Hold | None:
    """The hold after all waves, of a plan that has one; None once it is over."""
    wave = len(waves(view.plan, [step.position for step in view.steps]))
    return Hold(wave, is_last=True) if view.waves_released < wave else None


def is_at_rest(step: StepView, *, goes_back: bool, goes_past_failures: bool) -> bool:
    """Whether nothing is written there just now: it has not begun, or is done with.

    goes_back: what was touched gets its old file back, or is about to; goes_past_failures: what failed stays.
    """
    match step.state:
        case StepState.PENDING:
            # A try is counted before anything happens.
            return not step.is_touched and step.attempts == 0
        case StepState.VERIFIED:
            return not goes_back
        case StepState.FAILED:
            return not step.is_touched or (goes_past_failures and not goes_back)
        case StepState.OWED:
            return not (step.is_touched and goes_back)
        case StepState.RESTORED | StepState.SKIPPED:
            return True
        case _:
            return False


def _is_done(view: RolloutView) -> bool:
    """At least one has it, and all the others owe it."""
    states = {step.state for step in view.steps}
    return states <= {StepState.VERIFIED, StepState.OWED} and StepState.VERIFIED in states


def after_success(action: StepAction) -> StepView:
    """The step as it stands when its action is done."""
    # Of a file that is adopted nothing stands there before it is verified.
    is_as_found = action.step.is_as_found and not isinstance(action, Verify)
    is_touched = action.step.is_touched or not (is_as_found or isinstance(action, CheckBase))
    is_away = action.step.state is StepState.ABSENT
    state = StepState.OWED if is_away else _AFTER_SUCCESS[type(action)]
    return replace(action.step, state=state, attempts=0, is_touched=is_touched, is_base_checked=True)


def after_failure(
    action: StepAction, error: str, *, is_final: bool = False, is_absent: bool = False, keeps_file: bool = False
) -> StepView:
    """The step after a try that failed. is_final: another try cannot help now, as when the base has changed.

    is_absent: nobody answers there, and the plan lets it owe; keeps_file: what was written there stays, as in a
    rollback. A step whose old file is back stays restore_pending, so that a later look can still confirm it.
    """
    step = replace(action.step, attempts=action.step.attempts + 1, error=error)
    if step.state is StepState.ABSENT:
        is_given_up = is_final or step.attempts >= ATTEMPTS[Restore]
        return replace(step, state=StepState.OWED, attempts=0) if is_given_up else step
    if isinstance(action, ConfirmRestored):
        return replace(step, attempts=max(step.attempts, ATTEMPTS[ConfirmRestored])) if is_final else step
    if isinstance(action, Restore):
        # Tries of what the step did before it was to be restored do not count.
        return step if step.state is StepState.FAILED else replace(step, state=StepState.FAILED, attempts=1)
    if is_final or step.attempts >= ATTEMPTS[type(action)]:
        return replace(step, state=_given_up(step, is_absent=is_absent, keeps_file=keeps_file), attempts=0)
    return step


def _given_up(step: StepView, *, is_absent: bool, keeps_file: bool) -> StepState:
    if not is_absent:
        return StepState.FAILED
    return StepState.ABSENT if step.is_touched and not keeps_file else StepState.OWED


def _forward(view: RolloutView) -> tuple[Action, ...]:
    steps = sorted(view.steps, key=lambda step: step.position)
    begun = [step for step in steps if _is_begun(step)]
    if silent := [step for step in steps if step.state is StepState.ABSENT]:
        return (*map(Restore, silent), *map(_continuing, begun))
    unchecked = [step for step in steps if step.state is StepState.PENDING and not step.is_base_checked]
    if unchecked and not begun and not view.is_rollback:
        return tuple(map(CheckBase, unchecked))
    for number, wave in enumerate(waves(view.plan, [step.position for step in steps])):
        due = [step for step in steps if step.position in wave and _is_open(step)]
        if due:
            is_held = view.plan.hold_s > 0 and view.waves_released < number and not begun
            return (Hold(number),) if is_held else tuple(map(_continuing, [*due, *_others(begun, due)]))
    return ()


def _is_open(step: StepView) -> bool:
    return step.state in {StepState.PENDING, StepState.WRITTEN, StepState.RELOADED}


def _others(begun: Iterable[StepView], due: Iterable[StepView]) -> list[StepView]:
    positions = {step.position for step in due}
    return [step for step in begun if step.position not in positions]


def _is_begun(step: StepView) -> bool:
    is_written = step.state in {StepState.WRITTEN, StepState.RELOADED}
    return is_written or (step.state is StepState.PENDING and step.is_touched)


def _continuing(step: StepView) -> StepAction:
    if step.state is StepState.PENDING:
        return Write(step) if step.is_base_checked or step.is_touched else CheckBase(step)
    return Reload(step) if step.state is StepState.WRITTEN else Verify(step)


def _restoring(view: RolloutView) -> tuple[StepAction, ...]:
    """Old files go back first, newest change first; the pgpool that failed waits for those that did not."""
    changed = [step for step in view.steps if _needs_restoring(step)]
    unconfirmed = [step for step in _unconfirmed(view) if step.attempts < ATTEMPTS[ConfirmRestored]]
    return (*map(Restore, _least_tried(changed)), *map(ConfirmRestored, _least_tried(unconfirmed)))


def _late_confirmations(view: RolloutView) -> tuple[Action, ...]:
    unconfirmed = _unconfirmed(view)
    if unconfirmed:
        return tuple(map(ConfirmRestored, _least_tried(unconfirmed)))
    return (Finish(RolloutState.ROLLED_BACK) if _end(view) is RolloutState.ROLLED_BACK else Wait(),)


def _needs_restoring(step: StepView) -> bool:
    if step.is_as_found:
        return False
    if step.state is StepState.FAILED:
        return step.is_touched and step.attempts < ATTEMPTS[Restore]
    if step.state in _AWAY:
        return step.is_touched
    return _is_begun(step) or step.state is StepState.VERIFIED


def _unconfirmed(view: RolloutView) -> list[StepView]:
    return [step for step in view.steps if step.state is StepState.RESTORE_PENDING]


def _least_tried(steps: Iterable[StepView]) -> list[StepView]:
    return sorted(steps, key=lambda step: (step.attempts, bool(step.error), -step.position))


def _end(view: RolloutView) -> RolloutState:
    touched = [step for step in view.steps if step.is_touched or (step.state in _TOUCHED and not step.is_as_found)]
    if not touched:
        return RolloutState.CANCELLED if view.is_cancel_requested else RolloutState.FAILED
    is_restored = all(step.state is StepState.RESTORED for step in touched)
    return RolloutState.ROLLED_BACK if is_restored else RolloutState.FAILED
