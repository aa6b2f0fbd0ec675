"""What an attach, detach or drain does next, case by case."""

import pytest

from apps.clusters.domain.backend_operation_plan import (
    ATTEMPTS,
    Act,
    Check,
    CountSessions,
    Enter,
    GiveBack,
    GiveUp,
    NextAction,
    NodeStepState,
    NodeStepView,
    OperationState,
    OperationView,
    Wait,
    WeightsStand,
    next_action,
)

State = OperationState


def steps(*states: str, attempts: int = 0, left: tuple[int | None, ...] = ()) -> tuple[NodeStepView, ...]:
    counts = left or (None,) * len(states)
    return tuple(
        NodeStepView(position, NodeStepState(state), attempts if state == "pending" else 0, counts[position])
        for position, state in enumerate(states)
    )


WAITING = steps("pending", "pending", left=(2, 0))
SILENT = steps("pending", "pending", left=(None, 0))
GONE = steps("pending", "pending", left=(0, 0))


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (OperationView(State.WEIGHING, WAITING, WeightsStand.UNDER_WAY), Wait()),
        (OperationView(State.WEIGHING, WAITING, WeightsStand.VERIFIED), Enter(State.WAITING)),
        (OperationView(State.WEIGHING, WAITING, WeightsStand.ENDED_OTHERWISE), Enter(State.FAILED)),
        (OperationView(State.WEIGHING, WAITING, WeightsStand.UNDER_WAY, is_cancelled=True), Wait()),
        (OperationView(State.WEIGHING, WAITING, WeightsStand.VERIFIED, is_cancelled=True), GiveBack()),
        (OperationView(State.WEIGHING, WAITING, WeightsStand.ENDED_OTHERWISE, is_cancelled=True), GiveBack()),
        (OperationView(State.WAITING, WAITING), CountSessions()),
        (OperationView(State.WAITING, SILENT), CountSessions()),  # not known is not none
        (OperationView(State.WAITING, GONE), Enter(State.ACTING)),
        (OperationView(State.WAITING, GONE, is_overdue=True), Enter(State.ACTING)),
        (OperationView(State.WAITING, WAITING, is_overdue=True), Enter(State.ASKING)),
        (OperationView(State.WAITING, WAITING, is_go_on=True), Enter(State.ACTING)),
        (OperationView(State.ASKING, WAITING, is_overdue=True), CountSessions()),  # they may end after all
        (OperationView(State.ASKING, GONE, is_overdue=True), Enter(State.ACTING)),
        (OperationView(State.ASKING, WAITING, is_overdue=True, is_go_on=True), Enter(State.ACTING)),
        (OperationView(State.ACTING, steps("pending", "pending")), Check()),
        (OperationView(State.ACTING, steps("pending", "pending"), is_checked=True), Act(0)),
        (OperationView(State.ACTING, steps("done", "pending"), is_checked=True), Act(1)),
        (OperationView(State.ACTING, steps("failed", "pending"), is_checked=True), Act(1)),
        (OperationView(State.ACTING, steps("pending", attempts=ATTEMPTS - 1), is_checked=True), Act(0)),
        (OperationView(State.ACTING, steps("pending", "pending", attempts=ATTEMPTS), is_checked=True), GiveUp(0)),
        (OperationView(State.ACTING, steps("done", "done"), is_checked=True), Enter(State.DONE)),
        (OperationView(State.ACTING, steps("failed", "done"), is_checked=True), Enter(State.FAILED)),
        (OperationView(State.DONE, steps("done")), Wait()),
        (OperationView(State.FAILED, steps("failed")), Wait()),
        (OperationView(State.CANCELLED, steps("pending")), Wait()),
    ],
)
def test_rows_decide_what_is_next(operation: OperationView, expected: NextAction) -> None:
    assert next_action(operation) == expected
