"""A forecast in sentences: when the cache pays after it was emptied, what that costs, how often writes may empty it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from apps.clusters.domain.memcached import MEMCACHED
from apps.query_cache.domain import break_even, warm_up
from apps.query_cache.domain.break_even import BreakEven
from apps.query_cache.domain.cache_state import percent
from apps.query_cache.domain.forecast import WARM, Load

SPACE = "\u00a0"
_DAY_S = 86_400
# Longer ago than that hours say nothing.
_WHOLE_DAYS_FROM_S = 10 * _DAY_S
# By less than this share longer a read is as fast as without a cache.
_ALIKE = 0.001


class Between(StrEnum):
    """Whether a table that is written so often is better cached."""

    PAYS = "pays"
    COSTS = "costs"
    CLOSE = "close"
    NOT_MEASURED = "not_measured"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is told of. per_s: None where nobody counted reads. is_on: None while nobody has read a pgpool's settings.

    measured: of the storage; None before a first calibration.
    """

    keys: int
    per_s: float | None
    is_on: bool | None
    storage: str
    measured: BreakEven | None

    @property
    def load(self) -> Load | None:
        return None if self.per_s is None else Load(self.keys, self.per_s)

    @property
    def ratio(self) -> float | None:
        return None if self.measured is None else self.measured.ratio


def sentence(subject: Subject) -> str:
    if subject.load is None:
        return _without_rate(subject)
    off = subject.is_on is False
    lead = f"{'Were the cache on: at' if off else 'At'} {rate(subject.load.per_s)} over {_keys(subject.keys)}"
    return f"{lead} {_when(subject, subject.load)}"


def why(subject: Subject) -> list[str]:
    return [*_of_measured(subject), *_of_memcached(subject)]


def between(load: Load, every_s: float, measured: BreakEven | None) -> tuple[Between, str]:
    """Of one table that is written so often: whether its cache pays, and the same in words."""
    mean, at_random = load.between_writes(every_s), load.between_random_writes(every_s)
    state = _state(mean, at_random, measured)
    told = (
        f"With a write every {span(every_s)}, each of which drops all entries of the table, {percent(mean)} of its "
        f"reads are hits in the mean, {percent(at_random)} if the writes come at random"
    )
    return state, f"{told}{_verdict(state, measured)}{_apart(load, measured)}"


def span(seconds: float) -> str:
    """0.42 -> 0.42 s; 2.44 -> 2.4 s; 130 -> 2 min 10 s; 11,100 -> 3 h 5 min; 200,000 -> 2 days 7 h"""
    if seconds < 0.005:
        return f"0{SPACE}s" if seconds == 0 else f"less than 0.01{SPACE}s"
    if seconds < 9.95:
        text = f"{seconds:.{2 if seconds < 0.995 else 1}f}"
        return f"{text.rstrip('0').rstrip('.')}{SPACE}s"
    if seconds >= _WHOLE_DAYS_FROM_S:
        return f"{seconds / _DAY_S:,.0f}{SPACE}days"
    return _two_units(round(seconds))


def rate(per_s: float) -> str:
    """420 -> 420 cacheable reads/s; 0.253 -> 0.25 cacheable reads/s"""
    figure = f"{per_s:,.{2 if per_s < 9.995 else 0}f}" if per_s >= 0.005 else f"{per_s:.2g}"
    return f"{figure} cacheable reads/s"


