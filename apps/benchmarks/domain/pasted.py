"""A pasted output of a load generator: which tool printed it, and its figures in one common shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from apps.benchmarks.domain import pgbench_output, sysbench_output
from apps.benchmarks.domain.pgbench_failure import Cause, parse_failure
from apps.benchmarks.domain.pgbench_progress import Progress, parse_progress
from apps.benchmarks.domain.pgbench_result import PgbenchResult, TpsMeaning
from apps.benchmarks.domain.printed import EXCERPT_CHARACTERS, UnreadableOutputError

Tool = Literal["pgbench", "sysbench"]

_REPORTS: dict[str, Tool] = {"transaction type:": "pgbench", "SQL statistics:": "sysbench"}
_EXPECTED = (
    "what pgbench prints at the end of a run (it begins with 'transaction type:') or sysbench (with 'SQL statistics:')"
)


@dataclass(frozen=True)
class MeasuredStatement:
    text: str
    latency_ms: float


@dataclass(frozen=True)
class Measured:
    """One run, whatever measured it. None: not printed.

    tps: of transactions that succeeded. duration_s: as asked for; where a number of transactions was, as it took.
    latency_is_derived: the tool divided clients by tps and measured no latency.
    percentiles_ms: (percent, milliseconds), ascending.
    throttled: clients waited for their turn (-R of pgbench, which does not print its rate; --rate of sysbench).
    statements: of one transaction in their order; none where several scripts were mixed.
    scripts: how many were mixed. failed: transactions; of sysbench, errors that it ignored and began anew after.
    partial: the run ended before its time; its figures are of what was printed until then.
    """

    tool: Tool
    version: str | None
    tps: float | None
    tps_meaning: TpsMeaning | None
    latency_ms: float | None
    latency_stddev_ms: float | None
    latency_is_derived: bool
    clients: int | None
    duration_s: float | None
    transactions: int | None
    failed: int | None
    partial: bool
    percentiles_ms: tuple[tuple[float, float], ...] = ()
    statements: tuple[MeasuredStatement, ...] = ()
    throttled: bool = False
    throttle_per_s: float | None = None
    tps_including_connections: float | None = None
    scripts: int = 1

    @property
    def tps_behind_latency(self) -> float | None:
        """What a derived latency was computed from: with failures, and before 14 with the time of connecting."""
        rate = self.tps if self.tps_including_connections is None else self.tps_including_connections
        if rate is None or not self.transactions:
            return None
        return rate * (self.transactions + (self.failed or 0)) / self.transactions

    def percentile_ms(self, percent: float) -> float | None:
        return dict(self.percentiles_ms).get(percent)


def recognise(text: str) -> Measured:
    """Read what somebody pasted.

    Raises UnreadableOutputError, with the line and what was expected there, if it is no output of a run of pgbench or
    sysbench, of both, of several runs, or if a line of it is not as that tool prints it.
    """
    lines = text.split("\n")
    begins = [
        (number, line, tool)
        for number, line in enumerate(lines, start=1)
        for begin, tool in _REPORTS.items()
        if line.strip().startswith(begin)
    ]
    tools = {tool for _, _, tool in begins}
    if len(tools) > 1:
        number, line, tool = next(found for found in begins if found[2] != begins[0][2])
        raise UnreadableOutputError(number, line, f"the output of one tool; here begins a report of {tool}")
    if tools == {"pgbench"}:
        return of_pgbench(pgbench_output.parse_result(text))
    if tools == {"sysbench"} or any(sysbench_output.parse_intermediate(line) for line in lines):
        return of_sysbench(sysbench_output.parse_result(text))
    progress = [found for line in lines if (found := parse_progress(line)) is not None]
    if progress:
        return of_progress(progress)
    raise _neither(text, lines)


def _neither(text: str, lines: Sequence[str]) -> UnreadableOutputError:
    number, line = next(((number, line) for number, line in enumerate(lines, start=1) if line.strip()), (1, ""))
    if any(line.startswith("pgbench: ") for line in lines):
        failure = parse_failure(text)
        if failure.cause != Cause.OTHER:
            return UnreadableOutputError(number, line, f"{_EXPECTED}; this run failed: {failure.reason}")
    fatal = next((line.strip() for line in lines if line.strip().startswith("FATAL:")), None)
    if fatal is not None:
        return UnreadableOutputError(
            number, line.strip(), f"{_EXPECTED}; this run failed: {fatal[:EXCERPT_CHARACTERS]}"
        )
    return UnreadableOutputError(number, line.strip(), _EXPECTED)


def of_pgbench(result: PgbenchResult) -> Measured:
    duration_s = float(result.duration_s) if result.duration_s is not None else None
    if duration_s is None and result.tps:
        duration_s = result.transactions / result.tps
    return Measured(
        tool="pgbench",
        version=result.version,
        tps=result.tps,
        tps_meaning=result.tps_meaning,
        latency_ms=result.latency_ms,
        latency_stddev_ms=result.latency_stddev_ms,
        latency_is_derived=result.latency_is_derived,
        clients=result.clients,
        duration_s=duration_s,
        transactions=result.transactions,
        failed=result.counts.failed,
        partial=result.partial,
        statements=tuple(MeasuredStatement(one.text, one.latency_ms) for one in result.statements),
        tps_including_connections=result.tps_including_connections,
        throttled=result.schedule_lag_ms is not None or result.schedule_lag_max_ms is not None,
        scripts=max(1, len(result.scripts)),
    )


def of_progress(progress: Sequence[Progress]) -> Measured:
    """Of a pgbench that was stopped, its lines of progress, each by the seconds that it speaks of."""
    seconds = _seconds(progress)
    total = sum(seconds)
    done = [line.tps * length for line, length in zip(progress, seconds, strict=True)]
    timed = [
        (line.latency_ms, count) for line, count in zip(progress, done, strict=True) if line.latency_ms is not None
    ]
    weight = sum(count for _, count in timed)
    failed = [line.failed for line in progress if line.failed is not None]
    return Measured(
        tool="pgbench",
        version=None,
        tps=sum(done) / total if total > 0 else None,
        # Whether each transaction connected anew (-C) is printed only at the end.
        tps_meaning=None,
        latency_ms=sum(latency * count for latency, count in timed) / weight if weight > 0 else None,
        latency_stddev_ms=None,
        latency_is_derived=False,
        clients=None,
        duration_s=total if total > 0 else None,
        transactions=None,
        failed=sum(failed) if failed else None,
        partial=True,
        throttled=any(line.lag_ms is not None for line in progress),
    )


def _seconds(progress: Sequence[Progress]) -> list[float]:
    """How long each line is about. Of the first timestamp only the seconds of the next line can tell."""
    between = [max(0.0, after.at_s - before.at_s) for before, after in pairwise(progress)]
    if not progress[0].at_is_timestamp:
        return [progress[0].at_s, *between]
    return [between[0] if between else 1.0, *between]


def of_sysbench(result: sysbench_output.SysbenchResult) -> Measured:
    """Raises UnreadableOutputError where sysbench measured nothing and said why."""
    report = result.report
    if report is None:
        return _of_intermediates(result)
    return Measured(
        tool="sysbench",
        version=result.version,
        tps=report.tps,
        tps_meaning=TpsMeaning.WITHOUT_INITIAL_CONNECTIONS,
        latency_ms=report.latency_mean_ms,
        latency_stddev_ms=None,
        latency_is_derived=False,
        clients=_threads(result),
        duration_s=report.total_time_s,
        transactions=report.transactions,
        failed=report.errors,
        partial=result.partial,
        percentiles_ms=tuple(sorted(report.percentiles_ms)),
        throttled=result.rate_per_s is not None,
        throttle_per_s=result.rate_per_s,
    )


def _of_intermediates(result: sysbench_output.SysbenchResult) -> Measured:
    """Percentiles of some seconds make no percentile of all, and no mean latency is printed on the way."""
    if not result.intermediates:
        raise UnreadableOutputError(0, "", f"{_EXPECTED}; this run failed: {result.fatal[0]}")
    ends = [0.0, *(line.at_s for line in result.intermediates)]
    lengths = [max(0.0, after - before) for before, after in pairwise(ends)]
    total = sum(lengths)
    done = sum(line.tps * length for line, length in zip(result.intermediates, lengths, strict=True))
    return Measured(
        tool="sysbench",
        version=result.version,
        tps=done / total if total > 0 else None,
        tps_meaning=TpsMeaning.WITHOUT_INITIAL_CONNECTIONS if total > 0 else None,
        latency_ms=None,
        latency_stddev_ms=None,
        latency_is_derived=False,
        clients=_threads(result),
        duration_s=total if total > 0 else None,
        transactions=None,
        failed=None,
        partial=True,
        throttled=result.rate_per_s is not None,
        throttle_per_s=result.rate_per_s,
    )


def _threads(result: sysbench_output.SysbenchResult) -> int | None:
    if result.threads is None and result.intermediates:
        return result.intermediates[-1].threads
    return result.threads
