"""How far runs are: who goes first, and what was measured until now. For a whole list in two statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Avg, F, Max

from apps.benchmarks.models import BenchmarkRun, RunSample


@dataclass(frozen=True)
class Measured:
    """Of the latest attempt. tps: the mean of its seconds."""

    seconds: float
    tps: float


@dataclass(frozen=True)
class Progress:
    """By the id of a run. before: runs of its cluster that go first, for those that are queued."""

    before: Mapping[int, int]
    measured: Mapping[int, Measured]


def progress_of(runs: Sequence[BenchmarkRun]) -> Progress:
    return Progress(_before(runs), _measured(runs))


def _before(runs: Sequence[BenchmarkRun]) -> dict[int, int]:
    queued = [run for run in runs if run.state == BenchmarkRun.State.QUEUED]
    if not queued:
        return {}
    active = BenchmarkRun.objects.filter(
        state__in=BenchmarkRun.ACTIVE, cluster_id__in={run.cluster_id for run in queued}
    )
    rows = list(active.values_list("pk", "cluster_id", "state"))
    return {
        run.pk: sum(
            cluster_id == run.cluster_id and pk != run.pk and (state in BenchmarkRun.UNDER_WAY or pk < run.pk)
            for pk, cluster_id, state in rows
        )
        for run in queued
    }


def _measured(runs: Sequence[BenchmarkRun]) -> dict[int, Measured]:
    """Of those that have no figures of the whole: they measure now, or ended early."""
    wanted = [run.pk for run in runs if run.state == BenchmarkRun.State.RUNNING or (run.is_partial and run.tps is None)]
    if not wanted:
        return {}
    samples = RunSample.objects.filter(run__in=wanted, attempt=F("run__attempts"))
    found = samples.values_list("run").annotate(Max("at_s"), Avg("tps")).order_by("run")
    return {pk: Measured(seconds, tps) for pk, seconds, tps in found}
