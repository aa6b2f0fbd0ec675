"""How a rollout goes about its pgpools, as pages and REST tell it."""

from typing import TypedDict

from apps.clusters.domain.rollout_waves import Plan, Strategy


class GuardsAnswer(TypedDict):
    """What is watched during a hold; null or false is off."""

    replay_lag_s: float | None
    error_factor: float | None
    latency_factor: float | None
    lost: bool
    shares: bool


class PlanAnswer(TypedDict):
    """strategy: one_by_one, canary or all_at_once. rest: how the others follow a canary. hold_s: between waves."""

    strategy: str
    canary: str
    rest: str
    hold_s: int
    guards: GuardsAnswer


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
        },
    }


def plan_text(plan: Plan) -> str:
    """In a sentence: pgpool-2 first; after 5 min the others at once."""
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
