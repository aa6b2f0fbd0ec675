"""The hold after the last instances: before the rollout counts as verified."""

from dataclasses import replace

import pytest

from apps.clusters.domain.rollout_plan import (
    Action,
    Finish,
    Hold,
    Restore,
    RolloutState,
    RolloutView,
    StepState,
    StepView,
    Wait,
    next_actions,
)
from apps.clusters.domain.rollout_waves import Absent, Plan, Strategy

CANARY = Plan(Strategy.CANARY, hold_s=60, hold_last=True)
VERIFIED = tuple(
    StepView(n, f"pgpool-{n}", StepState.VERIFIED, is_touched=True, is_base_checked=True) for n in range(3)
)


def next_action(
    plan: Plan, *, released: int = 0, state: RolloutState = RolloutState.RUNNING, steps: tuple[StepView, ...] = VERIFIED
) -> Action:
    return next_actions(RolloutView(state, False, steps, plan=plan, waves_released=released))[0]


@pytest.mark.parametrize(
    ("plan", "waves"),
    [
        (CANARY, 2),
        (Plan(hold_s=60, hold_last=True), 3),
        (Plan(Strategy.ALL_AT_ONCE, hold_s=60, hold_last=True), 1),
    ],
)
def test_once_all_are_verified_it_holds_and_then_it_ends(plan: Plan, waves: int) -> None:
    assert next_action(plan, released=waves - 1) == Hold(waves, is_last=True)
    assert next_action(plan, released=waves) == Finish(RolloutState.VERIFIED)


def test_a_single_instance_is_held_too() -> None:
    assert next_action(CANARY, steps=VERIFIED[:1]) == Hold(1, is_last=True)


def test_one_that_owes_it_is_not_waited_for() -> None:
    owed = StepView(2, "pgpool-2", StepState.OWED)
    plan = Plan(hold_s=60, hold_last=True, absent=Absent.OWE)

    assert next_action(plan, released=2, steps=(*VERIFIED[:2], owed)) == Hold(3, is_last=True)


@pytest.mark.parametrize("released", [1, 2])
def test_it_is_paused_and_cancelled_during_it_and_after_guards_have_paused_it(released: int) -> None:
    assert next_action(CANARY, released=released, state=RolloutState.PAUSED) == Wait()
    for state in (RolloutState.RUNNING, RolloutState.PAUSED):
        view = RolloutView(state, False, VERIFIED, is_cancel_requested=True, plan=CANARY, waves_released=released)
        assert [type(action) for action in next_actions(view)] == [Restore] * 3


def test_what_its_guards_halt_goes_back() -> None:
    view = RolloutView(RolloutState.RUNNING, False, VERIFIED, is_halting=True, plan=CANARY, waves_released=1)

    assert [type(action) for action in next_actions(view)] == [Restore] * 3


def test_an_adoption_that_is_cancelled_during_it_is_verified_since_nothing_is_put_back() -> None:
    adopted = tuple(replace(one, is_as_found=True) for one in VERIFIED)
    view = RolloutView(RolloutState.RUNNING, True, adopted, is_cancel_requested=True, plan=CANARY, waves_released=1)

    assert next_actions(view) == (Finish(RolloutState.VERIFIED),)
    # Where the edit was gone from one, its file was written, and goes back.
    written = replace(view, steps=(*adopted[:2], VERIFIED[2]))
    assert next_actions(written) == (Restore(VERIFIED[2]),)
