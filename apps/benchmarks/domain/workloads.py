"""What can be run, and what each workload lets one choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.benchmarks.domain.workload_parameters import Parameter, WholeNumber, YesNo

SCALE = WholeNumber("scale", "Scale: 100,000 accounts and about 15 MB each", least=1, most=10_000, default=10)
# Taken by whatever can hold its rate down; findings know it by this name.
THROTTLE = WholeNumber(
    "throttle_per_s", "Throttle: at most so many are begun, by all clients together", least=1, most=10_000_000,
    unit="per s",
)  # fmt: skip
RECONNECT = YesNo("reconnect", "A new session for each transaction (-C)")
RESEED = YesNo("reseed", "Make the tables anew before the run")
# Where a workload leaves it to the run whether it writes.
WRITES = "writes"


def _by_name(*parameters: Parameter) -> Mapping[str, Parameter]:
    return {one.name: one for one in parameters}


@dataclass(frozen=True)
class Workload:
    """key: as REST names it. driver: what makes its load. mode: which of the loads of its driver.

    writes: so that no standby takes it; a parameter of that name goes before it.
    """

    key: str
    label: str
    driver: str
    mode: str
    writes: bool
    parameters: Mapping[str, Parameter] = field(default_factory=lambda: _by_name(SCALE, RECONNECT, THROTTLE, RESEED))


WORKLOADS: Mapping[str, Workload] = {
    one.key: one
    for one in (
        Workload("pgbench-select-only", "pgbench, one SELECT by key (-S)", "pgbench", "select-only", writes=False),
        Workload("pgbench-tpcb-like", "pgbench, TPC-B-like (five statements)", "pgbench", "tpcb-like", writes=True),
        Workload("pgbench-simple-update", "pgbench, simple update (-N)", "pgbench", "simple-update", writes=True),
    )
}
