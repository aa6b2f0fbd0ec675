"""The metrics that charts may ask for: how each is computed from samples in SQL.

Every statement takes the parameters owners (ids), start, end, width_s, reach_s and returns rows
(owner_id or None, node_id or None, at, value or None): one per series and bucket, its latest instant as at.
"""
# ruff: noqa: S608  statements are put together from constants of this file; every value is a parameter

from dataclasses import dataclass
from typing import Literal

Owner = Literal["instance", "backend"]

# Samples of one pgpool with their increase since the sample before. The counters of one pgpool restart together: one
# that falls tells that all did, also those that have already passed their earlier value again.
# A look-back of 60 s finds the sample before the first one asked for.
_READS = """
WITH raw AS (
    SELECT instance_id, node_id, at, select_count,
           lag(select_count) OVER series AS earlier,
           extract(epoch FROM at - lag(at) OVER series) AS elapsed_s
    FROM clusters_node_sample
    WHERE instance_id = ANY(%(owners)s) AND at > %(start)s - interval '60 s' AND at <= %(end)s
      AND select_count IS NOT NULL
    WINDOW series AS (PARTITION BY instance_id, node_id ORDER BY at)
), marked AS (
    SELECT *, bool_or(select_count < earlier) OVER (PARTITION BY instance_id, at) AS is_restart FROM raw
), grown AS (
    SELECT instance_id, node_id, at, elapsed_s, is_restart,
           CASE WHEN is_restart THEN select_count ELSE select_count - earlier END AS increase,
           floor(extract(epoch FROM at - %(start)s) / %(width_s)s) AS bucket
    FROM marked WHERE earlier IS NOT NULL
)
"""

# The time since a restart is not known, so it has an increase but no rate.
_RATES = (
    _READS
    + """, rates AS (
    SELECT instance_id, node_id, bucket, max(at) AS at, sum(increase) / nullif(sum(elapsed_s), 0) AS rate
    FROM grown WHERE at > %(start)s AND NOT is_restart GROUP BY 1, 2, 3
)
"""
)

_READS_PER_S = (
    _RATES + "SELECT NULL::bigint, node_id, max(at), sum(rate) FROM rates GROUP BY bucket, node_id ORDER BY 3"
)
_READS_PER_S_TOTAL = _RATES + "SELECT NULL::bigint, NULL::int, max(at), sum(rate) FROM rates GROUP BY bucket ORDER BY 3"
_READS_PER_S_BY_INSTANCE = (
    _RATES + "SELECT instance_id, NULL::int, max(at), sum(rate) FROM rates GROUP BY bucket, instance_id ORDER BY 3"
)

# A share of two seconds' reads is noise: each point looks back over reach_s, at least ten seconds.
_READ_SHARE = (
    _READS
    + """, ticks AS (
    SELECT at, bucket, node_id, sum(increase) AS reads FROM grown GROUP BY 1, 2, 3
), reached AS (
    SELECT at, bucket, node_id,
           sum(reads) OVER (PARTITION BY node_id ORDER BY at RANGE %(reach_s)s * interval '1 s' PRECEDING) AS reads,
           sum(reads) OVER (ORDER BY at RANGE %(reach_s)s * interval '1 s' PRECEDING) AS all_reads
    FROM ticks
)
SELECT DISTINCT ON (bucket, node_id) NULL::bigint, node_id, at, reads / nullif(all_reads, 0)
FROM reached WHERE at > %(start)s ORDER BY bucket, node_id, at DESC
"""
)

