"""What can be run, and what each workload lets one choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Parameter:
    """A whole number that a workload takes. unit: "" for a plain number."""

    name: str
    label: str
    least: int
    most: int
    default: int
    unit: str = ""


SCALE = Parameter("scale", "Scale: 100,000 accounts and about 15 MB each", least=1, most=10_000, default=10)


@dataclass(frozen=True)
class Workload:
    """key: as REST names it. driver: what makes its load. mode: which of the loads of its driver.

    writes: so that no standby takes it.
    """

    key: str
    label: str
    driver: str
    mode: str
    writes: bool
    parameters: Mapping[str, Parameter] = field(default_factory=lambda: {SCALE.name: SCALE})


WORKLOADS: Mapping[str, Workload] = {
    one.key: one
    for one in (
        Workload("pgbench-select-only", "pgbench, one SELECT by key (-S)", "pgbench", "select-only", writes=False),
        Workload("pgbench-tpcb-like", "pgbench, TPC-B-like (five statements)", "pgbench", "tpcb-like", writes=True),
        Workload("pgbench-simple-update", "pgbench, simple update (-N)", "pgbench", "simple-update", writes=True),
    )
}
