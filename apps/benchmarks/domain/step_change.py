"""Whether the latest round of a campaign is slower or faster than those before it, and since when.

Rounds differ from one another by more than the runs within one: other tenants, other data on disk. So a round counts as
one value, its typical run, and is held against the rounds before it, not against its own interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

# Fewer rounds do not tell how far quiet ones differ.
FEWEST_BEFORE = 7
MOST_BEFORE = 14
# How many spreads outside the quiet ones a round must lie, and the one that confirms it: chosen by simulation
# (`python -m deploy.bench.nights`, docs/measurements.md).
LIMIT = 2.5
# Quiet rounds that agree to less than this are taken to differ by so much: five values may agree by chance.
LEAST_SPREAD = 0.004
_NORMAL = 1.4826  # of a normal distribution: its standard deviation in median absolute deviations


class Change(StrEnum):
    """suspected: one round lies outside. confirmed: measured again, that one does too, on the same side."""

    NONE = "none"
    TOO_EARLY = "too_early"
    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"


@dataclass(frozen=True)
class Judged:
    """change_percent: of the latest round, against the typical one before; None while it is too early."""

    change: Change
    change_percent: float | None
    limit_percent: float | None
    before: int


def judge(before: Sequence[float], latest: Sequence[float], *, margin_percent: float) -> Judged:
    """before: rates of the quiet rounds, oldest first. latest: of the newest round, and of the ones that confirm it.

    margin_percent: a smaller change is none that matters, however sure.
    """
    if len(before) < FEWEST_BEFORE or not latest:
        return Judged(Change.TOO_EARLY, None, None, len(before))
    logs = [math.log(rate) for rate in before[-MOST_BEFORE:]]
    middle = median(logs)
    spread = max(LEAST_SPREAD, _NORMAL * median([abs(each - middle) for each in logs]) * _few(len(logs)))
    limit = max(LIMIT * spread, math.log1p(margin_percent / 100) / 2)
    offs = [math.log(rate) - middle for rate in latest]
    outside = [abs(each) > limit and each * offs[0] > 0 for each in offs]
    change = Change.NONE
    if all(outside):
        change = Change.CONFIRMED if len(offs) > 1 else Change.SUSPECTED
    typical = median(offs)
    return Judged(change, 100 * math.expm1(typical), 100 * math.expm1(limit), len(logs))


def walk(rounds: Iterable[tuple[bool, float | None]], *, margin_percent: float) -> list[Judged | None]:
    """Each round of one arm in its order: (whether it was measured to confirm the one before, its rate).

    None where there is no rate. Where nothing was measured again the next round confirms. After a confirmed change the
    rounds behind it count no more: what comes is held against the new level.
    """
    found: list[Judged | None] = []
    quiet: list[float] = []
    suspects: list[float] = []
    for is_confirming, rate in rounds:
        if rate is None:
            found.append(None)
            continue
        if is_confirming and not suspects:
            found.append(Judged(Change.NONE, None, None, len(quiet)))
            quiet.append(rate)
            continue
        suspects.append(rate)
        judged = judge(quiet, suspects, margin_percent=margin_percent)
        found.append(judged)
        if judged.change is Change.CONFIRMED:
            quiet, suspects = suspects, []
        elif judged.change is not Change.SUSPECTED:
            quiet, suspects = [*quiet, *suspects], []
    return found


def _few(count: int) -> float:
    """The median deviation of few values comes out too small."""
    return 1 + 1.0 / (count - 0.8)
