"""A run is asked for, or stopped. A worker does the rest: run_engine."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.http import Http404

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.benchmarks.control import run_rows
from apps.benchmarks.domain import run_wish
from apps.benchmarks.models import BenchmarkAccess, BenchmarkRun
from apps.benchmarks.queries import targets
from apps.clusters.control import writes
from apps.clusters.models import Cluster

MOST_QUEUED = 100


class RunRefused(ValueError):
    """It cannot be done as things stand."""


class NotAllowedHere(RunRefused):
    """Nobody has allowed that this cluster is put under load."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(
            f"{cluster.name} may not be put under load: an admin has to allow it first, with the database and the role "
            "that benchmarks use, and how hard they may be."
        )


def access_of(cluster: Cluster) -> BenchmarkAccess:
    """Raises NotAllowedHere."""
    access = BenchmarkAccess.objects.filter(cluster=cluster, is_on=True).first()
    if access is None:
        raise NotAllowedHere(cluster)
    return access


def request(
    *,
    caller: Caller,
    cluster: Cluster,
    workload: str,
    topology: str,
    clients: int | None = None,
    duration_s: int,
    threads: int | None = None,
    warm_up_s: int = 0,
    parameters: Mapping[str, object] | None = None,
    note: str = "",
) -> BenchmarkRun:
    """Queue a run. clients: None where the parameters of the workload make them.

    Raises RunRefused, run_wish.WishRefused, or writes.NotAllowed; nothing is stored then.
    """
    caller.require(Role.OPERATOR)
    access = access_of(cluster)
    writes.refuse_unless_allowed(cluster)
    wanted = run_wish.wish(
        workload=workload,
        topology=topology,
        clients=clients,
        threads=threads,
        duration_s=duration_s,
        warm_up_s=warm_up_s,
        parameters=parameters,
        note=note,
        offered=targets.offered(cluster),
        limits=targets.limits_of(cluster, access),
    )
    if BenchmarkRun.objects.filter(cluster=cluster, state=BenchmarkRun.State.QUEUED).count() >= MOST_QUEUED:
        raise RunRefused(f"{MOST_QUEUED} runs of {cluster.name} are queued already. Wait for some, or stop them.")
    with transaction.atomic():
        run = run_rows.create(cluster, wanted, queue=access.queue, by=caller.user, by_name=caller.user.shown_name)
        _record(caller, run, "requested", {"workload": run.workload, "topology": run.topology, "clients": run.clients})
        run_rows.announce(run)
        run_rows.nudge(run)
    return run


def stop(*, caller: Caller, run: BenchmarkRun, now: datetime) -> BenchmarkRun:
    """End it: one that is queued at once, one under way within seconds, with what it measured. Raises RunRefused."""
    caller.require(Role.OPERATOR)
    reason = f"stopped by {caller.user.shown_name}"
    with transaction.atomic():
        current = (
            BenchmarkRun.objects.select_for_update(of=("self",)).select_related("cluster").filter(pk=run.pk).first()
        )
        if current is None:
            raise Http404(f"Run {run.pk} was removed with its cluster.")
        if current.state not in BenchmarkRun.ACTIVE:
            raise RunRefused(f"Run #{current.pk} is {current.get_state_display()}: there is nothing to stop.")
        if current.state == BenchmarkRun.State.QUEUED:
            run_rows.stop_waiting(current, reason=reason, now=now)
        else:
            current.is_stop_requested, current.stop_reason = True, current.stop_reason or reason
            current.save(update_fields=["is_stop_requested", "stop_reason"])
            run_rows.announce(current)
        _record(caller, current, "stopped", {"state": current.state})
    return current


def _record(caller: Caller, run: BenchmarkRun, what: str, after: dict[str, object]) -> None:
    audit.record(
        caller=caller,
        action=f"benchmarks.run.{what}",
        target_type="benchmark_run",
        target_id=run.pk,
        target_name=str(run.cluster),
        after=after,
    )
