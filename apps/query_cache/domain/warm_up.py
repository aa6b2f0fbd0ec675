"""How a cache fills: reads of keys that are all asked for alike.

Of K keys, after N reads, a key was asked for before with probability 1 − (1 − 1/K)^N: that is the share of hits at this
moment, the operating ratio. What pgpool prints counts since it started, and lags behind: 1 − K·(1 − (1 − 1/K)^N) / N.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# Of an interval, until its ends are one and the same number.
_HALVINGS = 200


@dataclass(frozen=True, slots=True)
class Warmth:
    """After so many reads. expected_misses: of all of them; as many entries stand in a cache that keeps them all."""

    queries: float
    operating_hit_ratio: float
    cumulative_hit_ratio: float
    expected_misses: float


def after(*, keys: int, queries: float) -> Warmth:
    """keys: at least 1. queries: at least 0."""
    operating = _known(keys, queries)
    misses = keys * operating
    return Warmth(queries, operating, 1 - misses / queries if queries else 0.0, misses)


def queries_until(*, keys: int, operating_hit_ratio: float) -> float:
    """Reads until the operating ratio is as high as this; 0 <= ratio < 1."""
    if keys == 1:
        return 0.0 if operating_hit_ratio == 0 else 1.0
    return math.log1p(-operating_hit_ratio) / math.log1p(-1 / keys)


def queries_until_shown(*, keys: int, cumulative_hit_ratio: float) -> float:
    """Reads until the ratio since the start is as high as this; 0 <= ratio < 1. The first read is a miss."""
    # Of N reads at most K are misses: from K / (1 − ratio) reads on the ratio is reached for certain.
    low, high = 1.0, keys / (1 - cumulative_hit_ratio)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if after(keys=keys, queries=middle).cumulative_hit_ratio < cumulative_hit_ratio:
            low = middle
        else:
            high = middle
    return high


def operating_at(*, cumulative_hit_ratio: float) -> float:
    """The operating ratio at the moment when the one since the start is this, of many keys; 0 <= ratio < 1.

    Over many keys both depend on x = reads per key alone: operating 1 − e^(−x), cumulative 1 − (1 − e^(−x)) / x.
    """
    low, high = 0.0, 2 / (1 - cumulative_hit_ratio)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _cumulative(middle) < cumulative_hit_ratio:
            low = middle
        else:
            high = middle
    return -math.expm1(-high)


def cumulative_at(*, operating_hit_ratio: float) -> float:
    """The ratio since the start at the moment when the operating one is this, of many keys; 0 <= ratio < 1."""
    return _cumulative(-math.log1p(-operating_hit_ratio))


def _cumulative(reads_per_key: float) -> float:
    return 0.0 if reads_per_key == 0 else 1 + math.expm1(-reads_per_key) / reads_per_key


def _known(keys: int, queries: float) -> float:
    if queries == 0:
        return 0.0
    return 1.0 if keys == 1 else -math.expm1(queries * math.log1p(-1 / keys))
