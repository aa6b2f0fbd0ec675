"""The list of runs, and by what it can be narrowed."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from apps.accounts.access import Caller
from apps.benchmarks.domain.workloads import WORKLOADS
from apps.benchmarks.models import BenchmarkAccess, BenchmarkRun
from apps.benchmarks.queries.runs import runs_of
from apps.clusters.models import Cluster

# What people choose between -> the states that it shows.
STATES: dict[str, tuple[str, tuple[str, ...]]] = {
    "active": ("queued or under way", BenchmarkRun.ACTIVE),
    "done": ("done", (BenchmarkRun.State.DONE,)),
    "failed": ("failed", (BenchmarkRun.State.FAILED,)),
    "stopped": ("stopped", (BenchmarkRun.State.STOPPED,)),
}


@dataclass(frozen=True)
class Narrowing:
    """What is chosen; "" for all. An odd value of an address counts as not chosen."""

    cluster: str = ""
    state: str = ""
    workload: str = ""

    @property
    def is_any(self) -> bool:
        return bool(self.cluster or self.state or self.workload)


def clusters_of(caller: Caller) -> list[Cluster]:
    """All of the organisation, by name."""
    clusters = Cluster.objects.defer("password").filter(organisation=caller.organisation)
    return list(clusters.order_by("name", "pk"))


def allowed_slugs(caller: Caller) -> set[str]:
    """Of the clusters that may be put under load."""
    allowed = BenchmarkAccess.objects.filter(cluster__organisation=caller.organisation, is_on=True)
    return set(allowed.values_list("cluster__slug", flat=True))


def narrowing(*, clusters: list[Cluster], cluster: str, state: str, workload: str) -> Narrowing:
    return Narrowing(
        cluster=cluster if cluster in {one.slug for one in clusters} else "",
        state=state if state in STATES else "",
        workload=workload if workload in WORKLOADS else "",
    )


def narrowed(*, caller: Caller, by: Narrowing) -> QuerySet[BenchmarkRun]:
    """Latest first."""
    runs = runs_of(caller=caller)
    if by.cluster:
        runs = runs.filter(cluster__slug=by.cluster)
    if by.state:
        runs = runs.filter(state__in=STATES[by.state][1])
    return runs.filter(workload=by.workload) if by.workload else runs
