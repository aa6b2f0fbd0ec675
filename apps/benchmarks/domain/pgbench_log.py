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

from apps.benchmarks.domain.latency_histogram import LatencyHistogram
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


_NOT_DONE = frozenset(outcome.value for outcome in Outcome) - {Outcome.DONE.value}
# took: microseconds, or why it was not done.
_COLUMNS = ("client", "number", "took", "script", "seconds", "microseconds")
_SHAPES = {"took": rf"(?P<took>[0-9]{{1,18}}|{'|'.join(sorted(_NOT_DONE))})"}
_INTERVAL_FIGURE = re.compile(r"[0-9]{1,40}")
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
    for words in _matched(lines, throttled=throttled, retrying=retrying):
        done = words["took"] not in _NOT_DONE
        yield LoggedTransaction(
            client=int(words["client"]),
            number=int(words["number"]),
            outcome=Outcome.DONE if done else Outcome(words["took"]),
            latency_us=int(words["took"]) if done else None,
            script=int(words["script"]),
            ended_us=int(words["seconds"]) * 1_000_000 + int(words["microseconds"]),
            schedule_lag_us=int(words["lag"]) if throttled else None,
            retries=int(words["retries"]) if retrying else None,
        )


def read_latencies(lines: Iterable[str], *, throttled: bool = False, retrying: bool = False) -> LatencyHistogram:
    """As read_transactions, for files of millions of lines: only how long what was done took."""
    together = LatencyHistogram()
    for one in read_latencies_by_script(lines, throttled=throttled, retrying=retrying).values():
        together.add(one)
    return together


def read_latencies_by_script(
    lines: Iterable[str], *, throttled: bool = False, retrying: bool = False
) -> dict[int, LatencyHistogram]:
    """As read_latencies, by the number of the script, counted from 0."""
    times: dict[tuple[str, str], int] = {}
    for words in _matched(lines, throttled=throttled, retrying=retrying):
        key = words["script"], words["took"]
        times[key] = times.get(key, 0) + 1
    found: dict[int, LatencyHistogram] = {}
    for (script, took), count in times.items():
        if took not in _NOT_DONE:
            found.setdefault(int(script), LatencyHistogram()).record(int(took), count)
    return found


def _matched(lines: Iterable[str], *, throttled: bool, retrying: bool) -> Iterator[re.Match[str]]:
    columns = [*_COLUMNS, *(["lag"] if throttled else []), *(["retries"] if retrying else [])]
    shape = re.compile(" ".join(_SHAPES.get(name, rf"(?P<{name}>[0-9]{{1,18}})") for name in columns) + r"\s*\n")
    for line_number, line in enumerate(lines, start=1):
        if not line.endswith("\n"):
            return
        match = shape.fullmatch(line)
        if match is None:
            raise UnreadableOutputError(line_number, line.rstrip(), f"{len(columns)} columns: {', '.join(columns)}")
        yield match


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
