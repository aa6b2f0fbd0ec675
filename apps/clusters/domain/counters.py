"""Two samples of a counter turned into an increase: a fall is a restart, a gap stays a gap."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Increase:
    """How much a counter grew between two samples."""

    count: int
    is_restart: bool  # counted from 0: what happened between the earlier sample and the restart is lost


def increase(earlier: int | None, later: int | None) -> Increase | None:
    """None while either sample is unknown, so the first sample has no increase."""
    if earlier is None or later is None:
        return None
    # Pgpool-II's counters restart at 0 with it, so a fall is a restart and not a negative rate.
    if later < earlier:
        return Increase(later, is_restart=True)
    return Increase(later - earlier, is_restart=False)


def increases(earlier: Mapping[Key, int | None], later: Mapping[Key, int | None]) -> dict[Key, Increase | None]:
    """The increases of counters that restart together, as those of one pgpool do.

    One that falls tells that all restarted, even those that have already passed their earlier value again.
    """
    found = {key: increase(earlier.get(key), value) for key, value in later.items()}
    if not any(one is not None and one.is_restart for one in found.values()):
        return found
    return {
        key: None if one is None or (value := later[key]) is None else Increase(value, is_restart=True)
        for key, one in found.items()
    }


def rate_per_s(grown: Increase | None, elapsed_s: float) -> float | None:
    """None without an increase, and none across a restart: the time since it is not known."""
    if grown is None or grown.is_restart or elapsed_s <= 0:
        return None
    return grown.count / elapsed_s


def hit_ratio(hits: Increase | None, misses: Increase | None) -> float | None:
    """Share of SELECTs the query cache answered, 0..1, from counter differences; None without any SELECT."""
    if hits is None or misses is None or hits.count + misses.count == 0:
        return None
    return hits.count / (hits.count + misses.count)
