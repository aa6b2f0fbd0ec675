"""Whether the query cache of a cluster pays now, in words, and what would change that."""

from __future__ import annotations

from dataclasses import dataclass, replace

from apps.query_cache.domain import break_even
from apps.query_cache.domain.break_even import BreakEven
from apps.query_cache.domain.cache_state import CacheState, percent

# Fewer reads say too little of a ratio.
FEWEST_READS = 100
# How many times as fast, or as slow, is worth a word.
_ALIKE = 0.02


@dataclass(frozen=True, slots=True)
class CacheVerdict:
    """sentence: what to do, or what is known. why: behind it, with what would change it."""

    state: CacheState
    sentence: str
    why: str = ""


def verdict(
    *,
    is_on: bool | None,
    operating_ratio: float | None,
    reads: int,
    window: str,
    measured: BreakEven | None,
    asked: str = "",
) -> CacheVerdict:
    """is_on: at any pgpool; None while nobody knows. reads: cacheable ones in the window, as 15 min.

    measured: the break-even of the storage that the cluster caches in; None before the first calibration. asked: the
    SELECT that it was measured with.
    """
    if is_on is None:
        return CacheVerdict(
            CacheState.UNKNOWN, "Nobody knows yet whether a query cache is on: no pgpool has shown its settings."
        )
    if not is_on:
        return CacheVerdict(CacheState.OFF, "The query cache is off at every pgpool.", _of_off(measured))
    if operating_ratio is None or reads < FEWEST_READS:
        sentence = f"The query cache is on, and was hardly asked: {reads:,} cacheable reads in the last {window}."
        return CacheVerdict(CacheState.TOO_LITTLE_TRAFFIC, sentence, _of_off(measured))
    now = f"at {percent(operating_ratio)} hits"
    if measured is None:
        return CacheVerdict(
            CacheState.NOT_MEASURED,
            f"The query cache answers {percent(operating_ratio)} of what it is asked; whether that pays, nobody has "
            "measured here yet.",
            "The 70 % of pgpool's manual are of no particular cluster. A calibration measures from which hit ratio the "
            "cache pays for a SELECT of yours.",
        )
    if measured.state is break_even.State.NOT_A_FIT:
        return CacheVerdict(
            CacheState.NOT_A_FIT,
            f"The query cache answers {percent(operating_ratio)} of what it is asked; the calibration gave no answer.",
            measured.sentence,
        )
    found = _measured(measured, operating_ratio, now)
    return replace(found, why=f"{found.why} {_holds_for(asked)}") if asked else found


def _measured(measured: BreakEven, ratio: float, now: str) -> CacheVerdict:
    times = _times(measured, ratio)
    if measured.state is break_even.State.ALWAYS_PAYS:
        return CacheVerdict(CacheState.PAYS, f"Keep the cache on: {now} {times}.", measured.sentence)
    if measured.state is break_even.State.NEVER_PAYS:
        return CacheVerdict(CacheState.COSTS, f"Turn the cache off: {now} {times}.", measured.sentence)
    low, high, middle = measured.low or 0.0, measured.high or 0.0, measured.ratio or 0.0
    interval = f"95 % interval {100 * low:.0f} to {percent(high)}"
    if ratio > high:
        why = f"It starts to cost you below {percent(middle)} hits ({interval})."
        return CacheVerdict(CacheState.PAYS, f"Keep the cache on: {now} {times}.", why)
    if ratio < low:
        why = f"It would pay from {percent(middle)} hits ({interval}): with more memory, or fewer writes to its tables."
        return CacheVerdict(CacheState.COSTS, f"Turn the cache off: {now} {times}.", why)
    why = f"It pays from {percent(middle)} hits ({interval}), and this lies within. A longer calibration tells more."
    return CacheVerdict(CacheState.CLOSE, f"Too close to call: {now} the cache neither pays nor costs for sure.", why)


def _holds_for(asked: str) -> str:
    return f"That holds for reads as dear as {asked}: the dearer a read, the sooner its cache pays."


def _times(measured: BreakEven, ratio: float) -> str:
    gain = measured.gain(ratio)
    if gain is None:
        return "nobody knows by how much"
    if abs(gain.middle - 1) < _ALIKE:
        return "reads are as fast as without it"
    if gain.middle >= 2:
        return f"it serves {gain.middle:.1f} times the reads that would be served without it"
    more, word = (gain.middle - 1, "more") if gain.middle > 1 else (1 - gain.middle, "fewer")
    return f"it serves {percent(more)} {word} reads than without it"


def _of_off(measured: BreakEven | None) -> str:
    if measured is None:
        return "A calibration measures from which hit ratio it would pay for a SELECT of yours."
    return measured.sentence
