"""Which instances are written together, and which plans are none."""

import json

import pytest

from apps.clusters.domain.guards import Guards
from apps.clusters.domain.rollout_plan import Finish, Hold, RolloutState, RolloutView, StepState, StepView, next_actions
from apps.clusters.domain.rollout_waves import (
    Absent,
    OnReturn,
    Plan,
    PlanError,
    Strategy,
    parse_plan,
    plan_as_json,
    stored_plan,
    waves,
)

NAMES = ["pgpool-1", "pgpool-2", "pgpool-3"]


@pytest.mark.parametrize(
    ("plan", "found"),
    [
        (Plan(), [(0,), (1,), (2,)]),
        (Plan(Strategy.ALL_AT_ONCE), [(0, 1, 2)]),
        (Plan(Strategy.CANARY), [(0,), (1, 2)]),
        (Plan(Strategy.CANARY, rest=Strategy.ONE_BY_ONE), [(0,), (1,), (2,)]),
    ],
)
def test_which_instances_are_written_together(plan: Plan, found: list[tuple[int, ...]]) -> None:
    assert waves(plan, [2, 0, 1]) == found


def test_one_instance_is_a_canary_without_others() -> None:
    assert waves(Plan(Strategy.CANARY), [0]) == [(0,)]


def verified(*states: StepState) -> tuple[StepView, ...]:
    return tuple(StepView(n, NAMES[n], state, is_base_checked=True) for n, state in enumerate(states))


def test_the_others_follow_a_canary_when_its_hold_is_over() -> None:
    plan = Plan(Strategy.CANARY, hold_s=60)
    steps = verified(StepState.VERIFIED, StepState.PENDING, StepState.PENDING)
    held = RolloutView(RolloutState.RUNNING, False, steps, plan=plan)
    released = RolloutView(RolloutState.RUNNING, False, steps, plan=plan, waves_released=1)

    assert next_actions(held) == (Hold(1),)
    assert [type(action).__name__ for action in next_actions(released)] == ["Write", "Write"]


def test_nothing_is_held_after_the_last_one() -> None:
    view = RolloutView(RolloutState.RUNNING, False, verified(*[StepState.VERIFIED] * 3), plan=Plan(hold_s=60))

    assert next_actions(view) == (Finish(RolloutState.VERIFIED),)


@pytest.mark.parametrize(
    ("raw", "plan"),
    [
        (None, Plan()),
        ({}, Plan()),
        ({"strategy": "all_at_once"}, Plan(Strategy.ALL_AT_ONCE)),
        (
            {"strategy": "canary", "canary": "pgpool-2", "rest": "one_by_one", "hold_s": 86400},
            Plan(Strategy.CANARY, "pgpool-2", Strategy.ONE_BY_ONE, 86400),
        ),
        (
            {"absent": "owe", "on_return": "ask"},
            Plan(absent=Absent.OWE, on_return=OnReturn.ASK),
        ),
        ({"absent": "owe", "on_return": None}, Plan(absent=Absent.OWE)),
        (
            {"strategy": "all_at_once", "hold_s": 5, "hold_last": True},
            Plan(Strategy.ALL_AT_ONCE, hold_s=5, hold_last=True),
        ),
        ({"hold_s": 5, "hold_last": False}, Plan(hold_s=5)),
        (
            {"guards": {"replay_lag_s": 5, "latency_factor": None, "error_factor": False, "shares": False}},
            Plan(guards=Guards(replay_lag_s=5, latency_factor=None, error_factor=None, shares=False)),
        ),
        ({"guards": {"aborted": 10}}, Plan(guards=Guards(aborted=10.0))),
        ({"guards": {"aborted": None}}, Plan(guards=Guards(aborted=None))),
    ],
)
def test_a_plan_is_kept_as_it_was_given(raw: object, plan: Plan) -> None:
    assert parse_plan(raw, NAMES) == plan
    assert stored_plan(json.loads(json.dumps(plan_as_json(plan)))) == plan


