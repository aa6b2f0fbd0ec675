"""Latencies counted in buckets of 11 significant bits: percentiles within 0.05 %, whatever the range and the number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Self, TypedDict

# A bucket is at most 1/1024 as wide as its lower bound, and its middle at most half of that away.
SIGNIFICANT_BITS = 11


class Packed(TypedDict):
    """A histogram as it goes from process to process. buckets: (lower bound, count)."""

    buckets: Sequence[tuple[int, int]]
    sum_us: int
    min_us: int | None
    max_us: int | None


class LatencyHistogram:
    """Counts by lower bound of a bucket, in whole microseconds. Histograms of several threads or runs can be added."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.count = 0
        self._sum_us = 0
        self._min_us: int | None = None
        self._max_us: int | None = None

    def record(self, latency_us: int, times: int = 1) -> None:
        """Raises ValueError for a latency below 0 or a number of times below 1."""
        if latency_us < 0 or times < 1:
            raise ValueError(f"cannot count a latency of {latency_us} us {times} times")
        bound = _lower_bound(latency_us)
        self._counts[bound] = self._counts.get(bound, 0) + times
        self.count += times
        self._sum_us += latency_us * times
        self._min_us = latency_us if self._min_us is None else min(self._min_us, latency_us)
        self._max_us = latency_us if self._max_us is None else max(self._max_us, latency_us)

    def add(self, other: LatencyHistogram) -> None:
        for bound, times in other._counts.items():
            self._counts[bound] = self._counts.get(bound, 0) + times
        self.count += other.count
        self._sum_us += other._sum_us
        self._min_us = min((us for us in (self._min_us, other._min_us) if us is not None), default=None)
        self._max_us = max((us for us in (self._max_us, other._max_us) if us is not None), default=None)

    @property
    def mean_ms(self) -> float | None:
        """Exact, not of buckets. None if nothing was counted, as for the other figures."""
        return self._sum_us / self.count / 1000 if self.count else None

    @property
    def min_ms(self) -> float | None:
        return None if self._min_us is None else self._min_us / 1000

    @property
    def max_ms(self) -> float | None:
        return None if self._max_us is None else self._max_us / 1000

    def percentile_ms(self, percent: float) -> float | None:
        """The smallest latency that `percent` of 100 do not exceed (nearest rank). percent: above 0, at most 100."""
        if not 0 < percent <= 100:
            raise ValueError(f"{percent} is no percentile")
        if self._min_us is None or self._max_us is None:
            return None
        # A product such as 0.95 x 100 may come out a little above the whole number that it is.
        rank = max(1, math.ceil(percent * self.count / 100 - 1e-9))
        seen = 0
        for bound in sorted(self._counts):
            seen += self._counts[bound]
            if seen >= rank:
                return min(max(_middle(bound), self._min_us), self._max_us) / 1000
        return self._max_us / 1000

    def buckets(self) -> list[tuple[int, int]]:
        """(lower bound in microseconds, count), ascending."""
        return sorted(self._counts.items())

    def as_json(self) -> Packed:
        """All of it, for another process to add."""
        return {"buckets": self.buckets(), "sum_us": self._sum_us, "min_us": self._min_us, "max_us": self._max_us}

    @classmethod
    def from_json(cls, packed: Packed) -> Self:
        made = cls()
        made._counts = {int(bound): int(times) for bound, times in packed["buckets"]}
        made.count = sum(made._counts.values())
        made._sum_us, made._min_us, made._max_us = packed["sum_us"], packed["min_us"], packed["max_us"]
        return made


def counted(latencies_us: Iterable[int]) -> LatencyHistogram:
    histogram = LatencyHistogram()
    for latency_us in latencies_us:
        histogram.record(latency_us)
    return histogram


def _lower_bound(latency_us: int) -> int:
    shift = max(0, latency_us.bit_length() - SIGNIFICANT_BITS)
    return latency_us >> shift << shift


def _middle(bound: int) -> float:
    shift = max(0, bound.bit_length() - SIGNIFICANT_BITS)
    return bound + ((1 << shift) - 1) / 2
