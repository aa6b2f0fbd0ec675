"""The mean of a rate while it is measured, and how sure it is within this one run.

Seconds of one run resemble their neighbours (a checkpoint, a full cache), so an interval that takes them for
independent is far too narrow. They are put together into ten stretches of equal length, whose means resemble one
another the less the longer they are (batch means). What differs from run to run is in no interval of a single one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

BATCHES = 10
# Of Student's t with 9 degrees of freedom, at 97.5 %.
_T = 2.262157
# Two values a stretch: before that its mean is a second like any other.
FEWEST = 2 * BATCHES


@dataclass(frozen=True)
class RunningMean:
    """Of the first so many values. low, high: the 95 % interval; None before there are FEWEST."""

    mean: float
    low: float | None
    high: float | None


def running_means(values: Sequence[float]) -> list[RunningMean]:
    """One for each value: of all up to it. values: rates of equal stretches of time, oldest first."""
    sums = [0.0, *itertools.accumulate(values)]
    return [_of_first(sums, count) for count in range(1, len(sums))]


def _of_first(sums: Sequence[float], count: int) -> RunningMean:
    mean = sums[count] / count
    if count < FEWEST:
        return RunningMean(mean, None, None)
    size = count // BATCHES
    # What is left over is the beginning, which settles in.
    ends = [count - size * number for number in range(BATCHES + 1)]
    batches = [(sums[end] - sums[begin]) / size for end, begin in itertools.pairwise(ends)]
    middle = sum(batches) / BATCHES
    spread = math.sqrt(sum((each - middle) ** 2 for each in batches) / (BATCHES - 1))
    half = _T * spread / math.sqrt(BATCHES)
    return RunningMean(mean, max(0.0, mean - half), mean + half)
