"""What a rolling restart does next; what proves a restart; what is said before."""

import pytest

from apps.clusters.domain.restart_risk import PgpoolSeen, assess
from apps.clusters.domain.rolling_restart import (
    CHECKS,
    ORDERS,
    Enter,
    Generation,
    GiveUp,
    Look,
    Nothing,
    OrderAgain,
    Prepare,
    ReadBack,
    RestartAction,
    RestartState,
    RestartStepState,
    RestartStepView,
    RestartView,
    in_turn,
    next_action,
    was_restarted,
)

S = RestartStepState


def view(*states: RestartStepState, is_cancel_requested: bool = False, **of_last: object) -> RestartView:
    """of_last: of the last step that is not pending, or of the first one."""
    at = max((position for position, state in enumerate(states) if state != S.PENDING), default=0)
    steps = tuple(
        RestartStepView(position, state, **(of_last if position == at else {}))  # type: ignore[arg-type]
        for position, state in enumerate(states)
    )
    return RestartView(steps, is_cancel_requested=is_cancel_requested)


@pytest.mark.parametrize(
    ("restart", "expected"),
    [
        (view(S.PENDING, S.PENDING), Prepare(0)),
        (view(S.PENDING, S.PENDING, attempts=CHECKS), GiveUp(0)),
        (view(S.ORDERED, S.PENDING), Look(0)),
        (view(S.ORDERED, S.PENDING, is_overdue=True, attempts=1), OrderAgain(0)),
        (view(S.ORDERED, S.PENDING, is_overdue=True, attempts=ORDERS), GiveUp(0)),
        (view(S.ORDERED, S.PENDING, is_overdue=True, attempts=1, has_ended=True), GiveUp(0)),
        (view(S.ORDERED, S.PENDING, is_overdue=True, attempts=1, is_by_hand=True), GiveUp(0)),
        (view(S.ORDERED, S.PENDING, is_overdue=True, attempts=1, is_cancel_requested=True), GiveUp(0)),
        (view(S.RESTARTED, S.PENDING), ReadBack(0)),
        (view(S.RESTARTED, S.PENDING, is_overdue=True), GiveUp(0)),
        (view(S.DONE, S.PENDING), Prepare(1)),
        (view(S.DONE, S.PENDING, is_cancel_requested=True), Enter(RestartState.CANCELLED)),
        # What is under way is brought to its end.
        (view(S.RESTARTED, S.PENDING, is_cancel_requested=True), ReadBack(0)),
        (view(S.DONE, S.FAILED, S.PENDING), Enter(RestartState.FAILED)),
        (view(S.DONE, S.DONE), Enter(RestartState.DONE)),
        (RestartView((), RestartState.CANCELLED), Nothing()),
    ],
)
def test_one_pgpool_after_the_other_and_none_after_a_failure(restart: RestartView, expected: RestartAction) -> None:
    assert next_action(restart) == expected


BEFORE = Generation(frozenset({"1 a", "2 a"}), "17:10:00")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (Generation(frozenset({"3 b", "4 b"}), "17:11:00"), True),
        (Generation(frozenset({"3 b", "2 a"}), "17:11:00"), False),  # a child of before still serves
        (Generation(frozenset({"3 b", "4 b"}), "17:10:00"), False),  # all were replaced, as at a failover
        (Generation(frozenset({"3 b", "4 b"})), True),  # a version that does not tell since when it counts
    ],
)
def test_a_restart_is_another_run_and_not_only_other_children(now: Generation, expected: bool) -> None:
    assert was_restarted(BEFORE, now) is expected
    assert Generation.of(BEFORE.as_json()) == BEFORE


def test_the_leader_of_the_watchdog_goes_last() -> None:
    assert in_turn(["c", "a", "b"], leader="a") == ("b", "c", "a")
    assert in_turn(["c", "a"], leader=None) == ("a", "c")


def test_what_it_costs_is_said_before() -> None:
    seen = [
        PgpoolSeen("pgpool-1", clients=1, is_leader=True, virtual_ip="10.0.0.9"),
        PgpoolSeen("pgpool-2", clients=0, by_hand="no restart command is chosen", wait_h=5),
        PgpoolSeen("pgpool-3", clients=9),
    ]

    found = assess({"pgpool-1", "pgpool-2"}, seen)

    assert (found.refusals, found.order) == ((), ("pgpool-2", "pgpool-1"))
    said = " ".join(found.risks)
    assert "Restarting pgpool-1 cuts its 1 client session." in said
    assert "No client is connected to pgpool-2 just now." in said
    assert "pgpool-1 leads the watchdog: its turn is last, and the virtual IP 10.0.0.9 moves then." in said
    assert "pgpool-2 is restarted by hand: no restart command is chosen." in said
    assert "waits up to 5 h" in said
    assert "pgpool-3" not in said
    assert "No other pgpool serves this cluster" in " ".join(assess({"x"}, [PgpoolSeen("x")]).risks)


@pytest.mark.parametrize("wanted", ["pgpool-1", "pgpool-2"])
def test_nothing_is_restarted_while_a_pgpool_is_away(wanted: str) -> None:
    found = assess({wanted}, [PgpoolSeen("pgpool-1"), PgpoolSeen("pgpool-2", trouble="connection refused")])

    assert len(found.refusals) == 1
    assert found.refusals[0].startswith("pgpool-2 does not answer")
