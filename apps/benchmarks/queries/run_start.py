"""What somebody who starts a run can choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.accounts.access import Caller
from apps.benchmarks.domain import topology_choice
from apps.benchmarks.domain.run_wish import NO_PRIMARY, Limits
from apps.benchmarks.domain.topologies import PRIMARY
from apps.benchmarks.domain.topology_choice import Choice
from apps.benchmarks.domain.workloads import LOADS, Workload
from apps.benchmarks.models import BenchmarkAccess, BenchmarkRun
from apps.benchmarks.queries import targets
from apps.benchmarks.queries.run_list import allowed_slugs, clusters_of
from apps.benchmarks.queries.runs import runs_of
from apps.clusters.control import writes
from apps.clusters.models import Cluster


@dataclass(frozen=True)
class Start:
    """cluster: None where the organisation has none. limits: None where its load is not allowed.

    why_not: why nothing can be started, for people. notes: what to know before. like: what an earlier run was.
    """

    clusters: list[Cluster]
    allowed: set[str]
    cluster: Cluster | None
    workload: Workload
    limits: Limits | None
    choices: list[Choice]
    why_not: str
    notes: list[str]
    like: Mapping[str, Any]


def start_of(*, caller: Caller, cluster: str, workload: str, run: int | None) -> Start:
    """cluster, workload: as chosen, "" for none. run: the id of one to do again; that of somebody else is none."""
    clusters, allowed = clusters_of(caller), allowed_slugs(caller)
    again = runs_of(caller=caller).filter(pk=run).first() if run is not None else None
    wanted = cluster or (again.cluster.slug if again else "")
    chosen = next((one for one in clusters if one.slug == wanted), None) or _first(clusters, allowed)
    asked = workload or (again.workload if again else "")
    what = next((one for one in LOADS if one.key == asked), LOADS[0])
    access = BenchmarkAccess.objects.defer("password").filter(cluster=chosen, is_on=True).first() if chosen else None
    limits = targets.limits_of(chosen, access) if chosen and access else None
    offered = [one for one in targets.offered(chosen) if not one.is_scratch] if chosen else []
    is_alike = again is not None and again.workload == what.key
    return Start(
        clusters=clusters,
        allowed=allowed,
        cluster=chosen,
        workload=what,
        limits=limits,
        choices=topology_choice.choices(offered, workload=what, limits=limits) if limits else [],
        why_not=(writes.why_not(chosen) or "") if chosen and limits else "",
        notes=_notes(chosen, [one.key for one in offered]) if chosen and limits else [],
        like=_like(again, with_parameters=is_alike) if again else {},
    )


def _first(clusters: list[Cluster], allowed: set[str]) -> Cluster | None:
    return next((one for one in clusters if one.slug in allowed), clusters[0] if clusters else None)


def _notes(cluster: Cluster, offered: list[str]) -> list[str]:
    notes = []
    if PRIMARY not in offered:
        notes.append(NO_PRIMARY.removeprefix("; ").capitalize() + ".")
    active = BenchmarkRun.objects.filter(cluster=cluster, state__in=BenchmarkRun.ACTIVE).count()
    if active:
        notes.append(
            f"{active} run{' is' if active == 1 else 's are'} before it: {cluster.name} is loaded by one at a time."
        )
    return notes


def _like(run: BenchmarkRun, *, with_parameters: bool) -> dict[str, Any]:
    return {
        "topology": run.topology,
        "clients": run.clients,
        "threads": run.threads,
        "duration_s": run.duration_s,
        "warm_up_s": run.warm_up_s,
        "parameters": run.parameters if with_parameters else {},
        "note": run.note,
    }
