"""What every load generator tells, in one shape: each second of one process, and its report at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class LoadSecond:
    """One process in the second that ended at at_s, counted since its load began.

    latency_ms, stddev_ms: of what ended in this second; None where nothing did. failed: None where it is not counted.
    """

    at_s: float
    tps: float
    latency_ms: float | None
    stddev_ms: float | None = None
    failed: int | None = None


@dataclass(frozen=True)
class StatementReport:
    """One statement of a script. latency_ms: mean."""

    text: str
    latency_ms: float


@dataclass(frozen=True)
class ScriptReport:
    """One of several scripts, or kinds of transactions. tps, failed: None where they are not counted apart."""

    name: str
    weight: int | None = None
    transactions: int | None = None
    tps: float | None = None
    failed: int | None = None
    latency_ms: float | None = None
    latency_stddev_ms: float | None = None
    statements: tuple[StatementReport, ...] = ()


@dataclass(frozen=True)
class LoadReport:
    """One process, over its whole measurement.

    tps: without the time until its clients were connected. failed, connect_ms: None where it does not tell.
    statements: of the only script; with several, each of scripts has its own.
    own: figures that no other driver has, by name; kept as they are, beside the server that they are of.
    is_partial: some of its clients gave up before the end.
    """

    tps: float | None
    transactions: int
    failed: int | None = None
    latency_ms: float | None = None
    latency_stddev_ms: float | None = None
    connect_ms: float | None = None
    statements: tuple[StatementReport, ...] = ()
    scripts: tuple[ScriptReport, ...] = ()
    own: Mapping[str, object] = field(default_factory=dict)
    is_partial: bool = False
