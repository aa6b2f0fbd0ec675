"""What sysbench 1.0 and 1.1 print of a run against a database: the report, its lines meanwhile, the histogram.

sysbench catches no SIGINT or SIGTERM: of a run that was stopped only the lines meanwhile exist.
Source: documentation of sysbench, and what it prints: tests/captured/sysbench-1.0.20.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from apps.benchmarks.domain.printed import (
    EXCERPT_CHARACTERS,
    INT,
    NUMBER,
    Figures,
    Labelled,
    UnreadableOutputError,
    labelled,
    read_labelled,
)


@dataclass(frozen=True)
class Intermediate:
    """One line of --report-interval, of the seconds since the line before. percentile: which one latency_ms is."""

    at_s: float
    threads: int
    tps: float
    queries_per_s: float
    reads_per_s: float
    writes_per_s: float
    others_per_s: float
    percentile: float
    latency_ms: float | None
    errors_per_s: float
    reconnects_per_s: float


@dataclass(frozen=True)
class SysbenchReport:
    """The report at the end. tps: transactions per second of the run, which holds no time of connecting.

    percentiles_ms: (percent, milliseconds), one unless --percentile was changed by a fork; none where it was 0.
    errors: queries that failed and were ignored, each of which began its transaction anew.
    threads_events, threads_time_s: mean and standard deviation over threads.
    after_checkpoints: all but total_time_s counts only since the last checkpoint (--report-checkpoints).
    """

    transactions: int
    tps: float
    reads: int | None
    writes: int | None
    others: int | None
    queries: int | None
    queries_per_s: float | None
    errors: int | None
    errors_per_s: float | None
    reconnects: int | None
    reconnects_per_s: float | None
    total_time_s: float
    events: int | None
    events_per_s: float | None
    latency_min_ms: float | None
    latency_mean_ms: float | None
    latency_max_ms: float | None
    latency_sum_ms: float | None
    percentiles_ms: tuple[tuple[float, float], ...]
    threads_events: tuple[float | None, float | None]
    threads_time_s: tuple[float | None, float | None]
    unfinished: int | None
    after_checkpoints: bool


@dataclass(frozen=True)
class SysbenchResult:
    """report: None where the run was stopped before it; then the lines meanwhile are all there is.

    histogram: (milliseconds, count), with --histogram. rate_per_s: with --rate.
    fatal: lines that begin with FATAL, such as what a driver said. partial: stopped, forced to end, or failed.
    """

    version: str | None
    threads: int | None
    rate_per_s: int | None
    report_interval_s: int | None
    report: SysbenchReport | None
    intermediates: tuple[Intermediate, ...]
    histogram: tuple[tuple[float, int], ...]
    fatal: tuple[str, ...]
    partial: bool


def _counted(label: str, name: str) -> Labelled:
    rest = rf"(?P<{name}>{INT}) +\((?P<{name}_per_s>{NUMBER}) per sec\.\)"
    return labelled(label, rest, f"{label} 1770   (440.50 per sec.)")


def _figure(label: str, name: str, number: str = NUMBER, unit: str = "") -> Labelled:
    return labelled(label, rf"(?P<{name}>{number}){unit}", f"{label} 20{unit}")


def _spread(label: str, name: str) -> Labelled:
    rest = rf"(?P<{name}_avg>{NUMBER})/ *(?P<{name}_stddev>{NUMBER})"
    return labelled(label, rest, f"{label} 442.5000/68.34")


_HEAD = (
    _figure("Number of threads:", "threads", INT),
    _figure("Target transaction rate:", "rate", INT, "/sec"),
    labelled(
        "Report intermediate results every ",
        rf"(?P<interval>{INT}) second\(s\)",
        "Report intermediate results every 1 second(s)",
    ),
)
_ENDS = (
    _figure("total time:", "total_time", unit="s"),
    _figure("time elapsed:", "total_time", unit="s"),
    _figure("total number of events:", "events", INT),
    _figure("events/s (eps):", "events_per_s"),
)
_SECTIONS = {
    "SQL statistics:": (
        _figure("read:", "reads", INT),
        _figure("write:", "writes", INT),
        _figure("other:", "others", INT),
        _figure("total:", "all_queries", INT),
        _counted("transactions:", "transactions"),
        _counted("queries:", "queries"),
        _counted("ignored errors:", "errors"),
        _counted("reconnects:", "reconnects"),
    ),
    "General statistics:": _ENDS,  # 1.0
    "Throughput:": _ENDS,  # 1.1
    "Latency (ms):": (
        _figure("min:", "min"),
        _figure("avg:", "avg"),
        _figure("max:", "max"),
        _figure("sum:", "sum"),
    ),
    "Threads fairness:": (
        _spread("events (avg/stddev):", "events"),
        _spread("execution time (avg/stddev):", "time"),
    ),
}

_VERSION = re.compile(r"sysbench (\d+\.\d+\S*)(?: \(using .*)?")
_INTERMEDIATE = re.compile(
    rf"\[\s*(?P<at>{NUMBER})s\s*\] thds: (?P<threads>{INT}) tps: (?P<tps>{NUMBER}) qps: (?P<qps>{NUMBER}) "
    rf"\(r/w/o: (?P<reads>{NUMBER})/(?P<writes>{NUMBER})/(?P<others>{NUMBER})\) "
    rf"lat \(ms,(?P<percentile>{NUMBER})%\): (?P<latency>{NUMBER}) "
    rf"err/s:? (?P<errors>{NUMBER}) reconn/s:? (?P<reconnects>{NUMBER})"
)
_CHECKPOINT = re.compile(rf"\[\s*{NUMBER}s\s*\] Checkpoint report:")
_PERCENTILE = re.compile(rf"(?P<percent>\d{{1,3}})(?:st|nd|rd|th) percentile:\s+(?P<ms>{NUMBER})")
_BUCKET = re.compile(rf"(?P<ms>\d{{1,12}}\.\d{{3}}) \|\**\s+(?P<count>{INT})")
_UNFINISHED = re.compile(rf"Number of unfinished transactions on forced shutdown: (?P<unfinished>{INT})")


def parse_intermediate(line: str) -> Intermediate | None:
    """None for any other line, and for one that a kill has cut short."""
    match = _INTERMEDIATE.fullmatch(line.strip())
    if match is None:
        return None
    figures = Figures({name: text for name, text in match.groupdict().items() if text is not None})
    numbers = {name: figures.number(name) for name in figures.texts}
    if any(value is None for name, value in numbers.items() if name != "latency"):
        return None
    known = {name: value for name, value in numbers.items() if value is not None}
    return Intermediate(
        at_s=known["at"],
        threads=int(match["threads"]),
        tps=known["tps"],
        queries_per_s=known["qps"],
        reads_per_s=known["reads"],
        writes_per_s=known["writes"],
        others_per_s=known["others"],
        percentile=known["percentile"],
        # Without an event, and with --percentile=0, sysbench prints 0.00.
        latency_ms=known.get("latency") or None,
        errors_per_s=known["errors"],
        reconnects_per_s=known["reconnects"],
    )


@dataclass
class _Block:
    """One report: that of the end, or of a checkpoint on the way."""

    checkpoint: bool
    figures: Figures = field(default_factory=Figures)
    percentiles: list[tuple[float, float]] = field(default_factory=list)


class _Reader:
    def __init__(self) -> None:
        self.head = Figures()
        self.version: str | None = None
        self.block: _Block | None = None
        self.intermediates: list[Intermediate] = []
        self.histogram: list[tuple[float, int]] = []
        self.fatal: list[str] = []
        self.unfinished: int | None = None
        self._section: str | None = None
        self._checkpoint_next = False
        self.checkpoints = 0

    def line(self, line_number: int, line: str) -> None:
        stripped = line.strip()
        if (intermediate := parse_intermediate(stripped)) is not None:
            self.intermediates.append(intermediate)
        elif _CHECKPOINT.fullmatch(stripped):
            self._checkpoint_next = True
        elif stripped.startswith("FATAL:"):
            self.fatal.append(stripped[:EXCERPT_CHARACTERS])
        elif stripped in _SECTIONS or (stripped.endswith(":") and not line.startswith((" ", "\t"))):
            self._begin(line_number, stripped)
        elif self._section is not None and self.block is not None:
            self._figure(self.block, line_number, stripped)
        else:
            self._outside(line_number, stripped)

    def _begin(self, line_number: int, header: str) -> None:
        self._section = header if header in _SECTIONS else None
        if header != "SQL statistics:":
            return
        if self.block is not None and not self.block.checkpoint:
            raise UnreadableOutputError(line_number, header, "one report only; a second one begins here")
        self.block = _Block(checkpoint=self._checkpoint_next)
        self.checkpoints += self._checkpoint_next
        self._checkpoint_next = False

    def _figure(self, block: _Block, line_number: int, line: str) -> None:
        percentile = _PERCENTILE.fullmatch(line)
        if percentile is not None:
            block.percentiles.append((float(percentile["percent"]), float(percentile["ms"])))
        elif (unfinished := _UNFINISHED.fullmatch(line)) is not None:
            self.unfinished = int(unfinished["unfinished"])
        elif self._section is not None:
            block.figures.texts.update(read_labelled(_SECTIONS[self._section], line_number, line) or {})

    def _outside(self, line_number: int, line: str) -> None:
        version = _VERSION.fullmatch(line)
        bucket = _BUCKET.fullmatch(line)
        if version is not None:
            self.version = version[1]
        elif bucket is not None:
            self.histogram.append((float(bucket["ms"]), int(bucket["count"])))
        else:
            self.head.texts.update(read_labelled(_HEAD, line_number, line) or {})

    def result(self) -> SysbenchResult:
        report = None
        if self.block is not None and not self.block.checkpoint:
            report = _report(self.block, self.unfinished, after_checkpoints=self.checkpoints > 0)
        if report is None and not self.intermediates and not self.fatal:
            raise UnreadableOutputError(0, "", "a report of sysbench, which begins with 'SQL statistics:'")
        return SysbenchResult(
            version=self.version,
            threads=self.head.integer("threads"),
            rate_per_s=self.head.integer("rate"),
            report_interval_s=self.head.integer("interval"),
            report=report,
            intermediates=tuple(self.intermediates),
            histogram=tuple(self.histogram),
            fatal=tuple(self.fatal),
            partial=report is None or bool(self.fatal),
        )


def _report(block: _Block, unfinished: int | None, *, after_checkpoints: bool) -> SysbenchReport | None:
    """None where it was cut before its figures were complete."""
    figures = block.figures
    transactions, tps = figures.integer("transactions"), figures.number("transactions_per_s")
    total_time = figures.number("total_time")
    if transactions is None or tps is None or total_time is None or "sum" not in figures.texts:
        return None
    return SysbenchReport(
        transactions=transactions,
        tps=tps,
        reads=figures.integer("reads"),
        writes=figures.integer("writes"),
        others=figures.integer("others"),
        queries=figures.integer("queries"),
        queries_per_s=figures.number("queries_per_s"),
        errors=figures.integer("errors"),
        errors_per_s=figures.number("errors_per_s"),
        reconnects=figures.integer("reconnects"),
        reconnects_per_s=figures.number("reconnects_per_s"),
        total_time_s=total_time,
        events=figures.integer("events"),
        events_per_s=figures.number("events_per_s"),
        # Without an event there is no latency, and sysbench prints 0.00.
        latency_min_ms=figures.number("min") if transactions else None,
        latency_mean_ms=figures.number("avg") if transactions else None,
        latency_max_ms=figures.number("max") if transactions else None,
        latency_sum_ms=figures.number("sum"),
        percentiles_ms=tuple(block.percentiles) if transactions else (),
        threads_events=(figures.number("events_avg"), figures.number("events_stddev")),
        threads_time_s=(figures.number("time_avg"), figures.number("time_stddev")),
        unfinished=unfinished,
        after_checkpoints=after_checkpoints,
    )


def parse_result(text: str) -> SysbenchResult:
    """Read what sysbench printed, with or without a shell around it.

    Raises UnreadableOutputError where there is neither a report nor a line of --report-interval nor a FATAL line, where
    a line of the report is unreadable, or where a second report begins. A report that is cut counts as none.
    """
    reader = _Reader()
    for line_number, line in enumerate(text.split("\n"), start=1):
        reader.line(line_number, line)
    return reader.result()


def percentile_of(histogram: Sequence[tuple[float, int]], percent: float) -> float | None:
    """Milliseconds that `percent` of 100 do not exceed, by sysbench's own rule and buckets.

    None of an empty histogram.
    """
    # As sysbench rounds: floor(n + 0.5).
    wanted = math.floor(sum(count for _, count in histogram) * percent / 100 + 0.5)
    seen = 0
    for milliseconds, count in histogram:
        seen += count
        if count and seen >= wanted:
            return milliseconds
    return None
