"""Which driver makes the load of a workload."""

from __future__ import annotations

from collections.abc import Mapping

from apps.benchmarks.domain.workloads import Workload
from apps.benchmarks.drivers.driver import Driver
from apps.benchmarks.drivers.pgbench import Pgbench
from apps.benchmarks.drivers.pgbench_scripts import PgbenchScripts
from apps.benchmarks.drivers.pubsub_program import PubSub
from apps.benchmarks.drivers.query_cache_program import QueryCache
from apps.benchmarks.drivers.sysbench import Sysbench
from apps.benchmarks.drivers.tpcc.driver import Tpcc

DRIVERS: Mapping[str, Driver] = {
    "pgbench": Pgbench(),
    "pgbench-scripts": PgbenchScripts(),
    "pubsub": PubSub(),
    "query-cache": QueryCache(),
    "sysbench": Sysbench(),
    "tpcc": Tpcc(),
}


def driver_of(workload: Workload) -> Driver:
    return DRIVERS[workload.driver]
