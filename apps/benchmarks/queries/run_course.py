"""The time course of a run: its seconds, and the mean of all until then."""

from __future__ import annotations

import math
from typing import TypedDict

from django.db.models import Avg, F, FloatField, Max, Q, QuerySet, Sum, Value
from django.db.models.functions import Ceil, NullIf

from apps.benchmarks.domain.running_mean import running_means
from apps.benchmarks.models import BenchmarkRun, RunSample
from apps.benchmarks.queries.run_beside import BesideLine, beside

# A chart has no more pixels to tell them apart.
MOST_POINTS = 600


class CoursePoint(TypedDict):
    """A second, or a stretch of `step_s` seconds that ends at at_s: counted from where the measurement began.

    mean_tps: of all until then. low_tps, high_tps: its 95 % interval within this run, from the means of ten stretches,
    as seconds resemble their neighbours; null before there are enough.
    """

    at_s: float
    tps: float
    latency_ms: float | None
    mean_tps: float
    low_tps: float | None
    high_tps: float | None


class CourseAnswer(TypedDict):
    """points: oldest first, at most 600; of the latest attempt, its warm-up not among them.

    beside: what the cluster did meanwhile, once the run has ended.
    """

    run: int
    state: str
    is_active: bool
    duration_s: int
    step_s: int
    points: list[CoursePoint]
    beside: list[BesideLine]


def course_answer(*, run: BenchmarkRun) -> CourseAnswer:
    step_s = max(1, math.ceil(run.duration_s / MOST_POINTS))
    rows = list(_stretches(run, step_s))
    means = running_means([tps for _, tps, _ in rows])
    return {
        "run": run.pk,
        "state": run.state,
        "is_active": run.state in BenchmarkRun.ACTIVE,
        "duration_s": run.duration_s,
        "step_s": step_s,
        "points": [
            {
                "at_s": at_s,
                "tps": tps,
                "latency_ms": latency_ms,
                "mean_tps": mean.mean,
                "low_tps": mean.low,
                "high_tps": mean.high,
            }
            for (at_s, tps, latency_ms), mean in zip(rows, means, strict=True)
        ],
        "beside": beside(run),
    }


def _stretches(run: BenchmarkRun, step_s: int) -> QuerySet[RunSample, tuple[float, float, float | None]]:
    """(end, tps, latency) of each; latencies weighted by the transactions that they are of."""
    samples = RunSample.objects.filter(run=run, attempt=run.attempts)
    if step_s == 1:
        return samples.order_by("at_s").values_list("at_s", "tps", "latency_ms")
    waited = Sum(F("latency_ms") * F("tps"), output_field=FloatField())
    # A second without a transaction has no latency, and a rate of 0.
    counted = NullIf(Sum("tps", filter=Q(latency_ms__isnull=False), output_field=FloatField()), Value(0.0))
    grouped = samples.annotate(stretch=Ceil(F("at_s") / step_s)).values("stretch")
    found = grouped.annotate(end=Max("at_s"), mean=Avg("tps"), latency=waited / counted).order_by("stretch")
    return found.values_list("end", "mean", "latency")
