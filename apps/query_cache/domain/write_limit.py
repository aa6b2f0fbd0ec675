"""Up to how many writes per second to a cached table its cache pays: pairs of slices at rising rates of writes.

The gain of a pair is the logarithm of its reads with the cache against those without. Between the measured rates it is
taken to go straight over the logarithm of the rate; nothing is said beyond them. Pairs scatter alike at all rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, pairwise

from apps.benchmarks.domain.intervals import CONFIDENCE, t_quantile

# Places between two rates at which the interval is looked for.
_STEPS = 200
FEWEST_BLOCKS = 2


@dataclass(frozen=True, slots=True)
class WritePair:
    """writes_per_s: that were made beside the cache. Latencies of a write: mean, ms; None where unknown.

    kept_keys: hot keys whose answer it kept after the last write; stale_keys: those with old rows.
    """

    wanted_per_s: int
    writes_per_s: float
    hits: int
    misses: int
    tps: float
    no_cache_tps: float
    write_latency_ms: float | None = None
    no_cache_write_latency_ms: float | None = None
    kept_keys: int = 0
    stale_keys: int = 0

    @property
    def gain(self) -> float:
        return math.log(self.tps / self.no_cache_tps)


@dataclass(frozen=True, slots=True)
class AtRate:
    """All pairs of one rate. gain: times the reads without a cache; its ends are None without an interval."""

    wanted_per_s: int
    writes_per_s: float
    hit_ratio: float
    tps: float
    no_cache_tps: float
    gain: float
    gain_low: float | None
    gain_high: float | None
    write_latency_ms: float | None
    no_cache_write_latency_ms: float | None
    kept_keys: int
    stale_keys: int
    pairs: int


class WriteState(StrEnum):
    PAYS_UP_TO = "pays_up_to"
    PAYS_AT_ALL = "pays_at_all"
    PAYS_AT_NONE = "pays_at_none"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class WriteLimit:
    """per_s: writes per second from which on the cache costs, where state is pays_up_to.

    low, high: of its 95 % interval; None where it lies beyond the measured rates.
    """

    state: WriteState
    sentence: str
    rates: tuple[AtRate, ...]
    per_s: float | None = None
    low: float | None = None
    high: float | None = None


def write_limit(pairs: Sequence[WritePair]) -> WriteLimit:
    """Of at least one pair, in any order. One rate of 0 may be among them."""
    groups = {
        rate: list(members)
        for rate, members in groupby(sorted(pairs, key=lambda one: one.wanted_per_s), key=lambda one: one.wanted_per_s)
    }
    half = _half_width([[one.gain for one in members] for members in groups.values()])
    rates = tuple(_at_rate(members, half) for members in groups.values())
    # Two rates that a slow primary made one of each other's may stand in another order than they were asked for.
    written = sorted((one for one in rates if one.writes_per_s > 0), key=lambda one: one.writes_per_s)
    if half is None or len(written) < 2:
        few = "One block of pairs tells nothing of its noise" if half is None else "One rate makes no curve"
        return WriteLimit(WriteState.UNSURE, f"{few}: measure longer.", rates)
    return _judged(rates, written, half)


def _half_width(groups: Sequence[Sequence[float]]) -> float | None:
    """Of the interval of one pair's gain, from the scatter of all around the mean of their rate."""
    df = sum(len(group) - 1 for group in groups)
    if df < FEWEST_BLOCKS - 1:
        return None
    squares = sum((gain - sum(group) / len(group)) ** 2 for group in groups for gain in group)
    return t_quantile(0.5 + CONFIDENCE / 2, df) * math.sqrt(squares / df)


