"""What tests of runs begin with."""

import datetime as dt
from typing import Any

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
