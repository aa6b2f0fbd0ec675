"""Plans and guards as filled in: what is left out is usual, what is emptied is off, what is wrong is marked."""

import pytest

from apps.clusters.domain.guards import Guards
from apps.clusters.domain.rollout_waves import parse_plan
from apps.clusters.forms.rollout_plans import PlanForm

NAMES = ["pgpool-1", "pgpool-2"]
USUAL = {
    "plan_strategy": "canary", "plan_hold_s": "60", "plan_replay_lag_s": "60", "plan_error_factor": "3",
    "plan_latency_factor": "5", "plan_lost": "on", "plan_shares": "on", "plan_aborted": "3",
}  # fmt: skip


def plan_form(**given: str) -> PlanForm:
    return PlanForm({**USUAL, **given}, instance_names=NAMES)


def test_guards_are_the_usual_ones_until_somebody_sets_them() -> None:
    assert parse_plan(plan_form().plan, NAMES).guards == Guards()
    assert parse_plan(PlanForm({"plan_strategy": "one_by_one"}, instance_names=NAMES).plan, NAMES).guards == Guards()
    assert PlanForm({}, instance_names=NAMES).plan is None
    assert not plan_form().is_guards_unfolded

    chosen = plan_form(plan_replay_lag_s="7,5", plan_error_factor="", plan_shares="", plan_aborted="")

    wanted = Guards(replay_lag_s=7.5, error_factor=None, shares=False, aborted=None)
    assert parse_plan(chosen.plan, NAMES).guards == wanted
    assert chosen.is_guards_unfolded


def test_a_limit_that_a_page_from_before_did_not_ask_for_stays_as_usual() -> None:
    given = {name: value for name, value in USUAL.items() if name != "plan_aborted"}

    assert parse_plan(PlanForm(given, instance_names=NAMES).plan, NAMES).guards == Guards()


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("plan_replay_lag_s", "soon", "a number above 0, at most 86400, or empty for off"),
        ("plan_replay_lag_s", "0", "a number above 0"),
        ("plan_replay_lag_s", "nan", "a number above 0"),
        ("plan_error_factor", "-2", "a number above 0"),
        ("plan_latency_factor", "1e9", "at most 1e+06"),
        ("plan_aborted", "many", "a number above 0, at most 1e+06, or empty for off"),
        ("plan_hold_s", "1.5", "a whole number of seconds"),
        ("plan_canary", "pgpool-9", "pgpool-9"),
        ("plan_strategy", "backwards", "backwards"),
    ],
)
def test_what_is_wrong_is_told_at_its_field(field: str, value: str, words: str) -> None:
    refused = plan_form(**{field: value})

    assert refused.is_refused
    assert list(refused.errors) == [field]
    assert words in str(refused.errors[field])
    assert refused.is_unfolded


def test_the_last_ones_are_watched_where_there_is_time_to_watch() -> None:
    assert plan_form().plan.get("hold_last") is None  # type: ignore[union-attr]  # it was sent, and is right
    held = plan_form(plan_hold_last="on", plan_strategy="all_at_once")
    assert parse_plan(held.plan, NAMES).hold_last
    unheld = plan_form(plan_hold_last="on", plan_hold_s="0")
    assert not unheld.is_refused
    assert not parse_plan(unheld.plan, NAMES).hold_last


def test_what_the_order_does_not_use_is_left_out() -> None:
    plan = plan_form(plan_strategy="all_at_once", plan_hold_s="300", plan_canary="pgpool-2").plan

    assert plan is not None
    assert plan.keys() == {"strategy", "guards"}