def _at_rate(pairs: Sequence[WritePair], half: float | None) -> AtRate:
    count = len(pairs)
    gain = sum(one.gain for one in pairs) / count
    own = None if half is None else half / math.sqrt(count)
    hits, misses = sum(one.hits for one in pairs), sum(one.misses for one in pairs)
    return AtRate(
        wanted_per_s=pairs[0].wanted_per_s,
        writes_per_s=sum(one.writes_per_s for one in pairs) / count,
        hit_ratio=hits / (hits + misses) if hits + misses else 0.0,
        tps=math.exp(sum(math.log(one.tps) for one in pairs) / count),
        no_cache_tps=math.exp(sum(math.log(one.no_cache_tps) for one in pairs) / count),
        gain=math.exp(gain),
        gain_low=None if own is None else math.exp(gain - own),
        gain_high=None if own is None else math.exp(gain + own),
        write_latency_ms=_mean([one.write_latency_ms for one in pairs]),
        no_cache_write_latency_ms=_mean([one.no_cache_write_latency_ms for one in pairs]),
        kept_keys=sum(one.kept_keys for one in pairs),
        stale_keys=sum(one.stale_keys for one in pairs),
        pairs=count,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _judged(rates: tuple[AtRate, ...], written: Sequence[AtRate], half: float) -> WriteLimit:
    most, least = written[-1], written[0]
    if all((one.gain_low or 0) > 1 for one in written):
        sentence = (
            f"The cache still pays at {_per_s(most.writes_per_s)} to its table, the most that were made: "
            f"{_times(most)} at {most.hit_ratio:.0%} hits."
        )
        return WriteLimit(WriteState.PAYS_AT_ALL, sentence, rates)
    if all((one.gain_high or 2) < 1 for one in written):
        sentence = (
            f"With {_per_s(least.writes_per_s)} to its table, the fewest that were made, the cache costs already: "
            f"{_times(least)}."
        )
        return WriteLimit(WriteState.PAYS_AT_NONE, sentence, rates)
    crossing, low, high = _crossing(written), *_where_it_may_be_1(written, half)
    if crossing is None:
        sentence = "From which rate of writes on the cache costs cannot be told from noise: measure longer."
        return WriteLimit(WriteState.UNSURE, sentence, rates)
    bounds = _bounds(low, high, written)
    sentence = (
        f"The cache pays up to about {_per_s(crossing)} to its table ({bounds}); more often it is emptied too soon."
    )
    return WriteLimit(WriteState.PAYS_UP_TO, sentence, rates, crossing, low, high)


def _crossing(written: Sequence[AtRate]) -> float | None:
    """The rate where the gain falls to 1; None where it does not, or does so more than once."""
    found = [
        _between(one, next_one, math.log(one.gain) / (math.log(one.gain) - math.log(next_one.gain)))
        for one, next_one in pairwise(written)
        if one.gain > 1 >= next_one.gain
    ]
    rises = any(one.gain <= 1 < next_one.gain for one, next_one in pairwise(written))
    return found[0] if len(found) == 1 and not rises else None


def _where_it_may_be_1(written: Sequence[AtRate], half: float) -> tuple[float | None, float | None]:
    """The ends of all rates whose gain cannot be told from 1; None for an end at the first or last measured rate."""
    places = [
        (_between(one, next_one, step / _STEPS), _is_near_1(one, next_one, step / _STEPS, half))
        for one, next_one in pairwise(written)
        for step in range(_STEPS + 1)
    ]
    near = [rate for rate, is_near in places if is_near]
    low = None if not near or places[0][1] else near[0]
    high = None if not near or places[-1][1] else near[-1]
    return low, high


def _is_near_1(one: AtRate, next_one: AtRate, share: float, half: float) -> bool:
    gain = (1 - share) * math.log(one.gain) + share * math.log(next_one.gain)
    return abs(gain) <= half * math.sqrt((1 - share) ** 2 / one.pairs + share**2 / next_one.pairs)


def _between(one: AtRate, next_one: AtRate, share: float) -> float:
    return math.exp((1 - share) * math.log(one.writes_per_s) + share * math.log(next_one.writes_per_s))


def _bounds(low: float | None, high: float | None, written: Sequence[AtRate]) -> str:
    if low is not None and high is not None:
        return f"95 % interval {_figure(low)} to {_figure(high)}"
    if low is not None:
        return f"95 % interval from {_figure(low)} to more than the {_figure(written[-1].writes_per_s)} that were made"
    if high is not None:
        return f"95 % interval from less than the {_figure(written[0].writes_per_s)} that were made to {_figure(high)}"
    return "its 95 % interval is wider than the rates that were made: measure longer"


def _times(one: AtRate) -> str:
    bounds = "" if one.gain_low is None else f", 95 % interval {one.gain_low:.2f} to {one.gain_high:.2f}"
    return f"{one.gain:.2f} times the reads that are served without it{bounds}"


def _per_s(rate: float) -> str:
    return f"{_figure(rate)} writes per second"


def _figure(rate: float) -> str:
    return f"{rate:.1f}" if rate < 10 else f"{rate:,.0f}"
