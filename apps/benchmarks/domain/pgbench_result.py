"""What a final report of pgbench says. None: this version or these options print no such line, which is not 0."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TpsMeaning(StrEnum):
    WITHOUT_INITIAL_CONNECTIONS = "without_initial_connections"  # 14 and later
    INCLUDING_RECONNECTIONS = "including_reconnections"  # 14 and later with -C
    EXCLUDING_CONNECTIONS = "excluding_connections"  # before 14
    INCLUDING_CONNECTIONS = "including_connections"  # before 14, where the other line is missing


@dataclass(frozen=True)
class Statement:
    """One line of a script. latency_ms: mean. failures, retries: None where this version does not count them."""

    text: str
    latency_ms: float
    failures: int | None = None
    retries: int | None = None


@dataclass(frozen=True)
class Counts:
    """How transactions ended. None: this version or these options print no such line, which is not 0."""

    failed: int | None
    serialization_failures: int | None
    deadlock_failures: int | None
    other_failures: int | None
    retried: int | None
    retries: int | None
    skipped: int | None


@dataclass(frozen=True)
class Script:
    """One of several scripts. target_percent, share_percent: of all transactions, wanted and seen."""

    number: int
    name: str
    weight: int | None
    target_percent: float | None
    share_percent: float | None
    transactions: int | None
    tps: float | None
    counts: Counts
    latency_ms: float | None
    latency_stddev_ms: float | None
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class PgbenchResult:
    """A final report.

    latency_is_derived: pgbench measured no latency (no -P, -R, -L) and printed duration x clients / transactions.
    latency_includes_failures: that division counted failed transactions too.
    tps_including_connections: only before 14, beside tps.
    tps, latency_ms: None where no transaction was processed.
    statements: of the only script; with several, each of `scripts` has its own.
    partial: clients were aborted, and pgbench said that the result is incomplete.
    """

    version: str | None
    server_version: str | None
    transaction_type: str
    scale: int | None
    partition_method: str | None
    partitions: int | None
    query_mode: str | None
    clients: int
    threads: int | None
    max_tries: int | None
    duration_s: int | None
    transactions_per_client: int | None
    transactions: int
    transactions_wanted: int | None
    counts: Counts
    latency_limit_ms: float | None
    above_latency_limit: int | None
    latency_ms: float | None
    latency_stddev_ms: float | None
    latency_is_derived: bool
    latency_includes_failures: bool
    schedule_lag_ms: float | None
    schedule_lag_max_ms: float | None
    initial_connection_ms: float | None
    average_connection_ms: float | None
    tps: float | None
    tps_meaning: TpsMeaning | None
    tps_including_connections: float | None
    statements: tuple[Statement, ...]
    scripts: tuple[Script, ...]
    partial: bool
