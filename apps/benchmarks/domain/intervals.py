"""Estimates of a difference with their 95 % intervals, from pairs or from two samples.

Which one is taken was chosen by simulation (`python -m deploy.bench.statistics`, docs/measurements.md).
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

CONFIDENCE = 0.95
# Ranks are counted as if every run were drawn alone. Neighbouring runs resemble one another a little (a cache, another
# tenant of the machine), which costs an interval one or two percent of its coverage in the order ABBA: a reserve.
RANK_CONFIDENCE = 0.96
# Beyond these the exact counts differ from the normal approximation in no digit that is shown.
MOST_EXACT_PAIRS = 60
MOST_EXACT_PRODUCT = 2500

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A difference and the ends of its 95 % interval, in the unit of the values; df: degrees of freedom behind it."""

    middle: float
    low: float
    high: float
    df: float
    method: str


def of_pairs(differences: Sequence[float]) -> Estimate:
    """The typical one of at least 2 differences that are spread evenly around it.

    From 6 on the Hodges-Lehmann estimate with the interval of Wilcoxon's signed-rank test, which holds for noise of any
    shape that is alike on both sides, so that a few disturbed runs do no harm. Fewer cannot give 95 % that way:
    Student's t.
    """
    values = np.asarray(differences, dtype=float)
    rank = signed_rank_cut(len(values))
    return _student(values) if rank is None else _signed_rank(values, rank)


def of_samples(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """How much second lies above first; at least 2 each, in no common order.

    Hodges-Lehmann with the interval of the Mann-Whitney test where both are enough for 95 %, else Welch's t.
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    rank = rank_sum_cut(len(a), len(b))
    return _welch(a, b) if rank is None else _rank_sum(a, b, rank)


def t_quantile(probability: float, df: float) -> float:
    return float(special.stdtrit(df, probability))


def _student(values: Floats) -> Estimate:
    df = len(values) - 1
    middle = float(values.mean())
    half = t_quantile(0.5 + CONFIDENCE / 2, df) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return Estimate(middle, middle - half, middle + half, df, "Student's t on pairs")


def _signed_rank(values: Floats, rank: int) -> Estimate:
    sums = np.add.outer(values, values)[np.triu_indices(len(values))] / 2
    sums.sort()
    low, high = float(sums[rank]), float(sums[-1 - rank])
    return Estimate(float(np.median(sums)), low, high, len(values) - 1, "Wilcoxon signed-rank on pairs")


def _welch(a: Floats, b: Floats) -> Estimate:
    parts = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    whole = float(sum(parts))
    # The smaller sample alone: Welch's own degrees of freedom are a guess where both are tiny.
    df = min(len(a), len(b)) - 1
    middle = float(b.mean() - a.mean())
    half = t_quantile(0.5 + CONFIDENCE / 2, df) * math.sqrt(whole)
    return Estimate(middle, middle - half, middle + half, df, "Welch's t")


def _rank_sum(a: Floats, b: Floats, rank: int) -> Estimate:
    differences = np.subtract.outer(b, a).ravel()
    differences.sort()
    low, high = float(differences[rank]), float(differences[-1 - rank])
    return Estimate(float(np.median(differences)), low, high, len(a) + len(b) - 2, "Mann-Whitney")


@functools.lru_cache(maxsize=256)
def signed_rank_cut(pairs: int) -> int | None:
    """How many Walsh averages to leave out at each end; None where leaving out none is less than 95 %."""
    if pairs > MOST_EXACT_PAIRS:
        mean = pairs * (pairs + 1) / 4
        return _normal_cut(mean, math.sqrt(mean * (2 * pairs + 1) / 6))
    counts = np.ones(1)
    for size in range(1, pairs + 1):
        grown = np.zeros(len(counts) + size)
        grown[: len(counts)] += counts
        grown[size:] += counts
        counts = grown / 2
    return _exact_cut(counts)


@functools.lru_cache(maxsize=1024)
def rank_sum_cut(first: int, second: int) -> int | None:
    """The same of all differences of two samples."""
    if first * second > MOST_EXACT_PRODUCT:
        spread = math.sqrt(first * second * (first + second + 1) / 12)
        return _normal_cut(first * second / 2, spread)
    # Gaussian binomials: the number of ways to a sum, multiplied and divided by one polynomial each.
    counts = np.ones(first * second + 1, dtype=object) * 0
    counts[0] = 1
    for size in range(1, first + 1):
        raised = second + size
        if raised < len(counts):
            counts[raised:] = counts[raised:] - counts[:-raised].copy()
        for position in range(size, len(counts)):
            counts[position] += counts[position - size]
    whole = math.comb(first + second, first)
    return _exact_cut(np.array([int(count) / whole for count in counts]))


def _exact_cut(probabilities: Floats) -> int | None:
    within = int(np.searchsorted(np.cumsum(probabilities), (1 - RANK_CONFIDENCE) / 2 + 1e-12, side="right"))
    return within - 1 if within else None


def _normal_cut(mean: float, spread: float) -> int:
    return math.floor(mean - float(special.ndtri(0.5 + RANK_CONFIDENCE / 2)) * spread - 0.5)
