"""Rows of runs: one under way per cluster, held by a lease, changed by compare-and-set."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from apps.accounts.models import User
from apps.benchmarks.domain.run_result import Second
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.models import BenchmarkRun, RunOutput, RunSample
from apps.clusters.control import leased_rows, rollout_rows
from apps.clusters.control.leased_rows import LeaseLost
from apps.clusters.control.revisions import WeightsRefused
from apps.clusters.models import Cluster
from apps.live import events

__all__ = ["LeaseLost"]

CARRY_OUT_TASK = "benchmarks.carry_out_run"
# It is renewed every second while programs run.
LEASE = timedelta(seconds=30)
# A worker that died takes one attempt with it, not the run.
MOST_ATTEMPTS = 2
# Whoever carries it out drops what it did not finish; a worker that died cannot.
HALF_MADE = "Data that it was making may be there half; the next run of this workload makes it anew"
State = BenchmarkRun.State


def due_runs() -> list[tuple[int, str]]:
    """(id, queue) of each that a worker may begin: the oldest of a cluster that has none under way, and lost ones."""
    under_way = BenchmarkRun.objects.filter(state__in=BenchmarkRun.UNDER_WAY)
    lost = under_way.filter(_lease_is_over())
    found = list(lost.order_by("pk").values_list("pk", "queue"))
    busy = set(under_way.values_list("cluster_id", flat=True))
    queued = BenchmarkRun.objects.filter(state=State.QUEUED).order_by("pk")
    for pk, queue, cluster_id in queued.values_list("pk", "queue", "cluster_id"):
        if cluster_id not in busy:
            busy.add(cluster_id)
            found.append((pk, queue))
    return found


def create(cluster: Cluster, wanted: Wish, *, queue: str, by: User | None, by_name: str) -> BenchmarkRun:
    """A queued row of what was asked for."""
    return BenchmarkRun.objects.create(
        cluster=cluster,
        workload=wanted.workload.key,
        topology=wanted.topology.key,
        clients=wanted.clients,
        threads=wanted.threads,
        duration_s=wanted.duration_s,
        warm_up_s=wanted.warm_up_s,
        parameters=dict(wanted.parameters),
        note=wanted.note,
        queue=queue,
        requested_by=by,
        requested_by_name=by_name,
    )


def repeat(run: BenchmarkRun) -> BenchmarkRun:
    """The same once more, queued."""
    asked = ("cluster", "workload", "topology", "clients", "threads", "duration_s", "warm_up_s", "parameters", "note")
    kept = {name: getattr(run, name) for name in (*asked, "queue", "requested_by", "requested_by_name")}
    return BenchmarkRun.objects.create(**kept)


def stop_waiting(run: BenchmarkRun, *, reason: str, now: datetime) -> None:
    """Of a queued row that is locked."""
    reason = _with_what_is_left(run, run.stop_reason or reason)
    _set(run, state=State.STOPPED, finished_at=now, phase="", is_stop_requested=True, stop_reason=reason)
    announce(run)


def nudge(run: BenchmarkRun) -> None:
    """A worker looks at it once the transaction that is open is committed."""
    transaction.on_commit(lambda: rollout_rows.nudge(run.pk, task=CARRY_OUT_TASK, queue=run.queue), robust=True)


def claim(run_id: int, *, holder: str, now: datetime) -> BenchmarkRun | None:
    """Begin the next attempt of a run, or settle one whose worker died. None: there is nothing to carry out now.

    Never beside a rollout, a restart or an operation of the cluster, nor beside another run of it.
    """
    try:
        with transaction.atomic():
            run = BenchmarkRun.objects.select_for_update(of=("self",), skip_locked=True).filter(pk=run_id).first()
            if run is None or run.state not in BenchmarkRun.ACTIVE:
                return None
            if run.state in BenchmarkRun.UNDER_WAY:
                _settle_lost(run, now=now)
                return None
            cluster = Cluster.objects.select_for_update(no_key=True, of=("self",)).get(pk=run.cluster_id)
            if waits_for := why_not_now(cluster):
                _set(run, phase=f"waits: {waits_for}")
                return None
            _set(
                run, state=State.PREPARING, attempts=run.attempts + 1, phase="begins", error="", started_at=now,
                measured_at=None, is_partial=False, log_tail="", lease_holder=holder, lease_expires_at=Now() + LEASE,
            )  # fmt: skip
            announce(run)
    except IntegrityError:
        return None  # another run of this cluster was begun meanwhile
    return whole(run_id)


def _settle_lost(run: BenchmarkRun, *, now: datetime) -> None:
    """Its worker died, and its programs with it: it is queued again, or given up. Its latest lines stay."""
    if not BenchmarkRun.objects.filter(_lease_is_over(), pk=run.pk).exists():
        return
    has_samples = run.samples.filter(attempt=run.attempts).exists()
    changes: dict[str, Any]
    if run.is_stop_requested:
        reason = _with_what_is_left(run, run.stop_reason)
        changes = {
            "state": State.STOPPED, "phase": "", "stop_reason": reason, "finished_at": now, "is_partial": has_samples
        }  # fmt: skip
    elif run.attempts < MOST_ATTEMPTS:
        changes = {"state": State.QUEUED, "phase": f"attempt {run.attempts} ended with its worker; it is begun anew"}
    else:
        reason = f"The worker died in each of {run.attempts} attempts. Look at its log, then start the run again."
        reason = _with_what_is_left(run, reason)
        changes = {
            "state": State.FAILED, "phase": "", "error": reason, "finished_at": now, "is_partial": has_samples
        }  # fmt: skip
    _set(run, lease_holder="", lease_expires_at=None, **changes)
    announce(run)


def _with_what_is_left(run: BenchmarkRun, reason: str) -> str:
    """Of one that ends while nobody carries it out. Its data was whole once it measured."""
    if not run.attempts or run.measured_at is not None:
        return reason
    return f"{reason.rstrip('.')}. {HALF_MADE}."


def why_not_now(cluster: Cluster) -> str:
    """What keeps every run of this cluster from beginning; "" for nothing. Load is a write: its data is made first."""
    try:
        rollout_rows.refuse_unless_free(cluster)
    except (WeightsRefused, rollout_rows.RolloutRunning) as error:
        return str(error)
    return ""


def whole(run_id: int) -> BenchmarkRun:
    """With all that a worker reads."""
    return BenchmarkRun.objects.select_related("cluster__organisation", "cluster__benchmark_access").get(pk=run_id)


def change(run: BenchmarkRun, holder: str, **changes: Any) -> None:
    """By compare-and-set on state and lease. Raises LeaseLost when somebody was there first."""
    own = BenchmarkRun.objects.filter(pk=run.pk, state=run.state, lease_holder=holder, lease_expires_at__gt=Now())
    kept = {name: value for name, value in changes.items() if name != "lease_expires_at"}
    leased_rows.changed(run, own.update(**changes), kept)


def renew(run: BenchmarkRun, holder: str, *, log_tail: str | None = None) -> None:
    """Keep the lease, and see whether somebody wants it stopped. log_tail: None where it is as it was.

    Raises LeaseLost.
    """
    news = {} if log_tail is None else {"log_tail": log_tail}
    change(run, holder, lease_expires_at=Now() + LEASE, **news)
    run.refresh_from_db(fields=["is_stop_requested", "stop_reason"])


def finish(run: BenchmarkRun, holder: str, *, now: datetime, **changes: Any) -> None:
    """Its latest lines give way to the whole output. Raises LeaseLost."""
    with transaction.atomic():
        change(run, holder, phase="", log_tail="", finished_at=now, lease_holder="", lease_expires_at=None, **changes)
        announce(run)


def keep_samples(run: BenchmarkRun, seconds: Iterable[Second]) -> None:
    rows = [
        RunSample(
            run=run, attempt=run.attempts, at_s=one.at_s, tps=one.tps, latency_ms=one.latency_ms,
            stddev_ms=one.stddev_ms, failed_count=one.failed,
        )
        for one in seconds
    ]  # fmt: skip
    RunSample.objects.bulk_create(rows, ignore_conflicts=True)


def keep_output(run: BenchmarkRun, *, name: str, command: str, output: str, exit_code: int | None) -> None:
    """output: as raw_output.storable leaves it."""
    RunOutput.objects.create(
        run=run, attempt=run.attempts, name=name[:120], command=command, output=output, exit_code=exit_code,
    )  # fmt: skip


def announce(run: BenchmarkRun) -> None:
    """To its page, to those of its cluster, and to the list of its organisation."""
    told = {"run": run.pk, "state": run.state}
    for topic in (f"run.{run.pk}", f"cluster.{run.cluster_id}", f"organisation.{run.cluster.organisation_id}"):
        events.announce(topic, "run", **told)


def _lease_is_over() -> Q:
    return Q(lease_expires_at=None) | Q(lease_expires_at__lte=Now())


def _set(run: BenchmarkRun, **changes: Any) -> None:
    """Of a row that is locked."""
    BenchmarkRun.objects.filter(pk=run.pk).update(**changes)
    for name, value in changes.items():
        if name != "lease_expires_at":
            setattr(run, name, value)
