"""How long an empty cache takes until it pays, and how often writes may empty it.

Reads come at r per second over K keys that are all asked for alike, and the rate does not depend on how fast they are
answered. After t seconds N = r·t reads were made, of which M = K·(1 − (1 − 1/K)^N) are misses, and

    operating(t)  = 1 − (1 − 1/K)^N      the share of hits at this moment
    cumulative(t) = 1 − M / N            the share of hits among all N: the mean of the operating one until then

The time of a read is a straight line in the hit ratio (domain.cache_fit), so N reads take as long as N reads at their
mean ratio. Hence the moment when the cumulative ratio comes to the break-even tells three things at once:

- SHOW pool_cache shows the break-even only now; the cache has paid since the operating ratio came to it.
- What the misses of the warm-up cost beyond reads without a cache, the hits since have just earned back.
- A table whose entries a write drops every so many seconds just breaks even: between two writes its cache warms up from
  empty once, so its mean operating ratio is cumulative(w) of the w seconds between them.

Writes at random times, one every w seconds in the mean, leave some long gaps, into which most reads fall. A read is a
hit if its key was asked for (r/K a second) more recently than the table was written (1/w a second):

    mean = (r/K) / (r/K + 1/w) = r·w / (K + r·w)
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.query_cache.domain import warm_up
from apps.query_cache.domain.break_even import BreakEven

WARM = 0.99
# Beyond a warm cache a course goes on to where SHOW pool_cache shows the break-even, if that is not far.
_FURTHEST = 3.0
MOST_POINTS = 50


@dataclass(frozen=True, slots=True)
class Moment:
    """at_s: since the cache was empty. misses: expected so far, as many as entries."""

    at_s: float
    operating_hit_ratio: float
    cumulative_hit_ratio: float
    misses: float


@dataclass(frozen=True, slots=True)
class Loss:
    """What is lost until the cache pays. mean_cost: time of a read until then, against one without a cache.

    reads: how many reads without a cache the time beyond theirs would have been enough for.
    """

    mean_cost: float
    reads: float


@dataclass(frozen=True, slots=True)
class Load:
    """keys: different SELECTs, all asked for alike; at least 1. per_s: cacheable SELECTs per second, above 0."""

    keys: int
    per_s: float

    def at(self, at_s: float) -> Moment:
        found = warm_up.after(keys=self.keys, queries=self.per_s * at_s)
        # Of less than one read there is no ratio yet.
        cumulative = max(0.0, found.cumulative_hit_ratio)
        return Moment(at_s, found.operating_hit_ratio, cumulative, found.expected_misses)

    def reaches_after_s(self, ratio: float) -> float | None:
        """Until the operating ratio is this; None for all hits, which it never comes to."""
        if ratio >= 1:
            return None
        return warm_up.queries_until(keys=self.keys, operating_hit_ratio=ratio) / self.per_s

    def shown_after_s(self, ratio: float) -> float | None:
        """Until the ratio since the start is this. Between writes further apart than that the mean ratio is higher."""
        if ratio >= 1:
            return None
        return warm_up.queries_until_shown(keys=self.keys, cumulative_hit_ratio=ratio) / self.per_s

    def course(self, shown_after_s: float | None) -> list[Moment]:
        """From empty until 99 of 100 reads are hits, in even steps. shown_after_s: of the break-even, if any."""
        warm_s = warm_up.queries_until(keys=self.keys, operating_hit_ratio=WARM) / self.per_s
        end_s = warm_s
        if shown_after_s is not None and warm_s < shown_after_s <= _FURTHEST * warm_s:
            end_s = 1.05 * shown_after_s
        return [self.at(end_s * step / (MOST_POINTS - 1)) for step in range(MOST_POINTS)]

    def lost(self, measured: BreakEven) -> Loss | None:
        """None where there is no break-even to wait for."""
        if measured.ratio is None or measured.found is None:
            return None
        until = warm_up.queries_until(keys=self.keys, operating_hit_ratio=measured.ratio)
        mean_ratio = max(0.0, warm_up.after(keys=self.keys, queries=until).cumulative_hit_ratio)
        cost = measured.found.cost(mean_ratio).middle
        return Loss(cost, until * (cost - 1))

    def between_writes(self, every_s: float) -> float:
        """Mean operating ratio of a table that is written, and so emptied, every so many seconds."""
        return self.at(every_s).cumulative_hit_ratio

    def between_random_writes(self, every_s: float) -> float:
        """The same of writes at random times, so far apart in the mean."""
        reads = self.per_s * every_s
        return reads / (self.keys + reads)

    def random_writes_from_s(self, ratio: float) -> float | None:
        """How far apart such writes must be in the mean for the mean ratio to be this."""
        return None if ratio >= 1 else self.keys * ratio / (1 - ratio) / self.per_s
