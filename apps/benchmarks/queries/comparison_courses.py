"""How the rate of each arm went while its runs were measured: one line an arm, all of its runs that count together."""

from __future__ import annotations

import math
from typing import TypedDict

from django.db.models import Avg, F, FloatField, Value
from django.db.models.functions import Ceil

from apps.benchmarks.domain.comparison_plan import FIRST_BLOCK
from apps.benchmarks.models import BenchmarkComparison, BenchmarkRun, ComparisonRun

# A chart has no more pixels to tell them apart.
MOST_POINTS = 300


class ArmCourse(TypedDict):
    """points: (seconds since a measurement began, mean rate of its runs in tps), oldest first."""

    label: str
    is_baseline: bool
    points: list[tuple[float, float]]


class CoursesAnswer(TypedDict):
    """step_s: how many seconds one point is of. arms: in their order; without points where none is measured."""

    comparison: int
    duration_s: int
    step_s: int
    arms: list[ArmCourse]


def courses_answer(*, comparison: BenchmarkComparison) -> CoursesAnswer:
    duration_s = max(arm["duration_s"] for arm in comparison.arms)
    step_s = max(1, math.ceil(duration_s / MOST_POINTS))
    points: dict[int, list[tuple[float, float]]] = {}
    for arm, at_s, rate in _rates(comparison, step_s):
        points.setdefault(arm, []).append((at_s, rate))
    return {
        "comparison": comparison.pk,
        "duration_s": duration_s,
        "step_s": step_s,
        "arms": [
            {"label": arm["label"], "is_baseline": position == comparison.baseline, "points": points.get(position, [])}
            for position, arm in enumerate(comparison.arms)
        ],
    }


def _rates(comparison: BenchmarkComparison, step_s: int) -> list[tuple[int, float, float]]:
    """(arm, seconds, rate), by arm and time."""
    counted = ComparisonRun.objects.filter(
        comparison=comparison,
        block__gt=FIRST_BLOCK,
        run__state=BenchmarkRun.State.DONE,
        run__is_partial=False,
        run__samples__attempt=F("run__attempts"),
    )
    stretch = Ceil(F("run__samples__at_s") / Value(float(step_s), FloatField())) * Value(float(step_s), FloatField())
    rows = counted.annotate(at_s=stretch).values("arm", "at_s").annotate(rate=Avg("run__samples__tps"))
    return list(rows.order_by("arm", "at_s").values_list("arm", "at_s", "rate"))
