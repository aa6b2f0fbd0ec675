"""How far a run is: its data, its warm-up, its measurement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

WARMS_UP = "warms up"


@dataclass(frozen=True)
class Step:
    """weight: how much room it takes beside the others. share: of it done, 0..1; None: nobody knows how long."""

    name: str
    weight: float
    share: float | None


def steps(
    *, state: str, phase: str, duration_s: int, warm_up_s: int, measured_s: float | None, has_begun: bool
) -> list[Step]:
    """Those of a run that has not ended. has_begun: its measurement has."""
    is_warming = state == "preparing" and phase == WARMS_UP
    is_past_data = has_begun or is_warming
    data = Step("data", 0.12 * (duration_s + warm_up_s), 1.0 if is_past_data else None if state == "preparing" else 0.0)
    warm_up = Step("warm-up", warm_up_s, 1.0 if has_begun else None if is_warming else 0.0)
    measured = min(1.0, (measured_s or 0.0) / duration_s)
    return [data, *([warm_up] if warm_up_s else []), Step("measurement", duration_s, measured)]


def ends_at(*, measured_at: datetime | None, duration_s: int) -> datetime | None:
    """When its measurement will end; None before it began, as nobody knows how long its data takes."""
    return None if measured_at is None else measured_at + timedelta(seconds=duration_s)
