"""How to go about the pgpools, as the form of a change has it."""

from collections.abc import Mapping
from typing import Any

from apps.clusters.domain.rollout_waves import PlanError, Strategy


def plan_of(form: Mapping[str, Any]) -> dict[str, Any] | None:
    """For rollout_waves.parse_plan, without what the strategy does not use; None where the form has no such fields."""
    strategy = str(form.get("plan_strategy", ""))
    if not strategy:
        return None
    plan: dict[str, Any] = {"strategy": strategy}
    if strategy == Strategy.CANARY:
        plan |= {"canary": str(form.get("plan_canary", "")), "rest": str(form.get("plan_rest", Strategy.ALL_AT_ONCE))}
    if strategy != Strategy.ALL_AT_ONCE:
        plan["hold_s"] = _whole(str(form.get("plan_hold_s", "")).strip() or "0")
    return plan


def plan_refusal(error: PlanError) -> str:
    """In a sentence, with the name that the field has on the page."""
    names = {"plan.hold_s": "Seconds to watch", "plan.canary": "First", "plan.rest": "Then", "plan.strategy": "Order"}
    return f"How to roll out, {names.get(error.field, 'its fields')}{str(error).removeprefix(error.field)}."


def _whole(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else text
