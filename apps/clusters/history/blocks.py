"""The reads of pgpools in blocks of time under weights that stayed the same: how far chance moves their shares."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from django.db import connection

from apps.clusters.domain.draws import BLOCK_S, SPAN_S, draws_per_read

# Sessions from before a change go on for a while as they were drawn.
SETTLE = dt.timedelta(seconds=20)

# A counter that fell was reset, and what was counted over a gap belongs to no block.
_BLOCKS = """
WITH raw AS (
    SELECT instance_id, node_id, at, select_count, lag(select_count) OVER series AS earlier,
           lag(at) OVER series AS earlier_at
    FROM unnest(%(ids)s::bigint[], %(starts)s::timestamptz[]) AS wanted (id, start)
    JOIN clusters_node_sample ON instance_id = id AND at >= start
    WHERE at >= %(earliest)s AND select_count IS NOT NULL
    WINDOW series AS (PARTITION BY instance_id, node_id ORDER BY at)
)
SELECT instance_id, floor(extract(epoch FROM at) / %(block_s)s)::bigint AS block, node_id,
       sum(greatest(select_count - earlier, 0))::bigint
FROM raw WHERE at - earlier_at <= %(block_s)s * interval '1 s' GROUP BY instance_id, block, node_id
"""


def measured_draws_per_read(*, changed_at: Mapping[int, dt.datetime | None], now: dt.datetime) -> dict[int, float]:
    """Instance id -> independent draws per read in the latest half hour; only those of which the samples tell it.

    changed_at: per instance that is asked for, the latest change of its weights or of a backend's status.
    """
    if not changed_at:
        return {}
    oldest = now - dt.timedelta(seconds=SPAN_S)
    starts = {one: max(oldest, at + SETTLE) if at else oldest for one, at in changed_at.items()}
    parameters: dict[str, Any] = {
        "ids": list(starts),
        "starts": list(starts.values()),
        "earliest": min(starts.values()),
        "block_s": BLOCK_S,
    }
    found: dict[int, dict[int, dict[int, int]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_BLOCKS, parameters)
        for instance_id, block, node_id, reads in cursor.fetchall():
            found.setdefault(instance_id, {}).setdefault(block, {})[node_id] = reads
    measured = {instance_id: draws_per_read(_in_order(blocks)) for instance_id, blocks in found.items()}
    return {instance_id: draws for instance_id, draws in measured.items() if draws is not None}


def _in_order(blocks: Mapping[int, Mapping[int, int]]) -> list[Mapping[int, int]]:
    """Blocks without a sample are empty ones: neighbours stay neighbours."""
    return [blocks.get(number, {}) for number in range(min(blocks), max(blocks) + 1)]
