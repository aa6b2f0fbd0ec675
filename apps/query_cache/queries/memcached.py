"""The memcacheds that the pgpools of a cluster cache in, as pages and REST tell them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from apps.clusters.domain.memcached import MemcachedState, MemcachedStats
from apps.clusters.models import InstanceLatest, PgpoolInstance
from apps.clusters.queries.memcached import in_state, memcached_seen, memcacheds_now
from apps.query_cache.queries.shapes import MemcachedAnswer, MemcachedNote

# Worst first; one that is alive needs no note.
_NOTED = (MemcachedState.FROZEN, MemcachedState.GONE, MemcachedState.UNREACHABLE)


def memcached_answer(latest: InstanceLatest | None) -> MemcachedAnswer | None:
    seen = memcached_seen(latest)
    if seen is None:
        return None
    stats = seen.told.stats or MemcachedStats("")
    return {
        "state": seen.state.value,
        "reason": seen.told.reason,
        "place": seen.asked,
        "since": seen.since,
        "asked_at": seen.asked_at,
        "items": stats.items,
        "used_bytes": stats.used_bytes,
        "limit_bytes": stats.limit_bytes,
        "evictions": stats.evictions,
        "uptime_s": stats.uptime_s,
    }


def memcached_notes(instances: Sequence[PgpoolInstance], *, now: datetime) -> list[MemcachedNote]:
    """Of those that are not alive."""
    seen = memcacheds_now(((one.name, getattr(one, "latest", None)) for one in instances), now=now)
    return [
        {
            "state": one.seen.state.value,
            "place": one.seen.asked,
            "pgpools": list(one.pgpools),
            "since": one.seen.since,
            "headline": one.headline,
            "sentence": one.consequence,
        }
        for state in _NOTED
        for one in in_state(seen, state)
    ]
