"""From which hit ratio the query cache pays: the verdict on a fit, or why there can be none."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from apps.query_cache.domain.cache_fit import Bounded, CacheFit, CachePoint, fit
from apps.query_cache.domain.cache_state import percent

LEAST_POINTS = 4
LEAST_RATIOS = 3
LEAST_SPAN = 0.2
# Two ratios closer than this are one.
_SAME = 0.02
# Pairs that scatter more than this around their line say that something else changed between their halves.
MOST_SCATTER = 0.4
# A miss does all that a read without a cache does, and keeps the result. Cheaper than this it cannot be.
LEAST_MISS_COST = 0.95
# A crossing known no better than this is no answer.
WIDEST = 0.5


class State(StrEnum):
    PAYS_ABOVE = "pays_above"
    ALWAYS_PAYS = "always_pays"
    NEVER_PAYS = "never_pays"
    NOT_A_FIT = "not_a_fit"


@dataclass(frozen=True, slots=True)
class BreakEven:
    """ratio: operating hit ratio, 0..1, from which reads are faster with the cache, where state is pays_above.

    low, high: of its 95 % interval, within 0..1. miss_cost, hit_cost: time of a miss and of a hit against a read
    without a cache. found: None where the points could not be fitted at all.
    """

    state: State
    sentence: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    miss_cost: Bounded | None = None
    hit_cost: Bounded | None = None
    found: CacheFit | None = None

    def gain(self, hit_ratio: float) -> Bounded | None:
        """How many times as many reads as without a cache at this ratio; None where nothing was fitted.

        high: infinite where the time of a read cannot be told from 0.
        """
        if self.state is State.NOT_A_FIT or self.found is None:
            return None
        cost = self.found.cost(hit_ratio)
        if cost.middle <= 0:
            return None
        return Bounded(1 / cost.middle, 1 / cost.high, 1 / cost.low if cost.low > 0 else float("inf"))


def break_even(points: Sequence[CachePoint]) -> BreakEven:
    """Of pairs of runs, in any order; several at one ratio are usual."""
    if too_few := _too_few(points):
        return BreakEven(State.NOT_A_FIT, too_few)
    try:
        found = fit(points)
    except np.linalg.LinAlgError:
        return BreakEven(State.NOT_A_FIT, "These rates differ by too much for a line: check their units.")
    miss, hit = found.cost(0), found.cost(1)
    state, sentence, crossing = _judged(found, miss, hit)
    if crossing is None:
        return BreakEven(state, sentence, miss_cost=miss, hit_cost=hit, found=found)
    low, high = max(0.0, crossing.low), min(1.0, crossing.high)
    return BreakEven(state, sentence, crossing.middle, low, high, miss, hit, found)


def _too_few(points: Sequence[CachePoint]) -> str:
    if len(points) < LEAST_POINTS:
        return f"A line needs at least {LEAST_POINTS} pairs of runs, these are {len(points)}."
    ratios = sorted(one.hit_ratio for one in points)
    apart = 1 + sum(later - earlier > _SAME for earlier, later in itertools.pairwise(ratios))
    if apart < LEAST_RATIOS:
        return f"A line needs at least {LEAST_RATIOS} hit ratios that differ, these are {apart}."
    if (span := ratios[-1] - ratios[0]) < LEAST_SPAN:
        return (
            f"These hit ratios lie within {percent(span)} of one another; measure over at least {percent(LEAST_SPAN)}."
        )
    return ""


def _judged(found: CacheFit, miss: Bounded, hit: Bounded) -> tuple[State, str, Bounded | None]:
    if trouble := _impossible(found, miss, hit):
        return State.NOT_A_FIT, trouble, None
    crossing = found.crossing()
    if crossing is None or found.slope > 0:
        return *_flat(miss, hit), None
    if crossing.middle <= 0:
        sure = "" if miss.high <= 1 else ", as far as these pairs tell"
        sentence = (
            f"The cache pays at any hit ratio{sure}: a miss takes no longer than a read without it ({_times(miss)})."
        )
        return State.ALWAYS_PAYS, sentence, None
    if crossing.middle >= 1:
        sure = "" if hit.low >= 1 else ", as far as these pairs tell"
        sentence = f"The cache never pays{sure}: even a hit takes longer than a read without it ({_times(hit)})."
        return State.NEVER_PAYS, sentence, None
    low, high = max(0.0, crossing.low), min(1.0, crossing.high)
    if high - low > WIDEST:
        anywhere = f"it would lie anywhere from {percent(low)} to {percent(high)}"
        return State.NOT_A_FIT, f"The pairs are too noisy for an answer: {anywhere}. Measure longer.", None
    return State.PAYS_ABOVE, _pays_above(crossing), crossing


def _impossible(found: CacheFit, miss: Bounded, hit: Bounded) -> str:
    """Why no cache can have made these figures; "" where one can."""
    if found.scatter > MOST_SCATTER:
        return (
            f"The pairs scatter by {percent(found.scatter)} around their line: the two halves of a pair were not "
            "measured under the same conditions. Measure them side by side, in turns, when less else is going on."
        )
    if hit.high < 0:
        return (
            f"By these figures a hit would take less than no time ({_times(hit)}), so a hit ratio or a rate is not "
            "what it says: a ratio counted since pgpool started is not the one that a run operated at."
        )
    if miss.high < LEAST_MISS_COST:
        return (
            f"By these figures a miss would be faster than a read without a cache ({_times(miss)}), which cannot be: "
            "the baseline was measured when the machine was slower. Measure each pair side by side."
        )
    if found.crossing() is not None and found.slope > 0:
        return f"By these figures hits take longer ({_times(hit)}) than misses ({_times(miss)}): no cache does that."
    return ""


def _flat(miss: Bounded, hit: Bounded) -> tuple[State, str]:
    """Where more hits make no difference that can be told."""
    if miss.high < 1 and hit.high < 1:
        return State.ALWAYS_PAYS, "The cache pays at any hit ratio that was measured."
    if miss.low > 1 and hit.low > 1:
        return State.NEVER_PAYS, "The cache costs at any hit ratio that was measured."
    indifferent = "In these pairs more hits made no difference that can be told from noise"
    return State.NOT_A_FIT, f"{indifferent}. Measure longer, or at higher ratios."


def _pays_above(crossing: Bounded) -> str:
    low, high = max(0.0, crossing.low), min(1.0, crossing.high)
    interval = f"95 % interval {100 * low:.0f} to {percent(high)}"
    if crossing.low <= 0:
        return (
            f"The cache pays from {percent(crossing.middle)} hits ({interval}): it may pay at any ratio, since a miss "
            "takes hardly longer than a read without it."
        )
    return f"The cache pays from {percent(crossing.middle)} hits ({interval})."


def _times(cost: Bounded) -> str:
    return f"{cost.middle:.2f} times as long, 95 % interval {cost.low:.2f} to {cost.high:.2f}"
