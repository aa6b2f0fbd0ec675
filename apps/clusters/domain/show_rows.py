"""Rows of SHOW POOL_* and PGPOOL SHOW ALL turned into values.

Every column arrives as text and is bound by name, because columns were added between versions (3.7 to 4.7).
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

Row: TypeAlias = Mapping[str, str | None]
T = TypeVar("T")


class ShowRowError(ValueError):
    """A row of a SHOW command could not be read."""

    def __init__(self, column: str, value: str | None) -> None:
        seen = "the column is missing" if value is None else f"cannot read {value!r}"
        super().__init__(f"{column}: {seen}")
        self.column = column
        self.value = value


@dataclass(frozen=True, slots=True)
class PoolNode:
    """One row of SHOW POOL_NODES: what one pgpool believes about one backend."""

    node_id: int
    hostname: str
    port: int
    status: str
    pg_status: str | None  # a live probe, from 4.3; status changes only by health check and failover
    lb_weight: float | None  # None where pgpool prints -nan: all weights are 0
    role: str
    pg_role: str | None
    select_count: int
    load_balance_node: bool
    replication_delay_bytes: int | None
    replication_delay_s: float | None
    replication_state: str | None
    replication_sync_state: str | None
    last_status_change: str | None  # local time of the pgpool host, without a zone


@dataclass(frozen=True, slots=True)
class BackendStats:
    """One row of SHOW POOL_BACKEND_STATS; the counters restart at 0 with pgpool."""

    node_id: int
    hostname: str
    port: int
    status: str
    role: str
    select_count: int
    insert_count: int
    update_count: int
    delete_count: int
    ddl_count: int
    other_count: int
    panic_count: int
    fatal_count: int
    error_count: int

    @property
    def all_errors(self) -> int:
        return self.panic_count + self.fatal_count + self.error_count


@dataclass(frozen=True, slots=True)
class PoolCache:
    """The row of SHOW POOL_CACHE; all zeros while the query cache is off."""

    hit_count: int
    miss_count: int  # pgpool's num_selects counts the SELECTs that the cache did not answer
    hash_entries: int
    used_hash_entries: int
    entries: int
    used_bytes: int
    free_bytes: int
    fragment_bytes: int


@dataclass(frozen=True, slots=True)
class PoolProcess:
    """One child process of SHOW POOL_PROCESSES."""

    pid: int
    started: str
    client_connection_count: int | None  # sessions that ended, from 4.3; falls when the child is recycled
    database: str
    username: str
    status: str | None
    is_in_use: bool


def parse_pool_nodes(rows: Sequence[Row]) -> tuple[PoolNode, ...]:
    return tuple(_pool_node(row) for row in rows)


def parse_backend_stats(rows: Sequence[Row]) -> tuple[BackendStats, ...]:
    return tuple(_backend_stats(row) for row in rows)


def parse_pool_cache(rows: Sequence[Row]) -> PoolCache:
    """Raises ShowRowError unless there is exactly one row, as every version sends it."""
    if len(rows) != 1:
        raise ShowRowError("num_cache_hits", f"{len(rows)} rows")
    row = rows[0]
    return PoolCache(
        hit_count=_count(row, "num_cache_hits"),
        miss_count=_count(row, "num_selects"),
        hash_entries=_count(row, "num_hash_entries"),
        used_hash_entries=_count(row, "used_hash_entries"),
        entries=_count(row, "num_cache_entries"),
        used_bytes=_count(row, "used_cache_entries_size"),
        free_bytes=_count(row, "free_cache_entries_size"),
        fragment_bytes=_count(row, "fragment_cache_entries_size"),
    )


def parse_pool_processes(rows: Sequence[Row]) -> tuple[PoolProcess, ...]:
    return tuple(_pool_process(row) for row in rows)


def parse_show_all(rows: Sequence[Row]) -> dict[str, str]:
    """PGPOOL SHOW ALL: parameter name -> value as pgpool prints it (with units; passwords as *****)."""
    return {_text(row, "item"): (row.get("value") or "").rstrip("\n") for row in rows}


def parse_pool_version(text: str) -> str:
    """The number in "4.3.5 (tamahomeboshi)". Raises ShowRowError if there is none."""
    match = re.search(r"\d+\.\d+(?:\.\d+)?", text)
    if match is None:
        raise ShowRowError("pool_version", text)
    return match.group()


def _pool_node(row: Row) -> PoolNode:
    delay_bytes, delay_s = _replication_delay(row)
    return PoolNode(
        node_id=_count(row, "node_id"),
        hostname=_text(row, "hostname"),
        port=_count(row, "port"),
        status=_text(row, "status"),
        pg_status=_optional_text(row, "pg_status"),
        lb_weight=_share(row, "lb_weight"),
        role=_text(row, "role"),
        pg_role=_optional_text(row, "pg_role"),
        select_count=_count(row, "select_cnt"),
        load_balance_node=_text(row, "load_balance_node") == "true",
        replication_delay_bytes=delay_bytes,
        replication_delay_s=delay_s,
        replication_state=_optional_text(row, "replication_state"),
        replication_sync_state=_optional_text(row, "replication_sync_state"),
        last_status_change=_optional_text(row, "last_status_change"),
    )


def _backend_stats(row: Row) -> BackendStats:
    return BackendStats(
        node_id=_count(row, "node_id"),
        hostname=_text(row, "hostname"),
        port=_count(row, "port"),
        status=_text(row, "status"),
        role=_text(row, "role"),
        select_count=_count(row, "select_cnt"),
        insert_count=_count(row, "insert_cnt"),
        update_count=_count(row, "update_cnt"),
        delete_count=_count(row, "delete_cnt"),
        ddl_count=_count(row, "ddl_cnt"),
        other_count=_count(row, "other_cnt"),
        panic_count=_count(row, "panic_cnt"),
        fatal_count=_count(row, "fatal_cnt"),
        error_count=_count(row, "error_cnt"),
    )


def _pool_process(row: Row) -> PoolProcess:
    database = row.get("database") or ""
    status = _optional_text(row, "status")
    return PoolProcess(
        pid=_count(row, "pool_pid"),
        # "2026-11-20 17:10:00 (5:00 before process restarting)"
        started=_text(row, "start_time").partition(" (")[0],
        client_connection_count=_optional_count(row, "client_connection_count"),
        database=database,
        username=row.get("username") or "",
        status=status,
        is_in_use=bool(database) if status is None else status != "Wait for connection",
    )


def _replication_delay(row: Row) -> tuple[int | None, float | None]:
    """(bytes, None), or (None, seconds) where delay_threshold_by_time makes pgpool print "0.5 second" (4.4+)."""
    text = _optional_text(row, "replication_delay")
    if text is None:
        return None, None
    if text.endswith(("second", "seconds")):
        return None, _read(row, "replication_delay", lambda value: float(value.split()[0]))
    return _read(row, "replication_delay", int), None


def _share(row: Row, column: str) -> float | None:
    share = _read(row, column, float)
    return share if math.isfinite(share) else None


def _count(row: Row, column: str) -> int:
    return _read(row, column, int)


def _optional_count(row: Row, column: str) -> int | None:
    return None if not row.get(column) else _count(row, column)


def _optional_text(row: Row, column: str) -> str | None:
    return row.get(column) or None


def _text(row: Row, column: str) -> str:
    return _read(row, column, str)


def _read(row: Row, column: str, read: Callable[[str], T]) -> T:
    text = row.get(column)
    if text is None:
        raise ShowRowError(column, None)
    try:
        return read(text)
    except (ValueError, IndexError) as error:
        raise ShowRowError(column, text) from error
