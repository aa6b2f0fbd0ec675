"""One run's figures from those of its processes: each had a share of the clients, at the same time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict, TypeVar

from apps.benchmarks.domain.latency_histogram import LatencyHistogram
from apps.benchmarks.domain.load_report import LoadReport, LoadSecond, StatementReport

_Number = TypeVar("_Number", int, float)


class Latency(TypedDict):
    """Milliseconds. Percentiles: of the transactions that were logged one by one; None without such a log."""

    mean: float | None
    stddev: float | None
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None


class StatementFigure(TypedDict):
    """Mean latency of one statement over all processes, ms."""

    text: str
    latency_ms: float


class ScriptFigure(TypedDict):
    """One of several scripts, or kinds of transactions, over all processes. weight: None where it has none."""

    name: str
    weight: int | None
    transactions: int | None
    tps: float | None
    failed: int | None
    latency_ms: Latency
    statements: list[StatementFigure]


class RunResult(TypedDict):
    """tps: without the time to connect. connect_ms: until all clients were connected.

    statements: of the only script; of several, each of scripts has its own.
    own: server -> figures that only this driver has.
    """

    tps: float | None
    tps_by_server: dict[str, float]
    latency_ms: Latency
    transactions: int
    failed: int | None
    connect_ms: float | None
    statements: list[StatementFigure]
    scripts: list[ScriptFigure]
    own: dict[str, dict[str, object]]


@dataclass(frozen=True)
class Part:
    """One process: its report, and the latencies of the transactions that it logged one by one.

    by_script: the same, by the name of the script.
    """

    server: str
    report: LoadReport
    latencies: LatencyHistogram | None = None
    by_script: Mapping[str, LatencyHistogram] = field(default_factory=dict)


@dataclass(frozen=True)
class Second:
    """All processes together in one second. latency_ms, stddev_ms: weighted by the transactions of each."""

    at_s: float
    tps: float
    latency_ms: float | None
    stddev_ms: float | None
    failed: int | None


def merge(parts: Sequence[Part]) -> RunResult:
    """Rates and counts add up; mean latencies are weighted by transactions; percentiles are of all together."""
    rates = {part.server: part.report.tps for part in parts}
    known = {server: tps for server, tps in rates.items() if tps is not None}
    failed = [part.report.failed for part in parts if part.report.failed is not None]
    connects = [ms for part in parts if (ms := part.report.connect_ms) is not None]
    return {
        "tps": sum(known.values()) if len(known) == len(parts) and parts else None,
        "tps_by_server": known,
        "latency_ms": _latency(parts),
        "transactions": sum(part.report.transactions for part in parts),
        "failed": sum(failed) if failed else None,
        "connect_ms": max(connects, default=None),
        "statements": _statements([(part.report.transactions, part.report.statements) for part in parts]),
        "scripts": _scripts(parts),
        "own": {part.server: dict(part.report.own) for part in parts if part.report.own},
    }


def _latency(parts: Sequence[Part]) -> Latency:
    weighted = [
        (part.report.transactions, part.report.latency_ms, part.report.latency_stddev_ms)
        for part in parts
        if part.report.latency_ms is not None and part.report.transactions
    ]
    return _with_percentiles(weighted, [part.latencies for part in parts])


def _with_percentiles(
    weighted: Sequence[tuple[float, float | None, float | None]], logs: Sequence[LatencyHistogram | None]
) -> Latency:
    mean, stddev = pooled(weighted)
    logged = LatencyHistogram()
    for log in logs:
        if log is not None:
            logged.add(log)
    p50, p90, p95, p99 = (logged.percentile_ms(percent) for percent in (50, 90, 95, 99))
    return {"mean": mean, "stddev": stddev, "p50": p50, "p90": p90, "p95": p95, "p99": p99}


def pooled(groups: Sequence[tuple[float, float | None, float | None]]) -> tuple[float | None, float | None]:
    """The mean and standard deviation of groups put together, from (count, mean, stddev) of each."""
    known = [(count, mean, stddev) for count, mean, stddev in groups if mean is not None and count > 0]
    total = sum(count for count, _, _ in known)
    if not total:
        return None, None
    mean = sum(count * each for count, each, _ in known) / total
    if any(stddev is None for _, _, stddev in known):
        return mean, None
    squares = sum(count * ((stddev or 0.0) ** 2 + (each - mean) ** 2) for count, each, stddev in known)
    return mean, math.sqrt(squares / total)


def _statements(columns: Sequence[tuple[float | None, Sequence[StatementReport]]]) -> list[StatementFigure]:
    """Those of one script, which all processes ran alike. columns: transactions and statements of each process."""
    if not columns or len({len(statements) for _, statements in columns}) != 1:
        return []
    counts = [count or 0 for count, _ in columns]
    found: list[StatementFigure] = []
    for row in zip(*(statements for _, statements in columns), strict=True):
        counted = [(count, one.latency_ms, None) for count, one in zip(counts, row, strict=True)]
        mean, _ = pooled(counted)
        if mean is not None:
            found.append({"text": row[0].text, "latency_ms": mean})
    return found


def _scripts(parts: Sequence[Part]) -> list[ScriptFigure]:
    """In the order of the first process; those that all processes have."""
    told = [{one.name: one for one in part.report.scripts} for part in parts]
    found: list[ScriptFigure] = []
    for name, first in (told[0] if told else {}).items():
        alike = [one[name] for one in told if name in one]
        if len(alike) != len(parts):
            continue
        weighted = [(one.transactions or 0, one.latency_ms, one.latency_stddev_ms) for one in alike]
        found.append(
            {
                "name": name,
                "weight": first.weight,
                "transactions": _sum(one.transactions for one in alike),
                "tps": _sum(one.tps for one in alike),
                "failed": _sum(one.failed for one in alike),
                "latency_ms": _with_percentiles(weighted, [part.by_script.get(name) for part in parts]),
                "statements": _statements([(one.transactions, one.statements) for one in alike]),
            }
        )
    return found


def _sum(values: Iterable[_Number | None]) -> _Number | None:
    """None where any is not known."""
    known: list[_Number] = []
    for value in values:
        if value is None:
            return None
        known.append(value)
    return sum(known[1:], known[0]) if known else None


class Seconds:
    """What several processes tell of their seconds, until each of them has told of a second."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._told: dict[int, dict[str, LoadSecond]] = {}
        self._whole: list[Second] = []

    def take(self, process: str, second: LoadSecond) -> None:
        at_s = round(second.at_s)
        told = self._told.setdefault(at_s, {})
        told[process] = second
        if len(told) == self._processes:
            self._whole.append(_together(at_s, list(self._told.pop(at_s).values())))

    def whole(self) -> list[Second]:
        """Those that are complete since it was asked latest."""
        found, self._whole = self._whole, []
        return found


def _together(at_s: float, told: Sequence[LoadSecond]) -> Second:
    latency, stddev = pooled([(one.tps, one.latency_ms, one.stddev_ms) for one in told])
    failed = [one.failed for one in told if one.failed is not None]
    return Second(at_s, sum(one.tps for one in told), latency, stddev, sum(failed) if failed else None)