# num_selects of SHOW pool_cache counts what the cache did not answer; its own ratio is one since pgpool started.
_CACHE_HIT_RATIO = """
WITH raw AS (
    SELECT at, cache_hit_count AS hits, cache_miss_count AS misses,
           lag(cache_hit_count) OVER series AS earlier_hits, lag(cache_miss_count) OVER series AS earlier_misses
    FROM clusters_instance_sample
    WHERE instance_id = ANY(%(owners)s) AND at > %(start)s - interval '60 s' AND at <= %(end)s
      AND cache_hit_count IS NOT NULL AND cache_miss_count IS NOT NULL
    WINDOW series AS (PARTITION BY instance_id ORDER BY at)
), grown AS (
    SELECT at,
           hits - CASE WHEN hits < earlier_hits OR misses < earlier_misses THEN 0 ELSE earlier_hits END AS hits,
           misses - CASE WHEN hits < earlier_hits OR misses < earlier_misses THEN 0 ELSE earlier_misses END AS misses
    FROM raw WHERE earlier_hits IS NOT NULL
), ticks AS (
    SELECT at, floor(extract(epoch FROM at - %(start)s) / %(width_s)s) AS bucket,
           sum(hits) AS hits, sum(misses) AS misses FROM grown GROUP BY 1, 2
), reached AS (
    SELECT at, bucket, sum(hits) OVER behind AS hits, sum(misses) OVER behind AS misses FROM ticks
    WINDOW behind AS (ORDER BY at RANGE %(reach_s)s * interval '1 s' PRECEDING)
)
SELECT DISTINCT ON (bucket) NULL::bigint, NULL::int, at, hits / nullif(hits + misses, 0)
FROM reached WHERE at > %(start)s ORDER BY bucket, at DESC
"""


def _gauge(table: str, owner: str, column: str, aggregate: str) -> str:
    return f"""
SELECT {owner}, NULL::int, max(at), {aggregate}({column})
FROM {table} WHERE {owner} = ANY(%(owners)s) AND at > %(start)s AND at <= %(end)s
GROUP BY {owner}, floor(extract(epoch FROM at - %(start)s) / %(width_s)s) ORDER BY 3
"""


def _instance_gauge(column: str, aggregate: str = "avg") -> str:
    return _gauge("clusters_instance_sample", "instance_id", column, aggregate)


def _backend_gauge(column: str, aggregate: str = "avg") -> str:
    return _gauge("clusters_backend_sample", "backend_id", column, aggregate)


_WEIGHT_SHARE = """
SELECT NULL::bigint, node_id, max(at), avg(lb_weight)
FROM clusters_node_sample WHERE instance_id = ANY(%(owners)s) AND at > %(start)s AND at <= %(end)s
GROUP BY node_id, floor(extract(epoch FROM at - %(start)s) / %(width_s)s) ORDER BY 3
"""


@dataclass(frozen=True)
class Metric:
    """unit: as charts print it ("share" is 0..1). owner: whose ids the statement takes."""

    unit: str
    owner: Owner
    statement: str


METRICS = {
    "read_share": Metric("share", "instance", _READ_SHARE),
    "weight_share": Metric("share", "instance", _WEIGHT_SHARE),
    "reads_per_s": Metric("reads/s", "instance", _READS_PER_S),
    "reads_per_s_total": Metric("reads/s", "instance", _READS_PER_S_TOTAL),
    "reads_per_s_by_instance": Metric("reads/s", "instance", _READS_PER_S_BY_INSTANCE),
    # The worst of a bucket: an average would hide the peak that people look for.
    "replay_lag_s": Metric("s", "backend", _backend_gauge("replay_lag_s", "max")),
    "replay_lag_bytes": Metric("bytes", "backend", _backend_gauge("replay_lag_bytes", "max")),
    "backend_probe_ms": Metric("ms", "backend", _backend_gauge("probe_ms")),
    "probe_ms": Metric("ms", "instance", _instance_gauge("probe_ms")),
    "children_used": Metric("children", "instance", _instance_gauge("children_used", "max")),
    "cache_hit_ratio": Metric("share", "instance", _CACHE_HIT_RATIO),
}
# Only a standby lags: a primary without a value has no series here.
LAG_METRICS = frozenset({"replay_lag_s", "replay_lag_bytes"})


class UnknownMetric(ValueError):
    """There is no such metric."""

    def __init__(self, metric: str) -> None:
        super().__init__(f"there is no metric {metric!r}; known are {', '.join(sorted(METRICS))}")
        self.metric = metric
        self.known = tuple(sorted(METRICS))


def metric_named(name: str) -> Metric:
    """Raises UnknownMetric."""
    try:
        return METRICS[name]
    except KeyError:
        raise UnknownMetric(name) from None
