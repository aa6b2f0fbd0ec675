"""How many more runs would settle a comparison that is open."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import variance

from apps.benchmarks.domain.intervals import CONFIDENCE, Estimate, t_quantile

MOST = 100_000


@dataclass(frozen=True, slots=True)
class Spread:
    """How the variance of a difference falls with more runs: the sum of part / (runs + more)."""

    parts: tuple[tuple[float, int], ...]

    @classmethod
    def of_pairs(cls, pairs: int) -> "Spread":
        return cls(((1.0, pairs),))

    @classmethod
    def of_samples(cls, first: Sequence[float], second: Sequence[float]) -> "Spread":
        """Both together vary above 0, else the comparison would not be open."""
        return cls(((variance(first), len(first)), (variance(second), len(second))))

    def after(self, more: int) -> float:
        return sum(part / (runs + more) for part, runs in self.parts)


def more_runs(found: Estimate, spread: Spread, *, margin: float, power: float) -> int:
    """Of each side, at most 100,000: so many that in a share `power` of cases the verdict is no longer open.

    If difference and spread stay as they were: either 0 falls out of the interval, or the interval fits in the margin.
    """
    wanted = max(abs(found.middle), margin - abs(found.middle))
    reached = _reach(found.df, power)
    half = (found.high - found.low) / 2

    def is_enough(more: int) -> bool:
        grown = _reach(found.df + more, power) / reached
        now = half * _surplus(found.df, power) * grown * math.sqrt(spread.after(more) / spread.after(0))
        return now <= wanted

    few, many = 0, 1
    while many < MOST and not is_enough(many):
        few, many = many, many * 2
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if is_enough(middle) else (middle, many)
    return min(many, MOST)


def _reach(df: float, power: float) -> float:
    """What is found in a share `power` of cases, in standard errors."""
    return t_quantile(0.5 + CONFIDENCE / 2, df) + t_quantile(power, df)


def _surplus(df: float, power: float) -> float:
    """The same in half widths of the interval."""
    return _reach(df, power) / t_quantile(0.5 + CONFIDENCE / 2, df)
