"""The files that pgbench -l writes, one per thread: a line per transaction, or per --aggregate-interval.

With --sampling-rate only some transactions have a line: percentiles hold, counts do not.
Source: documentation of pgbench 11 to 18, "Per-Transaction Logging" and "Aggregated Logging".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from apps.benchmarks.domain.latency_histogram import LatencyHistogram, counted
from apps.benchmarks.domain.printed import UnreadableOutputError


class Outcome(StrEnum):
    DONE = "done"
    SKIPPED = "skipped"  # too late to begin: -R with -L
    FAILED = "failed"  # 15 and later, of a kind that was not asked for
    SERIALIZATION = "serialization"  # --failures-detailed
    DEADLOCK = "deadlock"  # --failures-detailed
    OTHER = "other"  # --failures-detailed, later versions


@dataclass(frozen=True)
class LoggedTransaction:
    """One line of -l.

    latency_us: None unless done. With -R it counts from the scheduled begin, schedule_lag_us included.
    ended_us: microseconds since 1970. schedule_lag_us: with -R. retries: with --max-tries.
    """

    client: int
    number: int
    outcome: Outcome
    latency_us: int | None
    script: int
    ended_us: int
    schedule_lag_us: int | None = None
    retries: int | None = None


@dataclass(frozen=True)
class LoggedInterval:
    """One line of --aggregate-interval, of one thread.

    start_s: seconds since 1970. Sums are of microseconds and of their squares.
    None: not printed by this version or run.
    """

    start_s: int
    transactions: int
    latency_sum_us: int
    latency_square_sum: int
    latency_min_us: int
    latency_max_us: int
    lag_sum_us: int | None = None
    lag_square_sum: int | None = None
    lag_min_us: int | None = None
    lag_max_us: int | None = None
    skipped: int | None = None
    retried: int | None = None
    retries: int | None = None
    serialization_failures: int | None = None
    deadlock_failures: int | None = None
    other_failures: int | None = None

    @property
    def latency_ms(self) -> float | None:
        return self.latency_sum_us / self.transactions / 1000 if self.transactions else None

    @property
    def latency_stddev_ms(self) -> float | None:
        if not self.transactions:
            return None
        mean = self.latency_sum_us / self.transactions
        # Rounded squares may fall a little below the square of the mean.
        return math.sqrt(max(0.0, self.latency_square_sum / self.transactions - mean * mean)) / 1000


_DONE = re.compile(r"\d{1,18}")
_INTERVAL_FIGURE = re.compile(r"\d{1,40}")
# Before 15: without lags, with them (-R), and with skipped (-L). 15 and later print all; one more where other errors
# are gone on from.
_INTERVAL_LENGTHS = (6, 10, 11, 15, 16)


def read_transactions(
    lines: Iterable[str], *, throttled: bool = False, retrying: bool = False
) -> Iterator[LoggedTransaction]:
    """lines: as a file gives them, with their ends. throttled: run with -R; retrying: with --max-tries other than 1.

    A last line without an end was cut by a kill, and is passed over.
    Raises UnreadableOutputError.
    """
    length = 6 + throttled + retrying
    for line_number, line in enumerate(lines, start=1):
        if not line.endswith("\n"):
            return
        words = line.split()
        if words:
            yield _transaction(words, line_number, line, length, throttled=throttled)


def _transaction(words: list[str], line_number: int, line: str, length: int, *, throttled: bool) -> LoggedTransaction:
    done = len(words) > 2 and _DONE.fullmatch(words[2]) is not None
    figures = [word for at, word in enumerate(words) if at != 2 or done]
    if len(words) != length or not all(_DONE.fullmatch(word) for word in figures) or not (done or _named(words[2])):
        raise UnreadableOutputError(
            line_number,
            line.rstrip(),
            f"{length} columns: client, number, microseconds (or why not done), script, seconds, microseconds"
            + (", schedule lag" if throttled else "")
            + (", retries" if length > 6 + throttled else ""),
        )
    return LoggedTransaction(
        client=int(words[0]),
        number=int(words[1]),
        outcome=Outcome.DONE if done else Outcome(words[2]),
        latency_us=int(words[2]) if done else None,
        script=int(words[3]),
        ended_us=int(words[4]) * 1_000_000 + int(words[5]),
        schedule_lag_us=int(words[6]) if throttled else None,
        retries=int(words[-1]) if length > 6 + throttled else None,
    )


def _named(word: str) -> bool:
    return word in {outcome.value for outcome in Outcome} - {Outcome.DONE}


def read_intervals(lines: Iterable[str]) -> Iterator[LoggedInterval]:
    """As read_transactions, of lines of --aggregate-interval. A version that prints all columns prints 0 without -R."""
    for line_number, line in enumerate(lines, start=1):
        if not line.endswith("\n"):
            return
        words = line.split()
        if not words:
            continue
        if len(words) not in _INTERVAL_LENGTHS or not all(_INTERVAL_FIGURE.fullmatch(word) for word in words):
            raise UnreadableOutputError(
                line_number,
                line.rstrip(),
                "6, 10, 11, 15 or 16 whole numbers: seconds, transactions, sum of latencies, …",
            )
        yield LoggedInterval(*(int(word) for word in words))


def latencies(transactions: Iterable[LoggedTransaction]) -> LatencyHistogram:
    """Of what was done: what was skipped or failed has none."""
    return counted(done.latency_us for done in transactions if done.latency_us is not None)
