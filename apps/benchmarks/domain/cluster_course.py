"""What the cluster did beside a load, from poll to poll: shares of reads, cache, lag, WAL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

# Of one run: enough for a chart, and little beside the figures of its seconds.
MOST_POINTS = 1000


@dataclass(frozen=True)
class Look:
    """What one poll has stored. at_s: since the measurement began.

    selects: pgpool -> node_id -> SELECTs since it started. cache: pgpool -> hits and misses. lag_s: standby -> seconds.
    written: when the primary was asked, in seconds of any clock, and its WAL position in bytes.
    """

    at_s: float
    selects: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    cache: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    lag_s: Mapping[str, float | None] = field(default_factory=dict)
    written: tuple[float, int] | None = None


class ClusterPoint(TypedDict):
    """The time since the point before. None: nothing to tell, or a counter began anew.

    read_shares: node_id -> share of the reads of all pgpools. cache_hit_share: of the query cache of all pgpools.
    replay_lag_s: by standby, at this moment. wal_bytes_per_s: written by the primary.
    """

    at_s: float
    read_shares: dict[str, float] | None
    cache_hit_share: float | None
    replay_lag_s: dict[str, float | None]
    wal_bytes_per_s: float | None


def point(before: Look | None, now: Look) -> ClusterPoint:
    """before: None for the first look, which tells only what holds at its moment."""
    return {
        "at_s": round(now.at_s, 1),
        "read_shares": None if before is None else _read_shares(before, now),
        "cache_hit_share": None if before is None else _cache_hit_share(before, now),
        "replay_lag_s": dict(now.lag_s),
        "wal_bytes_per_s": None if before is None else _written_per_s(before, now),
    }


def gap_s(duration_s: float) -> float:
    """The least time between two points, so that there are never more than MOST_POINTS."""
    return duration_s / MOST_POINTS


def _read_shares(before: Look, now: Look) -> dict[str, float] | None:
    total: dict[str, int] = {}
    for name, nodes in now.selects.items():
        for node, count in nodes.items():
            grown = count - before.selects.get(name, {}).get(node, count + 1)
            if grown < 0:
                return None
            total[node] = total.get(node, 0) + grown
    reads = sum(total.values())
    return {node: round(count / reads, 4) for node, count in sorted(total.items())} if reads else None


def _cache_hit_share(before: Look, now: Look) -> float | None:
    hits = misses = 0
    for name, (hit, missed) in now.cache.items():
        if name not in before.cache:
            return None
        more_hits, more_misses = hit - before.cache[name][0], missed - before.cache[name][1]
        if min(more_hits, more_misses) < 0:
            return None
        hits, misses = hits + more_hits, misses + more_misses
    return round(hits / (hits + misses), 4) if hits + misses else None


def _written_per_s(before: Look, now: Look) -> float | None:
    if before.written is None or now.written is None:
        return None
    seconds, size = now.written[0] - before.written[0], now.written[1] - before.written[1]
    return round(size / seconds, 1) if seconds > 0 and size >= 0 else None
