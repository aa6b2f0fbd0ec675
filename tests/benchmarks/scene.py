"""What tests of runs begin with."""

import datetime as dt
from typing import Any

from apps.benchmarks.models import BenchmarkRun
from apps.clusters.models import Cluster

SECRET = "load me gently"
NOW = dt.datetime(2026, 11, 20, 12, 0, tzinfo=dt.UTC)
RUNS = "/api/v1/benchmarks/runs/"
ACCESS = "/api/v1/clusters/orders/benchmarks/"


def asked(**changes: Any) -> dict[str, Any]:
    return {
        "cluster": "orders",
        "workload": "pgbench-select-only",
        "topology": "primary",
        "clients": 4,
        "duration_s": 60,
        **changes,
    }


def made_run(cluster: Cluster, **changes: Any) -> BenchmarkRun:
    """Queued on the primary by Ann, unless told otherwise."""
    facts = {"workload": "pgbench-select-only", "topology": "primary", "parameters": {"scale": 10}, **changes}
    return BenchmarkRun.objects.create(
        cluster=cluster, clients=4, threads=4, duration_s=60, requested_by_name="Ann", **facts
    )