def test_a_plan_from_before_did_not_hold_after_the_last_ones() -> None:
    stored = plan_as_json(Plan(hold_s=60, hold_last=True))
    del stored["hold_last"]

    assert stored_plan(stored) == Plan(hold_s=60)


def test_a_plan_from_before_there_was_a_guard_did_not_watch_for_it() -> None:
    stored = plan_as_json(Plan())
    del stored["guards"]["aborted"]

    assert stored_plan(stored).guards == Guards(aborted=None)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("canary", "plan: 'canary' is not an object"),
        ([], "plan: [] is not an object"),
        (
            {"stategy": "canary"},
            "plan: 'stategy' is not a field of a plan; there are strategy, canary, rest, ",
        ),
        ({"\ud800": 1}, r"plan: '\ud800' is not a field of a plan"),
        ({"strategy": "CANARY"}, "plan.strategy: 'CANARY' is not one of one_by_one, canary, all_at_once"),
        ({"strategy": ["canary"]}, "plan.strategy: ['canary'] is not one of"),
        ({"strategy": None}, "plan.strategy: nothing is not one of"),
        ({"rest": "canary"}, "plan.rest: 'canary' is not one of all_at_once, one_by_one"),
        ({"strategy": "canary", "canary": "pgpool-9"}, "plan.canary: 'pgpool-9' is not one of the pgpools pgpool-1, "),
        ({"strategy": "canary", "canary": {}}, "plan.canary: {} is not one of the pgpools"),
        ({"canary": "pgpool-1"}, "plan.canary: 'pgpool-1' is not needed for one_by_one"),
        ({"hold_s": -1}, "plan.hold_s: -1 is not a whole number of seconds between 0 and 86400"),
        ({"hold_s": 86401}, "plan.hold_s: 86401 is not a whole number of seconds"),
        ({"hold_s": True}, "plan.hold_s: True is not a whole number"),
        ({"hold_s": 1.5}, "plan.hold_s: 1.5 is not a whole number"),
        ({"hold_s": float("nan")}, "plan.hold_s: nan is not a whole number"),
        ({"hold_s": 10**4000}, "is not a whole number of seconds"),
        ({"hold_last": 1, "hold_s": 5}, "plan.hold_last: 1 is not true or false"),
        ({"hold_last": True}, "plan.hold_last: True is not of use without hold_s"),
        ({"guards": None}, "plan.guards: nothing is not an object"),
        ({"guards": {"lag": 1}}, "plan.guards: 'lag' is not a guard; there are replay_lag_s, "),
        ({"guards": {"lost": 1}}, "plan.guards.lost: 1 is not true or false"),
        ({"guards": {"replay_lag_s": True}}, "plan.guards.replay_lag_s: True is not a number above 0, at most 86400"),
        ({"guards": {"aborted": True}}, "plan.guards.aborted: True is not a number above 0"),
        ({"guards": {"latency_factor": 0}}, "plan.guards.latency_factor: 0 is not a number above 0"),
        ({"guards": {"error_factor": float("inf")}}, "plan.guards.error_factor: inf is not a number above 0"),
        ({"guards": {"error_factor": 10**4000}}, "is not a number above 0"),
        ({"absent": "skip"}, "plan.absent: 'skip' is not one of refuse, owe"),
        ({"absent": "owe", "on_return": "wait"}, "plan.on_return: 'wait' is not one of give, ask"),
        ({"on_return": "ask"}, "plan.on_return: 'ask' is not of use unless absent is owe"),
        ({"strategy": "all_at_once", "hold_s": 5}, "plan.hold_s: 5 is not possible all at once"),
    ],
)
def test_what_is_no_plan_is_refused_by_its_field(raw: object, words: str) -> None:
    with pytest.raises(PlanError) as refused:
        parse_plan(raw, NAMES)

    assert words in str(refused.value)
