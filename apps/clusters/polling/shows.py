"""What is asked of a pgpool on a kept session, and how its answers are read."""

import asyncio
import datetime as dt
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from apps.clusters.domain.conf_secrets import mask_value
from apps.clusters.domain.show_rows import (
    BackendStats,
    PoolCache,
    PoolNode,
    PoolProcess,
    ShowRowError,
    parse_backend_stats,
    parse_pool_cache,
    parse_pool_nodes,
    parse_pool_processes,
    parse_pool_version,
)
from apps.clusters.outside.pgpool_client import PgpoolConnection, PgpoolUnreachable, is_unknown_to_pgpool
from apps.clusters.polling.readings import PoolSettings

# PGPOOL SHOW prints sizes as "1001B" or "2MB", times as "221s", and nothing but 0 without a unit.
_SECONDS: Final = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86400}
_BYTES: Final = {"": 1, "B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
# The release that brought delay_threshold_by_time.
BY_TIME_SINCE: Final = (4, 4)


@dataclass(frozen=True)
class CheapShows:
    """The SHOWs that cost pgpool a tenth of a millisecond. backend_stats is empty before 4.2, which lacks it.

    weights: as PGPOOL SHOW prints them, cut to integers.
    """

    backend_stats: tuple[BackendStats, ...]
    cache: PoolCache
    processes: tuple[PoolProcess, ...]
    weights: dict[str, int]


async def cheap_shows(connection: PgpoolConnection, *, deadline_s: float) -> CheapShows:
    """All of them within deadline_s. Raises PgpoolUnreachable or ShowRowError."""
    left = _Deadline(deadline_s)
    try:
        stats = parse_backend_stats(await connection.show("SHOW pool_backend_stats", deadline_s=left.s()))
    except PgpoolUnreachable as error:
        if not is_unknown_to_pgpool(error):
            raise
        stats = ()
    cache = parse_pool_cache(await connection.show("SHOW pool_cache", deadline_s=left.s()))
    processes = parse_pool_processes(await connection.show("SHOW pool_processes", deadline_s=left.s()))
    return CheapShows(stats, cache, processes, await _weights(connection, left))


async def pool_nodes(connection: PgpoolConnection, *, deadline_s: float) -> tuple[PoolNode, ...]:
    """Not cheap: pgpool connects to every backend for it. Raises PgpoolUnreachable or ShowRowError."""
    return parse_pool_nodes(await connection.show("SHOW pool_nodes", deadline_s=deadline_s))


async def pool_settings(connection: PgpoolConnection, *, deadline_s: float, also: Collection[str] = ()) -> PoolSettings:
    """also: names of further parameters to show. Raises PgpoolUnreachable or ShowRowError."""
    left, asked_at = _Deadline(deadline_s), dt.datetime.now(dt.UTC)
    [row, *_] = await connection.show("SHOW pool_version", deadline_s=left.s()) or [{}]
    version = parse_pool_version(row.get("pool_version") or "")
    children = await _shown(connection, "num_init_children", left)
    statement_level = await _shown(connection, "statement_level_load_balance", left)
    delay_threshold = await _shown(connection, "delay_threshold", left)
    knows_time = _release(version) >= BY_TIME_SINCE
    by_time = await _shown(connection, "delay_threshold_by_time", left) if knows_time else None
    others = {name: await _shown(connection, name, left) for name in also}
    return PoolSettings(
        version=version,
        children_total=int(children) if children is not None and children.isdigit() else None,
        is_statement_level=statement_level == "on",
        delay_threshold_bytes=size_bytes(delay_threshold),
        delay_threshold_s=duration_s(by_time),
        weights=await _weights(connection, left),
        others={name: value for name, value in others.items() if value is not None},
        running=await _running(connection, left),
        asked_at=asked_at,
    )


def _release(version: str) -> tuple[int, ...]:
    """ "4.3.5" -> (4, 3)."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def size_bytes(text: str | None) -> int | None:
    """ "2MB" -> 2097152; None for what is no size."""
    match = re.fullmatch(r"(\d+)\s*([kMGT]?B?)", text or "")
    if match is None or match[2] not in _BYTES:
        return None
    return int(match[1]) * _BYTES[match[2]]


def duration_s(text: str | None) -> float | None:
    """ "500ms" -> 0.5; None for what is no duration."""
    match = re.fullmatch(r"(\d+)\s*(ms|s|min|h|d)", text or "")
    if match is None:
        return 0.0 if text == "0" else None
    return int(match[1]) * _SECONDS[match[2]]


async def _weights(connection: PgpoolConnection, left: "_Deadline") -> dict[str, int]:
    """The raw weights; none where this version does not show its backends as a group."""
    try:
        rows = await connection.show("PGPOOL SHOW backend", deadline_s=left.s())
    except PgpoolUnreachable as error:
        if is_unknown_to_pgpool(error):
            return {}
        raise
    found = {}
    for row in rows:
        name, value = row.get("item") or "", row.get("value") or ""
        if (match := re.fullmatch(r"backend_weight(\d+)", name)) and value.isdigit():
            found[match[1]] = int(value)
    return found


async def _running(connection: PgpoolConnection, left: "_Deadline") -> dict[str, str]:
    """Every parameter that this version shows, secrets masked: it does not mask all of them itself."""
    rows = await connection.show("PGPOOL SHOW ALL", deadline_s=left.s())
    values = {row.get("item") or "": row.get("value") or "" for row in rows}
    return {name: mask_value(name, value) for name, value in values.items() if name}


async def _shown(connection: PgpoolConnection, name: str, left: "_Deadline") -> str | None:
    """The value of a setting; None where this version does not have it."""
    try:
        rows = await connection.show(f"PGPOOL SHOW {name}", deadline_s=left.s())
    except PgpoolUnreachable as error:
        if is_unknown_to_pgpool(error):
            return None
        raise
    if not rows:
        raise ShowRowError(name, None)
    return rows[0].get(name)


class _Deadline:
    """One deadline for several questions."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + seconds

    def s(self) -> float:
        return max(self._end - self._loop.time(), 0.001)
