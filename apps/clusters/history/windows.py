"""What was counted in a window of time, per pgpool instance: the evidence of the verdict."""

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from apps.clusters.domain import cache_counters
from apps.clusters.domain.cache_counters import CacheCounts
from apps.clusters.models import Cluster, InstanceLatest, PgpoolInstance

# How far before the window the sample may lie that its first increase is counted from.
LOOK_BACK_S = 15.0
NOT_COUNTED = "sessions were not counted in this time"

_SELECT_COUNTS = """
WITH raw AS (
    SELECT instance_id, node_id, at, select_count, lag(select_count) OVER series AS earlier,
           lag(at) OVER series AS earlier_at
    FROM clusters_node_sample
    WHERE instance_id = ANY(%(instances)s) AND at > %(from)s AND at <= %(end)s AND select_count IS NOT NULL
    WINDOW series AS (PARTITION BY instance_id, node_id ORDER BY at)
), marked AS (
    SELECT *, bool_or(select_count < earlier) OVER (PARTITION BY instance_id, at) AS is_restart FROM raw
)
SELECT instance_id, node_id, sum(CASE WHEN is_restart THEN select_count ELSE select_count - earlier END)::bigint,
       bool_or(is_restart), min(earlier_at), max(at)
FROM marked WHERE earlier IS NOT NULL AND at > %(start)s
GROUP BY instance_id, node_id ORDER BY instance_id, node_id
"""

_SESSIONS = """
WITH raw AS (
    SELECT instance_id, at, session_count, children_used,
           lag(session_count) OVER series AS earlier,
           row_number() OVER (PARTITION BY instance_id ORDER BY at DESC) AS from_end
    FROM clusters_instance_sample
    WHERE instance_id = ANY(%(instances)s) AND at > %(from)s AND at <= %(end)s AND session_count IS NOT NULL
    WINDOW series AS (PARTITION BY instance_id ORDER BY at)
)
SELECT instance_id,
       sum(CASE WHEN session_count < earlier THEN session_count ELSE session_count - earlier END)::bigint,
       max(children_used) FILTER (WHERE from_end = 1)
FROM raw WHERE earlier IS NOT NULL AND at > %(start)s GROUP BY instance_id
"""

_CACHE = """
WITH raw AS (
    SELECT instance_id, at, cache_hit_count AS hits, cache_miss_count AS misses, cache_entry_count AS entries,
           lag(cache_entry_count) OVER series AS earlier_entries,
           lag(cache_hit_count) OVER series AS earlier_hits, lag(cache_miss_count) OVER series AS earlier_misses
    FROM clusters_instance_sample
    WHERE instance_id = ANY(%(instances)s) AND at > %(from)s AND at <= %(end)s
      AND cache_hit_count IS NOT NULL AND cache_miss_count IS NOT NULL
    WINDOW series AS (PARTITION BY instance_id ORDER BY at)
), marked AS (
    SELECT *, hits < earlier_hits OR misses < earlier_misses AS is_restart FROM raw WHERE earlier_hits IS NOT NULL
)
SELECT instance_id, sum(CASE WHEN is_restart THEN hits ELSE hits - earlier_hits END)::bigint,
       sum(CASE WHEN is_restart THEN misses ELSE misses - earlier_misses END)::bigint,
       sum(greatest(earlier_entries - entries, 0)) FILTER (WHERE NOT is_restart)::bigint
FROM marked WHERE at > %(start)s GROUP BY instance_id
"""


@dataclass(frozen=True)
class InstanceWindow:
    """One pgpool in a window of time.

    select_counts: node_id -> SELECTs routed there; empty if fewer than two samples lie in the window.
    sessions: ended within, or open at the end; None with sessions_reason where they could not be counted.
    cache_hits, cache_misses: SELECTs that the query cache answered, and num_selects; None without two samples.
    dropped_entries: by how many its entries fell from sample to sample; None before they were counted.
    start, end: the samples that were compared; None without any.
    """

    instance_id: int
    name: str
    select_counts: Mapping[int, int] = field(default_factory=dict)
    sessions: int | None = None
    sessions_reason: str = ""
    is_restarted: bool = False
    cache_hits: int | None = None
    cache_misses: int | None = None
    dropped_entries: int | None = None
    start: dt.datetime | None = None
    end: dt.datetime | None = None

    @property
    def cache_counts(self) -> CacheCounts | None:
        """With the reads of the same time; None where its query cache was not counted."""
        if self.cache_hits is None or self.cache_misses is None:
            return None
        reads = sum(self.select_counts.values()) if self.select_counts else None
        return cache_counters.counted(hits=self.cache_hits, selects=self.cache_misses, reads=reads)


def window_counts(
    *, cluster: Cluster, start: dt.datetime, end: dt.datetime, only: Collection[int] | None = None
) -> tuple[InstanceWindow, ...]:
    """One entry per pgpool instance of the cluster, by name. only: keys of the instances that are asked for."""
    known = PgpoolInstance.objects.filter(cluster=cluster).select_related("latest").defer("pcp_password")
    if only is not None:
        known = known.filter(pk__in=only)
    instances = list(known.order_by("name"))
    parameters: dict[str, Any] = {
        "instances": [one.pk for one in instances],
        "start": start,
        "end": end,
        "from": start - dt.timedelta(seconds=LOOK_BACK_S),
    }
    reads: dict[int, list[tuple[int, int, bool, dt.datetime, dt.datetime]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_SELECT_COUNTS, parameters)
        for instance_id, *counted in cursor.fetchall():
            reads.setdefault(instance_id, []).append((counted[0], counted[1], counted[2], counted[3], counted[4]))
        cursor.execute(_SESSIONS, parameters)
        sessions = {instance_id: (ended, still_open) for instance_id, ended, still_open in cursor.fetchall()}
        cursor.execute(_CACHE, parameters)
        cached = {instance_id: (hits, misses, dropped) for instance_id, hits, misses, dropped in cursor.fetchall()}
    return tuple(
        _window(one, reads.get(one.pk, []), sessions.get(one.pk), cached.get(one.pk, (None, None, None)))
        for one in instances
    )


def _window(
    instance: PgpoolInstance,
    reads: list[tuple[int, int, bool, dt.datetime, dt.datetime]],
    counted: tuple[int, int | None] | None,
    cached: tuple[int | None, int | None, int | None],
) -> InstanceWindow:
    sessions = None if counted is None or counted[1] is None else counted[0] + counted[1]
    return InstanceWindow(
        instance_id=instance.pk,
        name=instance.name,
        select_counts={node_id: count for node_id, count, *_ in reads},
        sessions=sessions,
        sessions_reason="" if sessions is not None else _reason(instance),
        cache_hits=cached[0],
        cache_misses=cached[1],
        dropped_entries=cached[2],
        is_restarted=any(is_restart for _, _, is_restart, _, _ in reads),
        start=min((since for *_, since, _ in reads), default=None),
        end=max((until for *_, until in reads), default=None),
    )


def _reason(instance: PgpoolInstance) -> str:
    latest: InstanceLatest | None = getattr(instance, "latest", None)
    return (latest.sessions_reason if latest else "") or NOT_COUNTED
