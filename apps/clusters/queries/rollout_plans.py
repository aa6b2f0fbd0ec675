"""How a rollout goes about its pgpools, as pages and REST tell it."""

from collections.abc import Mapping
from typing import TypedDict

from apps.clusters.domain.rollout_waves import OnReturn, Plan, Strategy


class GuardsAnswer(TypedDict):
    """What is watched during a hold; null or false is off."""

    replay_lag_s: float | None
    error_factor: float | None
    latency_factor: float | None
    lost: bool
    shares: bool
    aborted: float | None


class PlanAnswer(TypedDict):
    """strategy: one_by_one, canary or all_at_once. rest: how the others follow a canary. hold_s: between waves.

    absent: refuse or owe, for a pgpool that cannot be reached; on_return: give or ask, for one that owes; null where
    nobody said it: as what it owes already, else give.
    """

    strategy: str
    canary: str
    rest: str
    hold_s: int
    guards: GuardsAnswer
    absent: str
    on_return: str | None


def plan_answer(plan: Plan) -> PlanAnswer:
    return {
        "strategy": plan.strategy.value,
        "canary": plan.canary,
        "rest": plan.rest.value,
        "hold_s": plan.hold_s,
        "guards": {
            "replay_lag_s": plan.guards.replay_lag_s,
            "error_factor": plan.guards.error_factor,
            "latency_factor": plan.guards.latency_factor,
            "lost": plan.guards.lost,
            "shares": plan.guards.shares,
            "aborted": plan.guards.aborted,
        },
        "absent": plan.absent.value,
        "on_return": None if plan.on_return is None else plan.on_return.value,
    }


def plan_text(plan: Plan) -> str:
    """In a sentence or two: pgpool-2 alone first, after 5 min of watching the others at once."""
    if not plan.lets_owe:
        return _order_text(plan)
    return f"{_order_text(plan)} One that cannot be reached owes it, and {_ON_RETURN[plan.on_return]}."


_ON_RETURN: Mapping[OnReturn | None, str] = {
    None: "is given it when it returns, unless it owes one already that asks",
    OnReturn.GIVE: "is given it when it returns",
    OnReturn.ASK: "is asked about when it returns",
}


def _order_text(plan: Plan) -> str:
    if plan.strategy is Strategy.ALL_AT_ONCE:
        return "All pgpools at once."
    if plan.strategy is Strategy.ONE_BY_ONE:
        pause = f", with {_lasting(plan.hold_s)} in between to watch" if plan.hold_s else ""
        return f"One pgpool after the other{pause}."
    first = plan.canary or "The first pgpool"
    rest = "the others at once" if plan.rest is Strategy.ALL_AT_ONCE else "the others one by one"
    after = f"after {_lasting(plan.hold_s)} of watching" if plan.hold_s else "then"
    return f"{first} alone first, {after} {rest}."


def _lasting(seconds: int) -> str:
    return f"{seconds // 60} min" if seconds >= 60 and seconds % 60 == 0 else f"{seconds} s"
