"""What an interval allows to be said."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # so that a door knows the words without loading scipy
    from apps.benchmarks.domain.intervals import Estimate


class Verdict(StrEnum):
    """Read off the 95 % interval alone; the first that holds.

    faster, slower: 0 lies outside, so every value inside has the same sign. All of them may be smaller than the margin:
    then the difference is small, and sure.
    no_difference: 0 lies inside, and both ends lie within the margin.
    inconclusive: 0 lies inside, and so does a difference larger than the margin.
    """

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no_difference"
    INCONCLUSIVE = "inconclusive"


def judge(found: Estimate, *, margin: float, higher_is_better: bool) -> Verdict:
    """found and margin: logarithms of ratios. The margin is as wide down as up, so who is the baseline matters not."""
    if found.low > 0:
        return Verdict.FASTER if higher_is_better else Verdict.SLOWER
    if found.high < 0:
        return Verdict.SLOWER if higher_is_better else Verdict.FASTER
    return Verdict.NO_DIFFERENCE if max(-found.low, found.high) <= margin else Verdict.INCONCLUSIVE
