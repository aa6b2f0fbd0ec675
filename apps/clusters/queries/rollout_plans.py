"""How a rollout goes about its pgpools, as pages and REST tell it, and what its guards cannot look at."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from apps.clusters.domain import guard_reach
from apps.clusters.domain.guards import Guards
from apps.clusters.domain.rollout_waves import OnReturn, Plan, Strategy, waves
from apps.clusters.models import Cluster, InstanceLatest, PgpoolInstance


class GuardsAnswer(TypedDict):
    """What is watched during a hold; null or false is off."""

    replay_lag_s: float | None
    error_factor: float | None
    latency_factor: float | None
    lost: bool
    shares: bool
    aborted: float | None


class PlanAnswer(TypedDict):
    """strategy: one_by_one, canary or all_at_once. rest: how the others follow a canary. hold_s: between waves;
    hold_last: and after the last one, before it counts as verified.

    absent: refuse or owe, for a pgpool that cannot be reached; on_return: give or ask, for one that owes; null where
    nobody said it: as what it owes already, else give.
    """

    strategy: str
    canary: str
    rest: str
    hold_s: int
    hold_last: bool
    guards: GuardsAnswer
    absent: str
    on_return: str | None


class GuardLeftOut(TypedDict):
    """A guard that these pgpools can never tell anything for, as their version stands or as far as is measured."""

    guard: str
    instances: list[str]
    reason: str


class GuardsSaid(TypedDict):
    """What no guard looks at. text: all of it in words, empty where the guards look at everything, or are off.

    left_out: what those can tell nothing of that take part; empty without a hold, and once the rollout has ended.
    """

    text: str
    left_out: list[GuardLeftOut]


class PlanSaid(TypedDict):
    """A plan as it was understood."""

    text: str
    guards: GuardsSaid


def plan_answer(plan: Plan) -> PlanAnswer:
    return {
        "strategy": plan.strategy.value,
        "canary": plan.canary,
        "rest": plan.rest.value,
        "hold_s": plan.hold_s,
        "hold_last": plan.hold_last,
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


def plan_said(cluster: Cluster, plan: Plan, instances: Sequence[PgpoolInstance]) -> PlanSaid:
    """For those that would take part."""
    return {"text": plan_text(plan), "guards": guards_said(cluster, plan, instances)}


def guards_said(
    cluster: Cluster, plan: Plan, instances: Sequence[PgpoolInstance], *, is_over: bool = False
) -> GuardsSaid:
    """instances: those that take part."""
    if not plan.guards.is_any_on or is_over:
        return {"text": "", "left_out": []}
    if not plan.hold_s:
        return {"text": "No guard looks: hold_s is 0, so there is no time to watch.", "left_out": []}
    if not plan.hold_last and len(waves(plan, range(len(instances)))) < 2:
        return {"text": "No guard looks: nothing follows the first ones, and hold_last is off.", "left_out": []}
    left_out = left_out_of(cluster, plan.guards, instances)
    texts = ["" if plan.hold_last else "After the last ones no guard looks: hold_last is off."]
    texts += [f"Left out is {one.guard} of {one.text}." for one in left_out]
    return {
        "text": " ".join(filter(None, texts)),
        "left_out": [{"guard": one.guard, "instances": list(one.instances), "reason": one.reason} for one in left_out],
    }


def left_out_of(
    cluster: Cluster, guards: Guards, instances: Iterable[PgpoolInstance]
) -> tuple[guard_reach.LeftOut, ...]:
    """What the guards can tell nothing of at these pgpools, as things stand."""
    known = InstanceLatest.objects.filter(instance__cluster=cluster, draws_per_read__isnull=False)
    measured = set(known.values_list("instance_id", flat=True))
    told = {each.name: guard_reach.Told(each.version, is_measured=each.pk in measured) for each in instances}
    return guard_reach.left_out(guards, told, statement_level=cluster.is_statement_level)


def _order_text(plan: Plan) -> str:
    if not plan.hold_last:
        return _waves_text(plan)
    return f"{_waves_text(plan)} It counts as verified after {_lasting(plan.hold_s)} of watching all of them."


def _waves_text(plan: Plan) -> str:
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
