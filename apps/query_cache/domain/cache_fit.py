"""What a cached SELECT costs, fitted to pairs of runs with the cache on and off.

A read takes t_hit if the cache answers it and t_miss if it does not, t_none without a cache. At hit ratio h the time
per read is h·t_hit + (1 − h)·t_miss, so that against the run without a cache beside it

    y = no_cache_tps / tps = (1 − h)·m + h·k    with m = t_miss / t_none, k = t_hit / t_none

is a straight line, and tps is none. The noise of a run is about the same percentage of whatever it measures, hence the
residuals are weighted by 1 / y².
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apps.benchmarks.domain.intervals import CONFIDENCE, t_quantile

Floats = NDArray[np.float64]

_ROUNDS = 50
_SETTLED = 1e-10


@dataclass(frozen=True, slots=True)
class CachePoint:
    """One pair of runs side by side. hit_ratio: operating, 0..1, of the run with the cache. tps: of reads."""

    hit_ratio: float
    tps: float
    no_cache_tps: float

    @property
    def relative_cost(self) -> float:
        """Time of a read against one without a cache; above 1 the cache costs."""
        return self.no_cache_tps / self.tps


@dataclass(frozen=True, slots=True)
class Bounded:
    """An estimate and the ends of its 95 % interval."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CacheFit:
    """The line through the pairs. covariance: of miss cost and slope, as ((mm, ms), (ms, ss)). df: behind scatter.

    scatter: standard deviation of a pair around the line, as a share of it.
    """

    miss_cost: float
    slope: float
    covariance: tuple[tuple[float, float], tuple[float, float]]
    scatter: float
    df: int

    @property
    def quantile(self) -> float:
        return t_quantile(0.5 + CONFIDENCE / 2, self.df)

    def cost(self, hit_ratio: float) -> Bounded:
        """Relative time of a read at this ratio; a low end below 0 stays so."""
        middle = self.miss_cost + self.slope * hit_ratio
        (mm, ms), (_, ss) = self.covariance
        half = self.quantile * math.sqrt(max(0.0, mm + 2 * hit_ratio * ms + hit_ratio**2 * ss))
        return Bounded(middle, middle - half, middle + half)

    def crossing(self) -> Bounded | None:
        """The ratio where a read takes as long as without a cache, with Fieller's interval.

        It may lie outside of 0..1. None where the slope cannot be told from 0: then there is no bounded interval.
        """
        above, quantile = self.miss_cost - 1, self.quantile
        (mm, ms), (_, ss) = self.covariance
        # (above + slope·h)² ≤ quantile²·Var(above + slope·h), solved for h
        square = self.slope**2 - quantile**2 * ss
        if square <= 0:
            return None
        half = above * self.slope - quantile**2 * ms
        constant = above**2 - quantile**2 * mm
        root = math.sqrt(max(0.0, half**2 - square * constant))
        return Bounded(-above / self.slope, (-half - root) / square, (-half + root) / square)


def fit(points: Sequence[CachePoint]) -> CacheFit:
    """Of at least three points with two ratios or more."""
    ratios = np.array([one.hit_ratio for one in points])
    costs = np.array([one.relative_cost for one in points])
    design = np.column_stack([np.ones(len(points)), ratios])
    expected, found = costs, np.zeros(2)
    for _ in range(_ROUNDS):
        weights = 1 / expected**2
        normal = design.T @ (design * weights[:, None])
        settled, found = found, np.linalg.solve(normal, design.T @ (weights * costs))
        if np.allclose(found, settled, rtol=_SETTLED, atol=0):
            break
        expected = _positive(design @ found, costs)
    df = len(points) - 2
    residuals = costs / expected - design @ found / expected
    variance = float(residuals @ residuals) / df
    covariance = np.linalg.inv(design.T @ (design / expected[:, None] ** 2)) * variance
    # The mean of a ratio of two noisy rates lies above the ratio of their means by half the variance of its logarithm.
    found = found * math.exp(-variance / 2)
    return CacheFit(
        float(found[0]),
        float(found[1]),
        ((float(covariance[0, 0]), float(covariance[0, 1])), (float(covariance[0, 1]), float(covariance[1, 1]))),
        math.sqrt(variance),
        df,
    )


def _positive(expected: Floats, costs: Floats) -> Floats:
    """A line that runs below 0 somewhere gives no weight there: the measured value does."""
    return np.where(expected > 0.1 * costs, expected, costs)
