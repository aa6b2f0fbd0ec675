"""What a rolling restart does next, decided from its rows alone: one pgpool after the other, and never two at once.

A pgpool was restarted when none of its children is left and its statistics began anew. One of both is no proof:
children are replaced one by one all the time, and all at once when a backend fails over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

# Looks at one pgpool and its neighbours before it is told to restart; a busy moment is no reason to halt.
CHECKS = 3
# A worker that was killed leaves it open whether the command was begun. Twice is enough to find out.
ORDERS = 2


class RestartState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RestartStepState(StrEnum):
    PENDING = "pending"
    ORDERED = "ordered"  # told to restart, or somebody was asked to do it
    RESTARTED = "restarted"  # seen to be another one than before
    DONE = "done"  # it serves, and its parameters were read back
    FAILED = "failed"
    SKIPPED = "skipped"  # it was never its turn


@dataclass(frozen=True, slots=True)
class RestartStepView:
    """One pgpool. has_ended: what came of its command is known. is_overdue: what is waited for should be over."""

    position: int
    state: RestartStepState
    is_by_hand: bool = False
    attempts: int = 0
    has_ended: bool = False
    is_overdue: bool = False


@dataclass(frozen=True, slots=True)
class RestartView:
    steps: tuple[RestartStepView, ...]
    state: RestartState = RestartState.RUNNING
    is_cancel_requested: bool = False


@dataclass(frozen=True, slots=True)
class Nothing:
    """It has ended."""


@dataclass(frozen=True, slots=True)
class Enter:
    """Go into this state."""

    state: RestartState


@dataclass(frozen=True, slots=True)
class Prepare:
    """Look whether it may be restarted now, keep what tells it from the one after, and tell it to restart."""

    position: int


@dataclass(frozen=True, slots=True)
class OrderAgain:
    """Nobody knows whether the command was begun, and it is still the same pgpool."""

    position: int


@dataclass(frozen=True, slots=True)
class Look:
    """Is it still the same pgpool, away, or another one?"""

    position: int


@dataclass(frozen=True, slots=True)
class ReadBack:
    """It was restarted: does it serve, and use what its file says?"""

    position: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """What was waited for did not come."""

    position: int


RestartAction: TypeAlias = Nothing | Enter | Prepare | OrderAgain | Look | ReadBack | GiveUp


def next_action(restart: RestartView) -> RestartAction:
    if restart.state != RestartState.RUNNING:
        return Nothing()
    if any(step.state == RestartStepState.FAILED for step in restart.steps):
        return Enter(RestartState.FAILED)
    for step in restart.steps:
        if step.state == RestartStepState.ORDERED:
            return _ordered(step, is_cancelled=restart.is_cancel_requested)
        if step.state == RestartStepState.RESTARTED:
            return GiveUp(step.position) if step.is_overdue else ReadBack(step.position)
        if step.state == RestartStepState.PENDING:
            if restart.is_cancel_requested:
                return Enter(RestartState.CANCELLED)
            return GiveUp(step.position) if step.attempts >= CHECKS else Prepare(step.position)
    return Enter(RestartState.DONE)


def _ordered(step: RestartStepView, *, is_cancelled: bool) -> RestartAction:
    if not step.is_overdue:
        return Look(step.position)
    if step.is_by_hand or step.has_ended or step.attempts >= ORDERS or is_cancelled:
        return GiveUp(step.position)
    return OrderAgain(step.position)


@dataclass(frozen=True, slots=True)
class Generation:
    """One run of a pgpool. children: pid and start time of each; began: since when it counts, "" where not told."""

    children: frozenset[str]
    began: str = ""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Generation":
        return cls(frozenset(stored["children"]), stored["began"])

    def as_json(self) -> dict[str, Any]:
        return {"children": sorted(self.children), "began": self.began}


def was_restarted(before: Generation, now: Generation) -> bool:
    if before.children & now.children:
        return False
    return not (before.began and now.began) or before.began != now.began


def in_turn(names: Sequence[str], *, leader: str | None) -> tuple[str, ...]:
    """By name; the leader of the watchdog last, so that its virtual IP moves once."""
    return tuple(sorted(names, key=lambda name: (name == leader, name)))
