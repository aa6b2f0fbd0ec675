"""What a rollout does next, from every state of its rows."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.clusters.domain.rollout_plan import (
    ATTEMPTS,
    Action,
    CheckBase,
    ConfirmRestored,
    Finish,
    Hold,
    Reload,
    Restore,
    RolloutState,
    RolloutView,
    StepAction,
    StepState,
    StepView,
    Verify,
    Wait,
    Write,
    after_failure,
    after_success,
    is_halting,
    next_actions,
)

TERMINAL = {RolloutState.VERIFIED, RolloutState.FAILED, RolloutState.ROLLED_BACK, RolloutState.CANCELLED}


def next_action(view: RolloutView) -> Action:
    return next_actions(view)[0]


def step(position: int, state: StepState = StepState.PENDING, **facts: object) -> StepView:
    touched = state not in {StepState.PENDING, StepState.FAILED, StepState.SKIPPED}
    view = StepView(position, f"pgpool-{position}", state, is_touched=touched, is_base_checked=touched)
    return replace(view, **facts)  # type: ignore[arg-type]  # facts are fields of StepView


def rollout(*steps: StepView, state: RolloutState = RolloutState.RUNNING, **facts: bool) -> RolloutView:
    return RolloutView(state, facts.pop("is_rollback", False), steps, **facts)


CHECKED = [step(position, is_base_checked=True) for position in (1, 2, 3)]
VERIFIED = [step(position, StepState.VERIFIED) for position in (1, 2, 3)]


def test_every_base_is_checked_before_the_first_write() -> None:
    assert next_action(rollout(CHECKED[0], CHECKED[1], step(3))) == CheckBase(step(3))
    assert next_action(rollout(*CHECKED)) == Write(CHECKED[0])


@pytest.mark.parametrize(
    ("first", "action"),
    [
        (replace(CHECKED[0], is_touched=True), Write),  # a worker died between the write and its row
        (step(1, StepState.WRITTEN), Reload),
        (step(1, StepState.RELOADED), Verify),
    ],
)
def test_an_instance_that_was_begun_is_finished_first(first: StepView, action: type[StepAction]) -> None:
    assert next_action(rollout(first, CHECKED[1], CHECKED[2])) == action(first)


def test_the_next_instance_waits_until_the_one_before_is_verified() -> None:
    assert next_action(rollout(VERIFIED[0], CHECKED[1], CHECKED[2])) == Write(CHECKED[1])
    assert next_action(rollout(*VERIFIED)) == Finish(RolloutState.VERIFIED)


def test_one_that_fails_halts_and_the_newest_change_goes_back_first() -> None:
    failed = step(2, StepState.FAILED, is_touched=True)

    assert next_action(rollout(VERIFIED[0], failed, CHECKED[2])) == Restore(failed)

    restored = step(2, StepState.RESTORED)
    view = rollout(VERIFIED[0], restored, CHECKED[2], is_halting=True)

    assert next_action(view) == Restore(VERIFIED[0])


def test_what_is_restored_must_be_confirmed() -> None:
    pending = step(1, StepState.RESTORE_PENDING)

    assert next_action(rollout(pending, step(2, StepState.RESTORED), is_halting=True)) == ConfirmRestored(pending)


def test_all_touched_instances_on_their_old_file_are_a_rollout_rolled_back() -> None:
    view = rollout(step(1, StepState.RESTORED), step(2, StepState.FAILED), step(3))

    assert next_action(view) == Finish(RolloutState.ROLLED_BACK)


def test_a_frozen_pgpool_leaves_its_restoring_pending_and_the_rollout_failed() -> None:
    frozen = step(2, StepState.RESTORE_PENDING, attempts=ATTEMPTS[ConfirmRestored])
    halting = rollout(step(1, StepState.RESTORED), frozen, is_halting=True)

    assert next_action(halting) == Finish(RolloutState.FAILED)


def test_a_pgpool_that_wakes_up_later_is_confirmed_later() -> None:
    frozen = step(2, StepState.RESTORE_PENDING, attempts=40)
    failed = rollout(step(1, StepState.RESTORED), frozen, state=RolloutState.FAILED, is_halting=True)

    assert next_action(failed) == ConfirmRestored(frozen)

    confirmed = after_success(ConfirmRestored(frozen))

    assert next_action(replace(failed, steps=(failed.steps[0], confirmed))) == Finish(RolloutState.ROLLED_BACK)


def test_a_base_that_changed_fails_without_touching_anything() -> None:
    failed = after_failure(CheckBase(step(2)), "the file was changed", is_final=True)

    assert failed.state is StepState.FAILED
    assert next_action(rollout(CHECKED[0], failed, CHECKED[2])) == Finish(RolloutState.FAILED)


def test_cancelling_before_anything_is_touched_is_cancelled() -> None:
    view = rollout(*CHECKED, state=RolloutState.PENDING, is_cancel_requested=True)

    assert next_action(view) == Finish(RolloutState.CANCELLED)


def test_cancelling_later_restores_what_was_touched() -> None:
    reloaded = step(1, StepState.RELOADED)

    assert next_action(rollout(reloaded, CHECKED[1], is_cancel_requested=True)) == Restore(reloaded)


def test_tries_of_the_way_there_do_not_use_up_those_of_the_way_back() -> None:
    reloaded = step(1, StepState.RELOADED, attempts=ATTEMPTS[Verify] - 1)
    view = rollout(reloaded, CHECKED[1], is_cancel_requested=True)

    assert next_action(view) == Restore(reloaded)

    failed = after_failure(Restore(reloaded), "disk full")

    assert (failed.state, failed.attempts) == (StepState.FAILED, 1)
    assert next_action(replace(view, steps=(failed, CHECKED[1]))) == Restore(failed)


def test_an_old_file_that_cannot_be_put_back_leaves_the_rollout_failed() -> None:
    stuck = step(1, StepState.FAILED, is_touched=True, attempts=ATTEMPTS[Restore])

    assert next_action(rollout(stuck, CHECKED[1])) == Finish(RolloutState.FAILED)


def test_cancelling_after_the_last_one_is_too_late() -> None:
    assert next_action(rollout(*VERIFIED, is_cancel_requested=True)) == Finish(RolloutState.VERIFIED)


def test_it_ends_verified_where_one_has_it_and_the_others_owe_it() -> None:
    assert next_action(rollout(step(1, StepState.VERIFIED), step(2, StepState.OWED))) == Finish(RolloutState.VERIFIED)


def test_it_fails_where_everybody_would_owe_it() -> None:
    owing = [step(number, StepState.OWED, is_touched=False) for number in (1, 2)]

    assert next_action(rollout(*owing)) == Finish(RolloutState.FAILED)


def test_one_that_falls_silent_gets_its_old_file_back_before_the_next_is_begun() -> None:
    silent = step(2, StepState.ABSENT, is_touched=True)

    action = next_action(rollout(step(1, StepState.VERIFIED), silent, step(3, is_base_checked=True)))

    assert action == Restore(silent)
    assert after_success(action).state is StepState.OWED


def test_one_that_is_silent_with_the_new_file_halts_it_until_another_has_verified_the_file() -> None:
    silent = step(1, StepState.OWED, is_touched=True)

    assert is_halting(rollout(silent, step(2)))
    assert not is_halting(rollout(silent, step(2, StepState.VERIFIED)))
    assert next_action(rollout(silent, step(2))) == Restore(silent)


@pytest.mark.parametrize(
    ("is_touched", "facts", "state"),
    [
        (False, {"is_absent": True}, StepState.OWED),
        (True, {"is_absent": True}, StepState.ABSENT),
        (True, {"is_absent": True, "keeps_file": True}, StepState.OWED),  # in a rollback
        (True, {}, StepState.FAILED),  # it answers, and refuses
    ],
)
def test_one_that_is_given_up_owes_it_only_if_nobody_answers(
    is_touched: bool, facts: dict[str, bool], state: StepState
) -> None:
    one = step(1, StepState.PENDING, is_touched=is_touched)

    assert after_failure(Write(one), "gone", is_final=True, **facts).state is state


def test_an_old_file_that_cannot_be_put_back_is_owed_about_as_well() -> None:
    one = step(1, StepState.ABSENT, is_touched=True)
    for _ in range(ATTEMPTS[Restore]):
        assert one.state is StepState.ABSENT
        one = after_failure(Restore(one), "no host")

    assert one.state is StepState.OWED


def test_a_rollback_goes_on_past_an_instance_that_fails() -> None:
    failed = step(1, StepState.FAILED, is_touched=True)

    assert next_action(rollout(failed, CHECKED[1], CHECKED[2], is_rollback=True)) == Write(CHECKED[1])
    assert next_action(rollout(failed, VERIFIED[1], VERIFIED[2], is_rollback=True)) == Finish(RolloutState.FAILED)


def test_a_paused_rollout_waits_but_still_restores() -> None:
    assert next_action(rollout(*CHECKED, state=RolloutState.PAUSED)) == Wait()

    failed = step(1, StepState.FAILED, is_touched=True)

    assert next_action(rollout(failed, CHECKED[1], state=RolloutState.PAUSED)) == Restore(failed)


@pytest.mark.parametrize("state", sorted(TERMINAL - {RolloutState.FAILED}))
def test_an_ended_rollout_waits(state: RolloutState) -> None:
    assert next_action(rollout(*CHECKED, state=state)) == Wait()


def test_a_try_that_fails_is_repeated_until_its_limit() -> None:
    current = step(1, StepState.RELOADED)
    for _ in range(ATTEMPTS[Verify] - 1):
        current = after_failure(Verify(current), "still the old weights")
        assert current.state is StepState.RELOADED

    given_up = after_failure(Verify(current), "still the old weights")

    assert given_up.state is StepState.FAILED
    assert given_up.attempts == 0
    assert given_up.error == "still the old weights"


def test_a_pgpool_that_does_not_answer_is_asked_about_its_old_file_again_only_after_the_end() -> None:
    pending = step(2, StepState.RESTORE_PENDING, is_touched=True)
    restored = step(1, StepState.RESTORED, is_touched=True)

    silent = after_failure(ConfirmRestored(pending), "no answer", is_final=True)
    ended = rollout(restored, silent, is_halting=True)

    assert silent.state is StepState.RESTORE_PENDING
    assert next_action(ended) == Finish(RolloutState.FAILED)
    assert next_action(replace(ended, state=RolloutState.FAILED)) == ConfirmRestored(silent)


def test_the_pgpool_that_failed_holds_up_the_way_back_of_no_other() -> None:
    failed = replace(step(2, StepState.FAILED, is_touched=True), error="no answer")

    assert next_action(rollout(VERIFIED[0], failed)) == Restore(VERIFIED[0])


class World:
    """Carries actions out as a worker would, with outcomes that the test chooses."""

    def __init__(self, view: RolloutView, outcomes: list[str]) -> None:
        self.view, self.outcomes = view, outcomes
        self.files = {step.position for step in view.steps if step.is_touched and step.state is not StepState.RESTORED}

    def run(self) -> Action:
        for _ in range(400):
            action = next_action(self.view)
            if isinstance(action, Wait | Hold | Finish):
                return action
            self._carry_out(action)
            in_flight = [step for step in self.view.steps if step.state in {StepState.WRITTEN, StepState.RELOADED}]
            assert len(in_flight) <= 1
        raise AssertionError("the plan does not end")

    def _carry_out(self, action: StepAction) -> None:
        outcome = self.outcomes.pop() if self.outcomes else "done"
        begun = replace(action.step, is_touched=action.step.is_touched or isinstance(action, Write))
        if isinstance(action, Write):
            assert not [step for step in self.view.steps if step.state is StepState.FAILED] or self.view.is_rollback
        if outcome == "done":
            changed = after_success(action)
        elif outcome == "killed":  # the side effect may have happened, the row only knows that a try began
            changed = after_failure(replace_step(action, begun), "interrupted")
        else:
            changed = after_failure(replace_step(action, begun), "refused", is_final=outcome == "final")
        self._note_file(action, outcome)
        steps = tuple(changed if step.position == changed.position else step for step in self.view.steps)
        self.view = replace(self.view, steps=steps, state=RolloutState.RUNNING)

    def _note_file(self, action: StepAction, outcome: str) -> None:
        if isinstance(action, Write) and outcome in {"done", "killed"}:
            self.files.add(action.step.position)
        if isinstance(action, Restore) and outcome == "done":
            self.files.discard(action.step.position)


def replace_step(action: StepAction, changed: StepView) -> StepAction:
    return type(action)(changed)


OUTCOMES = st.lists(st.sampled_from(["done", "done", "done", "failed", "killed", "final"]), max_size=60)


@given(OUTCOMES, st.integers(1, 4), st.booleans(), st.booleans())
def test_a_rollout_ends_in_the_state_that_its_files_are_in(
    outcomes: list[str], instances: int, is_rollback: bool, is_cancel_requested: bool
) -> None:
    steps = tuple(step(position) for position in range(1, instances + 1))
    view = RolloutView(RolloutState.PENDING, is_rollback, steps, is_cancel_requested=is_cancel_requested)
    world = World(view, outcomes)

    end = world.run()

    assert isinstance(end, Finish)
    if end.state is RolloutState.VERIFIED:
        assert world.files == {one.position for one in steps}
    if end.state in {RolloutState.CANCELLED, RolloutState.ROLLED_BACK}:
        assert not world.files


@given(
    OUTCOMES,
    st.lists(
        st.tuples(st.sampled_from(StepState), st.integers(0, 20), st.booleans(), st.booleans()), min_size=1, max_size=4
    ),
    st.sampled_from(RolloutState),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_the_plan_ends_from_any_rows_whatsoever(
    outcomes: list[str],
    rows: list[tuple[StepState, int, bool, bool]],
    state: RolloutState,
    flags: tuple[bool, bool, bool],
) -> None:
    steps = [
        StepView(position, f"pgpool-{position}", one, attempts, "", is_touched, is_checked)
        for position, (one, attempts, is_touched, is_checked) in enumerate(rows, 1)
    ]
    in_flight = [one for one in steps if one.state in {StepState.WRITTEN, StepState.RELOADED}]
    steps = [replace(one, state=StepState.VERIFIED) if one in in_flight[1:] else one for one in steps]
    view = RolloutView(state, flags[0], tuple(steps), is_halting=flags[1], is_cancel_requested=flags[2])

    action = next_action(view)
    for _ in range(400):
        if isinstance(action, Wait | Hold | Finish):
            return
        outcome = outcomes.pop() if outcomes else "done"
        changed = (
            after_success(action) if outcome == "done" else after_failure(action, "x", is_final=outcome == "final")
        )
        view = replace(view, steps=tuple(changed if one.position == changed.position else one for one in view.steps))
        action = next_action(view)
    raise AssertionError("the plan does not end")


def adopting(state: StepState, **facts: object) -> StepView:
    return replace(step(2, state), is_touched=False, is_base_checked=True, is_as_found=True, **facts)  # type: ignore[arg-type]


ADOPTED = replace(VERIFIED[0], is_as_found=True)


@pytest.mark.parametrize("state", [StepState.WRITTEN, StepState.RELOADED])
def test_an_edit_that_is_adopted_is_never_put_back(state: StepState) -> None:
    cancelled = {"is_cancel_requested": True, "is_rollback": True}

    assert next_action(rollout(adopting(state), **cancelled)) == Finish(RolloutState.CANCELLED)
    assert next_action(rollout(ADOPTED, adopting(state), **cancelled)) == Finish(RolloutState.FAILED)
    assert next_action(rollout(ADOPTED, adopting(state), is_halting=True, is_rollback=True)) == Finish(
        RolloutState.FAILED
    )


def test_an_adoption_goes_on_past_one_that_fails_and_ends_failed() -> None:
    failed, pending = adopting(StepState.FAILED), replace(CHECKED[2], is_as_found=True)

    assert next_action(rollout(failed, pending, is_rollback=True)) == Write(pending)
    assert next_action(rollout(failed, ADOPTED, is_rollback=True)) == Finish(RolloutState.FAILED)


def test_an_edit_that_is_adopted_counts_as_touched_once_it_is_verified() -> None:
    pending = replace(CHECKED[0], is_as_found=True)

    written = after_success(Write(pending))
    assert not written.is_touched
    assert not after_success(Reload(written)).is_touched
    assert after_success(Verify(after_success(Reload(written)))).is_touched
