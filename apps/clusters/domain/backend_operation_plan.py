"""What an attach, detach or drain of a backend does next, decided from its rows alone.

A drain takes the weight away by an ordinary rollout, waits until the sessions of before are gone, and detaches then.
Attach and detach begin with the last part. One pgpool comes after the other; one that fails does not stop the rest.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

# Tries of one pgpool, each some seconds long when nobody answers.
ATTEMPTS = 3


class OperationState(StrEnum):
    WEIGHING = "weighing"  # a rollout takes its weight to 0
    WAITING = "waiting"  # for the sessions that may still read there
    ASKING = "asking"  # they did not end in time: go on anyway, or stop
    ACTING = "acting"  # attaching or detaching, pgpool after pgpool
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class NodeStepState(StrEnum):
    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


class WeightsStand(StrEnum):
    """What became of the rollout that takes the weight away."""

    UNDER_WAY = "under_way"
    VERIFIED = "verified"
    ENDED_OTHERWISE = "ended_otherwise"


@dataclass(frozen=True, slots=True)
class NodeStepView:
    """One pgpool. sessions_left: of those that were there when the weight was gone; None while that is not known."""

    position: int
    state: NodeStepState
    attempts: int = 0
    sessions_left: int | None = None


@dataclass(frozen=True, slots=True)
class OperationView:
    state: OperationState
    steps: tuple[NodeStepView, ...]
    weights: WeightsStand = WeightsStand.VERIFIED
    is_go_on: bool = False  # somebody said that remaining sessions may be cut
    is_overdue: bool = False
    is_cancelled: bool = False  # somebody wants the weights back
    is_checked: bool = False  # nothing stood in the way when the acting began


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until something else moves."""


@dataclass(frozen=True, slots=True)
class CountSessions:
    """Ask every pgpool who is still there, and look again later."""


@dataclass(frozen=True, slots=True)
class Enter:
    """Go into this state."""

    state: OperationState


@dataclass(frozen=True, slots=True)
class Check:
    """Ask every server once more whether it may be done: hours may have passed since it was asked for."""


@dataclass(frozen=True, slots=True)
class Act:
    """Attach or detach at one pgpool."""

    position: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Count one pgpool as failed: its tries are used up."""

    position: int


@dataclass(frozen=True, slots=True)
class GiveBack:
    """End a cancelled drain: its rollout is over, and may have taken the weight away all the same."""


NextAction: TypeAlias = GiveBack | Wait | CountSessions | Enter | Check | Act | GiveUp


def next_action(operation: OperationView) -> NextAction:
    match operation.state:
        case OperationState.WEIGHING:
            return _weighing(operation)
        case OperationState.WAITING | OperationState.ASKING:
            return _waiting(operation)
        case OperationState.ACTING:
            return _acting(operation)
    return Wait()


def _weighing(operation: OperationView) -> NextAction:
    if operation.is_cancelled and operation.weights != WeightsStand.UNDER_WAY:
        return GiveBack()
    match operation.weights:
        case WeightsStand.UNDER_WAY:
            return Wait()
        case WeightsStand.VERIFIED:
            return Enter(OperationState.WAITING)
    return Enter(OperationState.FAILED)


def _waiting(operation: OperationView) -> NextAction:
    is_empty = all(step.sessions_left == 0 for step in operation.steps)
    if is_empty or operation.is_go_on:
        return Enter(OperationState.ACTING)
    if operation.is_overdue and operation.state == OperationState.WAITING:
        return Enter(OperationState.ASKING)
    return CountSessions()


def _acting(operation: OperationView) -> NextAction:
    if not operation.is_checked:
        return Check()
    for step in operation.steps:
        if step.state == NodeStepState.PENDING:
            return GiveUp(step.position) if step.attempts >= ATTEMPTS else Act(step.position)
    if any(step.state == NodeStepState.FAILED for step in operation.steps):
        return Enter(OperationState.FAILED)
    return Enter(OperationState.DONE)
