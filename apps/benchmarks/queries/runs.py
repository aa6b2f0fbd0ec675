"""Runs of an organisation: the list, and one with all that is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypedDict

from django.db.models import QuerySet
from django.http import Http404

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.benchmarks.domain.connecting import tps_with_connecting
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.run_result import Latency, StatementFigure
from apps.benchmarks.domain.run_words import RunFacts, sentence
from apps.benchmarks.domain.tpcc import new_orders_per_min
from apps.benchmarks.domain.workloads import counts_of, rate_unit
from apps.benchmarks.models import BenchmarkRun, RunSample
from apps.benchmarks.queries.run_progress import Progress, progress_of
from apps.benchmarks.queries.run_scripts import ScriptAnswer, latency_of, scripts_of
from apps.clusters.models import Cluster

# Of what a program printed: the end says how it went.
MOST_SHOWN = 20_000


class RunAnswer(TypedDict):
    """tps: without the time to connect; null before it is measured. latency_ms: percentiles of single transactions.

    tps_with_connecting: worked out from connect_ms, the time until all clients were connected.
    runs_before: how many of its cluster go first, while it is queued. tps_by_server: where clients were spread.
    is_partial: ended before its time. phase: what is done now, or what it waits for. own: by server, figures that only
    this kind of load has. sentence: the run in plain words. measured_s, tps_so_far: of the seconds measured until now,
    or until an early end; null where there is none. new_orders_per_min: the new-order rate of a TPC-C-like run, null of
    any other; it is no tpmC, as nobody keys or thinks.
    """

    id: int
    sentence: str
    cluster: str
    cluster_name: str
    workload: str
    topology: str
    clients: int
    threads: int
    duration_s: int
    warm_up_s: int
    parameters: dict[str, Any]
    note: str
    state: str
    phase: str
    runs_before: int | None
    attempts: int
    is_active: bool
    is_partial: bool
    is_stop_requested: bool
    can_stop: bool
    stop_reason: str
    error: str
    requested_by: str
    created_at: datetime
    started_at: datetime | None
    measured_at: datetime | None
    finished_at: datetime | None
    measured_s: float | None
    tps_so_far: float | None
    tps: float | None
    tps_with_connecting: float | None
    connect_ms: float | None
    new_orders_per_min: float | None
    tps_by_server: dict[str, float]
    latency_ms: Latency
    transactions: int | None
    failed: int | None
    statements: list[StatementFigure]
    scripts: list[ScriptAnswer]
    own: dict[str, dict[str, Any]]
    findings: list[RunFinding]


class SampleAnswer(TypedDict):
    """One second, of all processes together. at_s: since the measurement began."""

    at_s: float
    tps: float
    latency_ms: float | None
    stddev_ms: float | None
    failed: int | None


class OutputAnswer(TypedDict):
    """What one process printed; of a long output the end. exit_code: negative for a signal."""

    name: str
    attempt: int
    command: str
    output: str
    exit_code: int | None


class RunDetailAnswer(RunAnswer):
    """environment: versions, configuration, placement and counters; {} before it is measured. samples: oldest first.

    comparisons: the ids of those that it is a run of. log_tail: while it is under way, its steps and what its programs
    printed, the latest 40 lines and 8,192 characters at most; "" once outputs have all of it. Of an attempt
    whose worker died it is all there is.
    """

    environment: dict[str, Any]
    comparisons: list[int]
    log_tail: str
    samples: list[SampleAnswer]
    outputs: list[OutputAnswer]


def runs_of(*, caller: Caller, cluster: Cluster | None = None) -> QuerySet[BenchmarkRun]:
    """Latest first."""
    runs = BenchmarkRun.objects.select_related("cluster").defer("cluster__password")
    runs = runs.filter(cluster__organisation=caller.organisation)
    return (runs if cluster is None else runs.filter(cluster=cluster)).order_by("-pk")


def run_of(*, caller: Caller, pk: int) -> BenchmarkRun:
    run = runs_of(caller=caller).filter(pk=pk).first()
    if run is None:
        raise Http404(f"{caller.organisation.name} has no benchmark run {pk}.")
    return run


def run_answers(*, runs: Sequence[BenchmarkRun], caller: Caller) -> list[RunAnswer]:
    progress = progress_of(runs)
    return [_answer(run, caller, progress) for run in runs]


def run_answer(*, run: BenchmarkRun, caller: Caller) -> RunAnswer:
    return _answer(run, caller, progress_of([run]))


def _answer(run: BenchmarkRun, caller: Caller, progress: Progress) -> RunAnswer:
    result = run.result
    is_active = run.state in BenchmarkRun.ACTIVE
    measured = progress.measured.get(run.pk)
    return {
        "id": run.pk,
        "sentence": sentence(_facts(run, progress)),
        "cluster": run.cluster.slug,
        "cluster_name": run.cluster.name,
        "workload": run.workload,
        "topology": run.topology,
        "clients": run.clients,
        "threads": run.threads,
        "duration_s": run.duration_s,
        "warm_up_s": run.warm_up_s,
        "parameters": run.parameters,
        "note": run.note,
        "state": run.state,
        "phase": run.phase,
        "runs_before": progress.before.get(run.pk),
        "attempts": run.attempts,
        "is_active": is_active,
        "is_partial": run.is_partial,
        "is_stop_requested": run.is_stop_requested,
        "can_stop": is_active and not run.is_stop_requested and caller.may(Role.OPERATOR),
        "stop_reason": run.stop_reason,
        "error": run.error,
        "requested_by": run.requested_by_name,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "measured_at": run.measured_at,
        "finished_at": run.finished_at,
        "measured_s": measured.seconds if measured else None,
        "tps_so_far": measured.tps if measured else None,
        "tps": run.tps,
        "tps_with_connecting": tps_with_connecting(
            tps=run.tps, transactions=result.get("transactions"), connect_ms=result.get("connect_ms")
        ),
        "connect_ms": result.get("connect_ms"),
        "new_orders_per_min": new_orders_per_min(run.workload, result),
        "tps_by_server": result.get("tps_by_server", {}),
        "latency_ms": latency_of(result),
        "transactions": result.get("transactions"),
        "failed": result.get("failed"),
        "statements": result.get("statements", []),
        "scripts": scripts_of(result),
        "own": result.get("own", {}),
        "findings": run.findings,
    }


def _facts(run: BenchmarkRun, progress: Progress) -> RunFacts:
    latency = latency_of(run.result)
    measured = progress.measured.get(run.pk)
    return RunFacts(
        state=run.state,
        cluster=run.cluster.name,
        topology=run.topology,
        clients=run.clients,
        duration_s=run.duration_s,
        phase=run.phase,
        runs_before=progress.before.get(run.pk),
        is_stop_requested=run.is_stop_requested,
        is_partial=run.is_partial,
        tps=run.tps,
        p50_ms=latency["p50"],
        p99_ms=latency["p99"],
        tps_so_far=measured.tps if measured else None,
        measured_s=measured.seconds if measured else None,
        counts=counts_of(run.workload),
        unit=rate_unit(run.workload),
    )


def run_detail_answer(*, run: BenchmarkRun, caller: Caller) -> RunDetailAnswer:
    samples = RunSample.objects.filter(run=run, attempt=run.attempts).order_by("at_s")
    return {
        **run_answer(run=run, caller=caller),
        "environment": run.environment,
        "comparisons": comparisons_of(run),
        "log_tail": run.log_tail,
        "samples": [
            {
                "at_s": one.at_s,
                "tps": one.tps,
                "latency_ms": one.latency_ms,
                "stddev_ms": one.stddev_ms,
                "failed": one.failed_count,
            }
            for one in samples
        ],
        "outputs": outputs_of(run),
    }


def comparisons_of(run: BenchmarkRun) -> list[int]:
    found = run.places.order_by("comparison_id").values_list("comparison_id", flat=True)
    return list(found.distinct())


def outputs_of(run: BenchmarkRun) -> list[OutputAnswer]:
    """In the order in which the programs ended; of every attempt."""
    return [
        {
            "name": one.name,
            "attempt": one.attempt,
            "command": one.command,
            "output": one.output[-MOST_SHOWN:],
            "exit_code": one.exit_code,
        }
        for one in run.outputs.order_by("pk")
    ]
