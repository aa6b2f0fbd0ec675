"""What can be run, and what each workload lets one choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.benchmarks.domain import cache_calibration, cache_writes, pubsub_plan, tpcc
from apps.benchmarks.domain.pgbench_scripts import Scripts
from apps.benchmarks.domain.workload_parameters import Choice, Parameter, WholeNumber, YesNo

SCALE = WholeNumber("scale", "Scale: 100,000 accounts and about 15 MB each", least=1, most=10_000, default=10)
# Taken by whatever can hold its rate down; findings know it by this name.
THROTTLE = WholeNumber(
    "throttle_per_s", "Throttle: at most so many are begun, by all clients together", least=1, most=10_000_000,
    unit="per s",
)  # fmt: skip
RECONNECT = YesNo("reconnect", "A new session for each transaction (-C)")
RESEED = YesNo("reseed", "Make the tables anew before the run")
PROTOCOL = Choice("protocol", "How statements are sent (-M)", ("simple", "extended", "prepared"), default="simple")
SCRIPTS = Scripts("scripts", "Scripts of SQL, each with its weight")
# Of a workload that leaves it to the run whether it writes.
WRITES = YesNo(
    "writes", "Whether the scripts write; if not, sessions are read-only and standbys take them", default=True
)
OWN_SCALE = WholeNumber(
    "scale", "Scale of the tables of pgbench; 0: the scripts use none", least=0, most=10_000, default=0
)
# Of sysbench.
TABLES = WholeNumber("tables", "Tables, named sbtest1, sbtest2, …", least=1, most=100, default=4)
TABLE_SIZE = WholeNumber(
    "table_size", "Rows of each table: 100,000 are about 25 MB", least=100, most=100_000_000, default=100_000
)
PREPARED = YesNo(
    "prepared", "Sessions prepare statements (--db-ps-mode); as usual: yes, but not behind a pooler", default=None
)
SKIP_TRX = YesNo("skip_trx", "Each statement alone, without BEGIN and COMMIT (--skip-trx)")


def _by_name(*parameters: Parameter) -> Mapping[str, Parameter]:
    return {one.name: one for one in parameters}


TRANSACTIONS = "transactions"


@dataclass(frozen=True)
class Workload:
    """key: as REST names it. driver: what makes its load. mode: which of the loads of its driver.

    writes: so that no standby takes it; a parameter of that name goes before it, and so does writes_where.
    sessions: how many clients its parameters make, where they say so; raises ParameterRefused for what cannot be.
    check: refuses parameters that do not go together; raises ParameterRefused.
    needs_scratch: whether it runs against scratch pgpools, and against nothing else.
    least_duration_s: of a run with its parameters, where they say so.
    counts: what its rate is of; a rate of transactions is said in tps.
    is_closed_loop: whether every client begins anew as soon as it is done, so that clients / tps is the latency.
    """

    key: str
    label: str
    driver: str
    mode: str
    writes: bool
    parameters: Mapping[str, Parameter] = field(
        default_factory=lambda: _by_name(SCALE, PROTOCOL, RECONNECT, THROTTLE, RESEED)
    )
    sessions: Callable[[Mapping[str, Any]], int] | None = None
    least_duration_s: Callable[[Mapping[str, Any]], int] | None = None
    needs_scratch: bool = False
    is_closed_loop: bool = True
    counts: str = TRANSACTIONS
    writes_where: Callable[[Mapping[str, Any]], bool] | None = None
    check: Callable[[Mapping[str, Any]], None] = lambda parameters: None

    def does_write(self, parameters: Mapping[str, Any]) -> bool:
        """parameters: all of a run."""
        if self.writes_where is not None:
            return self.writes_where(parameters)
        return bool(parameters.get(WRITES.name, self.writes))


WORKLOADS: Mapping[str, Workload] = {
    one.key: one
    for one in (
        Workload("pgbench-select-only", "pgbench, one SELECT by key (-S)", "pgbench", "select-only", writes=False),
        Workload("pgbench-tpcb-like", "pgbench, TPC-B-like (five statements)", "pgbench", "tpcb-like", writes=True),
        Workload("pgbench-simple-update", "pgbench, simple update (-N)", "pgbench", "simple-update", writes=True),
        Workload(
            "pgbench-scripts",
            "pgbench, own scripts",
            "pgbench-scripts",
            "scripts",
            writes=True,
            parameters=_by_name(SCRIPTS, WRITES, OWN_SCALE, PROTOCOL, RECONNECT, THROTTLE, RESEED),
        ),
        Workload(
            tpcc.WORKLOAD,
            "TPC-C-like: five transactions of an order desk, 45 of 100 new orders",
            "tpcc",
            "",
            writes=True,
            parameters=_by_name(tpcc.WAREHOUSES, tpcc.SIZE_PERCENT, PROTOCOL, THROTTLE, RESEED),
        ),
        Workload(
            "pubsub",
            "Pub/sub messaging: writers, and groups of readers that each get every message",
            "pubsub",
            "",
            writes=True,
            parameters=pubsub_plan.PARAMETERS,
            sessions=pubsub_plan.sessions,
            is_closed_loop=False,
            counts="messages",
        ),
        Workload(
            cache_calibration.WORKLOAD,
            "Query cache: on against off, at several hit ratios",
            "query-cache",
            "",
            writes=False,
            parameters=cache_calibration.PARAMETERS,
            least_duration_s=cache_calibration.least_duration_s,
            needs_scratch=True,
            writes_where=cache_writes.does_write,
            check=cache_writes.check,
            is_closed_loop=False,
        ),
        Workload(
            "sysbench-point-select",
            "sysbench OLTP, point SELECTs",
            "sysbench",
            "oltp_point_select",
            writes=False,
            parameters=_by_name(TABLES, TABLE_SIZE, PREPARED, THROTTLE, RESEED),
        ),
        Workload(
            "sysbench-read-only",
            "sysbench OLTP, read only (14 statements)",
            "sysbench",
            "oltp_read_only",
            writes=False,
            parameters=_by_name(TABLES, TABLE_SIZE, PREPARED, SKIP_TRX, THROTTLE, RESEED),
        ),
        Workload(
            "sysbench-read-write",
            "sysbench OLTP, read and write (18 statements)",
            "sysbench",
            "oltp_read_write",
            writes=True,
            parameters=_by_name(TABLES, TABLE_SIZE, PREPARED, THROTTLE, RESEED),
        ),
    )
}


# Those that are compared by their rate, and asked for by the forms of runs.
LOADS = tuple(one for one in WORKLOADS.values() if not one.needs_scratch)


def counts_of(key: str) -> str:
    """What its rate is of; transactions for one that this version no longer knows."""
    return WORKLOADS[key].counts if key in WORKLOADS else TRANSACTIONS


def rate_unit(key: str) -> str:
    """tps, or as messages/s"""
    return "tps" if counts_of(key) == TRANSACTIONS else f"{counts_of(key)}/s"
