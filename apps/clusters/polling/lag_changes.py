"""When a standby falls behind by more than pgpool puts up with, and when it has caught up: once per cluster."""

import datetime as dt
from collections.abc import Mapping

from apps.clusters.domain.lag import DelayThreshold
from apps.clusters.polling.changes import Change
from apps.clusters.polling.lags import KnownLag
from apps.clusters.polling.memory import ClusterMemory
from apps.clusters.polling.readings import Tick
from apps.clusters.polling.registry import WatchedBackend, WatchedCluster

# pgpool looks every sr_check_period, 10 s unless told; a lag that swings around the threshold is told once.
BACK_AFTER = dt.timedelta(seconds=10)


def lag_changes(
    *, cluster: WatchedCluster, memory: ClusterMemory, tick: Tick, lags: Mapping[int, KnownLag]
) -> list[Change]:
    """Compare each standby's lag with delay_threshold, and bring the memory up to date."""
    found = [_lag_change(backend, cluster.delay_threshold, memory, tick, lags) for backend in cluster.backends]
    return [change for change in found if change is not None]


def _lag_change(
    backend: WatchedBackend,
    threshold: DelayThreshold,
    memory: ClusterMemory,
    tick: Tick,
    lags: Mapping[int, KnownLag],
) -> Change | None:
    node_id, lag = backend.node_id, lags.get(backend.backend_id)
    is_standby = lag.is_standby if lag is not None else node_id != memory.primary
    if not is_standby or not threshold.is_set:
        memory.lag_over_at.pop(node_id, None)
        return None
    lag_bytes, lag_s = _furthest(node_id, tick, lag)
    is_over = threshold.is_exceeded(lag_bytes=lag_bytes, lag_s=lag_s)
    over_at = memory.lag_over_at.get(node_id)
    if is_over:
        memory.lag_over_at[node_id] = tick.at
        if over_at is not None:
            return None
        detail = f"{_behind(lag_bytes, lag_s)}; {_limit(threshold)}. pgpool sends its reads elsewhere meanwhile."
        return Change("backend", f"{backend.name} lags too far behind", detail, is_problem=True, node_id=node_id)
    if over_at is None or is_over is None or tick.at - over_at < BACK_AFTER:
        return None
    del memory.lag_over_at[node_id]
    return Change("backend", f"{backend.name} has caught up", "It may be given reads again.", node_id=node_id)


def _furthest(node_id: int, tick: Tick, lag: KnownLag | None) -> tuple[int | None, float | None]:
    """Bytes and seconds, from the primary itself; where it does not say, the worst that a pgpool saw."""
    rows = [row for one in tick.instances for row in one.pool_nodes if row.node_id == node_id]
    seen_bytes = [row.replication_delay_bytes for row in rows if row.replication_delay_bytes is not None]
    seen_s = [row.replication_delay_s for row in rows if row.replication_delay_s is not None]
    lag_bytes = lag.lag_bytes if lag is not None else None
    lag_s = lag.lag_s if lag is not None else None
    return (
        max(seen_bytes, default=None) if lag_bytes is None else lag_bytes,
        max(seen_s, default=None) if lag_s is None else lag_s,
    )


def _behind(lag_bytes: int | None, lag_s: float | None) -> str:
    figures = [
        *([] if lag_bytes is None else [f"{lag_bytes:,} bytes"]),
        *([] if lag_s is None else [f"{lag_s:.1f} s"]),
    ]
    return f"Its replay is {' and '.join(figures)} behind"


def _limit(threshold: DelayThreshold) -> str:
    if threshold.time_s:
        return f"delay_threshold_by_time is {threshold.time_s:g} s"
    return f"delay_threshold is {threshold.size_bytes:,} bytes"
