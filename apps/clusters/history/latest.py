"""Rewrites the latest rows in place, one statement per table and tick. What did not change keeps its "since"."""

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection


class InstanceNow(NamedTuple):
    """A pgpool instance now. answered_at None: this attempt failed, the time of the latest answer stays."""

    instance_id: int
    polled_at: dt.datetime
    answered_at: dt.datetime | None
    state: str
    reason: str
    probe_ms: float | None
    children_used: int | None
    children_total: int | None
    session_count: int | None
    sessions_reason: str
    cache_hit_count: int | None
    cache_miss_count: int | None
    epoch: int
    tick: int
    counted_since: dt.datetime | None = None
    cache_row: str | None = None


class NodeNow(NamedTuple):
    """What the cheap SHOWs say about a backend (POOL_BACKEND_STATS)."""

    instance_id: int
    node_id: int
    seen_at: dt.datetime
    status: str
    role: str
    select_count: int | None
    error_count: int | None = None


class PoolNodeNow(NamedTuple):
    """What only SHOW POOL_NODES says about a backend."""

    instance_id: int
    node_id: int
    seen_at: dt.datetime
    pg_status: str
    pg_role: str
    lb_weight: float | None
    replication_delay_bytes: int | None
    replication_delay_s: float | None
    replication_state: str
    replication_sync_state: str


class BackendNow(NamedTuple):
    """A backend asked directly now."""

    backend_id: int
    polled_at: dt.datetime
    answered_at: dt.datetime | None
    reason: str
    is_in_recovery: bool | None
    probe_ms: float | None
    server_version: str
    lsn_bytes: int | None
    replay_lag_s: float | None
    replay_lag_bytes: int | None
    lag_reason: str
    replication_state: str
    sync_state: str
    lag_over_at: dt.datetime | None = None
    connection_limit: int | None = None


_INSTANCES = """
INSERT INTO clusters_instance_latest AS old (
    instance_id, polled_at, answered_at, state, reason, probe_ms, children_used, children_total, session_count,
    sessions_reason, cache_hit_count, cache_miss_count, epoch, tick, counted_since, cache_row, state_since)
SELECT new.*, new.polled_at FROM unnest(
    %s::bigint[], %s::timestamptz[], %s::timestamptz[], %s::text[], %s::text[], %s::float8[], %s::int[], %s::int[],
    %s::bigint[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::timestamptz[], %s::jsonb[]
) AS new (instance_id, polled_at, answered_at, state, reason, probe_ms, children_used, children_total, session_count,
    sessions_reason, cache_hit_count, cache_miss_count, epoch, tick, counted_since, cache_row)
ON CONFLICT (instance_id) DO UPDATE SET
    polled_at = excluded.polled_at,
    answered_at = coalesce(excluded.answered_at, old.answered_at),
    state = excluded.state,
    state_since = CASE WHEN old.state = excluded.state THEN old.state_since ELSE excluded.state_since END,
    reason = excluded.reason,
    probe_ms = excluded.probe_ms,
    children_used = excluded.children_used,
    children_total = coalesce(excluded.children_total, old.children_total),
    session_count = coalesce(excluded.session_count, old.session_count),
    sessions_reason = excluded.sessions_reason,
    cache_hit_count = excluded.cache_hit_count,
    cache_miss_count = excluded.cache_miss_count,
    epoch = excluded.epoch,
    tick = excluded.tick,
    counted_since = coalesce(excluded.counted_since, old.counted_since),
    cache_row = coalesce(excluded.cache_row, old.cache_row)
"""

_NODES = """
INSERT INTO clusters_node_latest AS old (
    instance_id, node_id, seen_at, status, role, select_count, error_count, status_since, weight_since,
    pg_status, pg_role, replication_state, replication_sync_state)
SELECT new.*, new.seen_at, new.seen_at, '', '', '', '' FROM unnest(
    %s::bigint[], %s::smallint[], %s::timestamptz[], %s::text[], %s::text[], %s::bigint[], %s::bigint[]
) AS new (instance_id, node_id, seen_at, status, role, select_count, error_count)
ON CONFLICT (instance_id, node_id) DO UPDATE SET
    seen_at = excluded.seen_at,
    status = excluded.status,
    status_since = CASE WHEN old.status = excluded.status THEN old.status_since ELSE excluded.status_since END,
    role = excluded.role,
    role_since = CASE WHEN old.role = excluded.role THEN old.role_since ELSE excluded.seen_at END,
    select_count = coalesce(excluded.select_count, old.select_count),
    error_count = coalesce(excluded.error_count, old.error_count)
"""

_POOL_NODES = """
UPDATE clusters_node_latest AS old SET
    pg_status = new.pg_status,
    pg_role = new.pg_role,
    weight_since = CASE WHEN old.lb_weight IS NOT DISTINCT FROM new.lb_weight THEN old.weight_since
                        ELSE new.seen_at END,
    lb_weight = new.lb_weight,
    figures_at = new.seen_at,
    replication_delay_bytes = new.replication_delay_bytes,
    replication_delay_s = new.replication_delay_s,
    replication_state = new.replication_state,
    replication_sync_state = new.replication_sync_state
FROM unnest(
    %s::bigint[], %s::smallint[], %s::timestamptz[], %s::text[], %s::text[], %s::float8[], %s::bigint[], %s::float8[],
    %s::text[], %s::text[]
) AS new (instance_id, node_id, seen_at, pg_status, pg_role, lb_weight, replication_delay_bytes, replication_delay_s,
    replication_state, replication_sync_state)
WHERE old.instance_id = new.instance_id AND old.node_id = new.node_id
"""

_BACKENDS = """
INSERT INTO clusters_backend_latest AS old (
    backend_id, polled_at, answered_at, reason, is_in_recovery, probe_ms, server_version, lsn_bytes, replay_lag_s,
    replay_lag_bytes, lag_reason, replication_state, sync_state, lag_over_at, connection_limit)
SELECT new.* FROM unnest(
    %s::bigint[], %s::timestamptz[], %s::timestamptz[], %s::text[], %s::bool[], %s::float8[], %s::text[], %s::bigint[],
    %s::float8[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::timestamptz[],
    %s::integer[]
) AS new
ON CONFLICT (backend_id) DO UPDATE SET
    polled_at = excluded.polled_at,
    answered_at = coalesce(excluded.answered_at, old.answered_at),
    reason = excluded.reason,
    is_in_recovery = excluded.is_in_recovery,
    probe_ms = excluded.probe_ms,
    server_version = coalesce(nullif(excluded.server_version, ''), old.server_version),
    lsn_bytes = excluded.lsn_bytes,
    replay_lag_s = excluded.replay_lag_s,
    replay_lag_bytes = excluded.replay_lag_bytes,
    lag_reason = excluded.lag_reason,
    replication_state = excluded.replication_state,
    sync_state = excluded.sync_state,
    lag_over_at = excluded.lag_over_at,
    connection_limit = coalesce(excluded.connection_limit, old.connection_limit)
"""


def rewrite(
    *,
    instances: Sequence[InstanceNow] = (),
    nodes: Sequence[NodeNow] = (),
    pool_nodes: Sequence[PoolNodeNow] = (),
    backends: Sequence[BackendNow] = (),
) -> None:
    """Put what is known now in place of what was known before. pool_nodes only touches rows that nodes has made."""
    _write(_INSTANCES, instances)
    _write(_NODES, nodes)
    _write(_POOL_NODES, pool_nodes)
    _write(_BACKENDS, backends)


def _write(statement: str, rows: Sequence[tuple[object, ...]]) -> None:
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(statement, [list(column) for column in zip(*rows, strict=True)])
