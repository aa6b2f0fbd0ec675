"""What a few measurements carry."""

import math
import statistics
from collections.abc import Sequence

from scipy import stats


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half width of its 95 % interval, by Student's t."""
    if len(values) < 2:
        return statistics.fmean(values), math.inf
    width = float(stats.t.ppf(0.975, len(values) - 1))
    return statistics.fmean(values), width * statistics.stdev(values) / math.sqrt(len(values))
