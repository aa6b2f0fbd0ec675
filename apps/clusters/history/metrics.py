"""The metrics that charts may ask for: how each is computed from samples in SQL.

Every statement takes the parameters owners (ids), start, end, width (of a bucket), buckets (how many), reach and
returns rows (owner_id or None, node_id or None, at, value or None): one per series and bucket, with its latest instant.
"""
# ruff: noqa: S608  statements are put together from constants of this file; every value is a parameter

from dataclasses import dataclass
from typing import Literal

from apps.clusters.history import increases
from apps.clusters.history.increases import BUCKET

Owner = Literal["instance", "backend"]
# By samples and by buckets: the first for buckets of a few samples, the second for buckets of many.
Statements = tuple[str, str]


def _gauge(table: str, owner: str, column: str, aggregate: str) -> Statements:
    statement = f"""
SELECT {owner}, NULL::int, max(at), {aggregate}({column})
FROM {table} WHERE {owner} = ANY(%(owners)s) AND at > %(start)s AND at <= %(end)s
GROUP BY {owner}, {BUCKET} ORDER BY 3
"""
    return statement, statement


def _instance_gauge(column: str, aggregate: str = "avg") -> Statements:
    return _gauge("clusters_instance_sample", "instance_id", column, aggregate)


def _backend_gauge(column: str, aggregate: str = "avg") -> Statements:
    return _gauge("clusters_backend_sample", "backend_id", column, aggregate)


_WEIGHT_SHARE = f"""
SELECT NULL::bigint, node_id, max(at), avg(lb_weight)
FROM clusters_node_sample WHERE instance_id = ANY(%(owners)s) AND at > %(start)s AND at <= %(end)s
GROUP BY node_id, {BUCKET} ORDER BY 3
"""


@dataclass(frozen=True)
class Metric:
    """unit: as charts print it ("share" is 0..1). owner: whose ids the statements take."""

    unit: str
    owner: Owner
    statements: Statements


METRICS = {
    "read_share": Metric("share", "instance", increases.READ_SHARE),
    "weight_share": Metric("share", "instance", (_WEIGHT_SHARE, _WEIGHT_SHARE)),
    "reads_per_s": Metric("reads/s", "instance", increases.READS_PER_S),
    "reads_per_s_total": Metric("reads/s", "instance", increases.READS_PER_S_TOTAL),
    "reads_per_s_by_instance": Metric("reads/s", "instance", increases.READS_PER_S_BY_INSTANCE),
    # The worst of a bucket: an average would hide the peak that people look for.
    "replay_lag_s": Metric("s", "backend", _backend_gauge("replay_lag_s", "max")),
    "replay_lag_bytes": Metric("bytes", "backend", _backend_gauge("replay_lag_bytes", "max")),
    "backend_probe_ms": Metric("ms", "backend", _backend_gauge("probe_ms")),
    "probe_ms": Metric("ms", "instance", _instance_gauge("probe_ms")),
    "children_used": Metric("children", "instance", _instance_gauge("children_used", "max")),
    "cache_hit_ratio": Metric("share", "instance", increases.CACHE_HIT_RATIO),
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