def _two_units(whole: int) -> str:
    units = ((whole // _DAY_S, "days"), (whole % _DAY_S // 3600, "h"), (whole % 3600 // 60, "min"), (whole % 60, "s"))
    largest = next(place for place, (count, _) in enumerate(units) if count)
    told = [(count, "day" if unit == "days" and count == 1 else unit) for count, unit in units[largest : largest + 2]]
    return " ".join(f"{count}{SPACE}{unit}" for count, unit in told if count)


def _without_rate(subject: Subject) -> str:
    ratio = WARM if subject.ratio is None else subject.ratio
    reads = warm_up.queries_until(keys=subject.keys, operating_hit_ratio=ratio)
    what = f"{percent(WARM)} of the reads are hits" if subject.ratio is None else "the cache pays"
    return (
        f"Over {_keys(subject.keys)} {what} after {reads:,.0f} cacheable reads from an empty cache. How long these "
        "take depends on their rate, which is not known: say how many SELECTs per second there are."
    )


def _when(subject: Subject, load: Load) -> str:
    since = "memcached was emptied" if subject.storage == MEMCACHED else "a restart"
    state = None if subject.measured is None else subject.measured.state
    warm = _span_or_never(load.reaches_after_s(WARM))
    if state is break_even.State.ALWAYS_PAYS:
        return f"the cache pays from the first read after {since} on; 99 % of the reads are hits after {warm}."
    if state is break_even.State.NEVER_PAYS:
        return f"99 % of the reads are hits {warm} after {since}, and the cache does not pay even then."
    if subject.ratio is None:
        half = _span_or_never(load.reaches_after_s(0.5))
        return f"half of the reads are hits {half} after {since}, and 99 % after {warm}."
    again = "pays" if subject.is_on is False else "pays again"
    after = _span_or_never(load.reaches_after_s(subject.ratio))
    shown = _span_or_never(load.shown_after_s(subject.ratio))
    return f"the cache {again} {after} after {since}; SHOW pool_cache shows that ratio only after {shown}."


def _of_measured(subject: Subject) -> Iterator[str]:
    measured, load = subject.measured, subject.load
    if measured is None:
        yield "From which hit ratio on it pays, nobody has measured here yet: a calibration tells, and from when on."
        return
    if measured.state is break_even.State.NOT_A_FIT:
        yield f"From which hit ratio on it pays, the calibration could not tell. {measured.sentence}"
        return
    if measured.ratio is None or load is None:
        yield measured.sentence
        return
    low, high = measured.low or 0.0, 1.0 if measured.high is None else measured.high
    latest = load.reaches_after_s(high)
    earliest = span(load.reaches_after_s(low) or 0.0)
    ends = f"after {earliest} to {span(latest)}" if latest is not None else f"from {earliest} on, its upper end never"
    yield (
        f"It pays from {percent(measured.ratio)} hits; the 95 % interval of that, {100 * low:.0f} to {percent(high)}, "
        f"is reached {ends}."
    )
    loss, earned_back_s = load.lost(measured), load.shown_after_s(measured.ratio)
    if loss is not None and loss.mean_cost - 1 >= _ALIKE and loss.reads >= 1:
        yield (
            f"Until it pays, a read takes {percent(loss.mean_cost - 1)} longer than without a cache in the mean: "
            f"together the time of {loss.reads:,.0f} more reads. Hits have earned that back after "
            f"{_span_or_never(earned_back_s)}, when SHOW pool_cache comes to {percent(measured.ratio)}."
        )


def _of_memcached(subject: Subject) -> Iterator[str]:
    if subject.storage == MEMCACHED:
        yield (
            "A restart of pgpool leaves memcached as warm as it was, and SHOW pool_cache counts from 0 all the same: "
            "the times hold where both begin anew."
        )


def _state(mean: float, at_random: float, measured: BreakEven | None) -> Between:
    """At random times the mean is never below that of even ones."""
    if measured is None or measured.state is break_even.State.NOT_A_FIT:
        return Between.NOT_MEASURED
    if measured.state is break_even.State.ALWAYS_PAYS:
        return Between.PAYS
    if measured.state is break_even.State.NEVER_PAYS or at_random < (measured.low or 0.0):
        return Between.COSTS
    return Between.PAYS if measured.high is not None and mean > measured.high else Between.CLOSE


def _verdict(state: Between, measured: BreakEven | None) -> str:
    if state is Between.NOT_MEASURED or measured is None:
        return "."
    pays_from = "" if measured.ratio is None else f" ({percent(measured.ratio)})"
    words = {
        Between.PAYS: f": above the break-even{pays_from}, it pays there.",
        Between.COSTS: f": below the break-even{pays_from}, it costs there, and the table belongs on "
        "cache_unsafe_memqcache_table_list.",
        Between.CLOSE: f": around the break-even{pays_from}, too close to call.",
    }
    if measured.ratio is None:
        return ": it pays there all the same." if state is Between.PAYS else ": it does not pay at any ratio."
    return words[state]


def _apart(load: Load, measured: BreakEven | None) -> str:
    if measured is None or measured.ratio is None:
        return ""
    regular, random = load.shown_after_s(measured.ratio), load.random_writes_from_s(measured.ratio)
    if regular is None or random is None:
        return ""
    return f" It breaks even at a write every {span(regular)}, or at random ones every {span(random)} in the mean."


def _span_or_never(seconds: float | None) -> str:
    return "never" if seconds is None else span(seconds)


def _keys(keys: int) -> str:
    return f"{keys:,} key{'' if keys == 1 else 's'}"
