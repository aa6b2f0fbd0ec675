"""REST: calculators of benchmarks, which store nothing and ask no cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TypedDict

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.roles import Role
from apps.benchmarks.api.number_fields import MeasurementsField, NumberField, PrintedField, PrintedListField
from apps.benchmarks.domain import sanity
from apps.benchmarks.domain.measurements import MeasurementError
from apps.benchmarks.domain.run_figures import FigureError, run_figures
from apps.benchmarks.domain.verdicts import Verdict
from apps.clusters.api import shapes
from apps.clusters.api.strict import StrictBoolean, StrictSerializer


class CompareInput(StrictSerializer):
    baseline = MeasurementsField(help_text="one value a run, above 0, in the order of the runs")
    candidate = MeasurementsField(help_text="the same of what is compared with the baseline")
    higher_is_better = StrictBoolean(default=True, help_text="false for latency")
    paired = StrictBoolean(
        allow_null=True,
        default=None,
        help_text="whether the i-th of both were measured side by side, so that drift cancels; "
        "null: so they were if both are equally many",
    )
    margin_percent = NumberField(default=5.0, help_text="the smallest difference that matters, 0.01 to 100")
    run_s = NumberField(
        allow_null=True, default=None, help_text="how long one run takes: how much longer to go on is told in minutes"
    )
    unit = serializers.CharField(default="tps", max_length=20, help_text="of the values, for the sentence")


class ComparisonAnswer(TypedDict):
    difference_percent: float
    low: float
    high: float
    difference: float
    difference_low: float
    difference_high: float
    baseline_median: float
    candidate_median: float
    smallest_detectable_percent: float
    is_paired: bool
    method: str
    verdict: Verdict
    more_runs: int | None
    more_minutes: float | None
    sentence: str


class CompareView(APIView):
    write_role = Role.VIEWER  # it computes, it changes nothing

    @extend_schema(
        operation_id="calculators_compare", request=CompareInput, responses=shapes.answer(ComparisonAnswer, 400)
    )
    def post(self, request: Request) -> Response:
        """How much a candidate differs from a baseline, with its 95 % interval (`low`, `high`, in percent).

        `verdict` goes by the interval alone: `faster` or `slower` where 0 lies outside of it, `no_difference` where all
        of it lies within `margin_percent`, else `inconclusive`, with how many `more_runs` of each side would settle it.
        `smallest_detectable_percent`: a true difference of this size is found in 4 of 5 such comparisons. `method` ends
        with `rounding of the values` where what these may have lost when they were rounded is in the interval.
        """
        # scipy takes half a second and 40 MB, which no other request should pay for.
        from apps.benchmarks.domain.comparison import compare

        form = CompareInput(data=request.data)
        form.is_valid(raise_exception=True)
        with _as_problems():
            found = compare(**form.validated_data)
        return Response(asdict(found))


class SanityInput(StrictSerializer):
    clients = PrintedField("how many sent transactions at the same time")
    tps = PrintedField("completed per second: transactions, or with `batch` what they carry")
    latency_ms = PrintedField("the mean of a transaction")
    latency_is_derived = StrictBoolean(
        default=False,
        allow_null=True,
        help_text="the tool printed clients / tps and measured no latency, as pgbench without -P, -R and -L; "
        "null is false",
    )
    statements_ms = PrintedListField("the mean of each statement of the transaction")
    throttle_per_s = PrintedField("what the rate was limited to, in the unit of `tps`")
    batch = PrintedField("how many of what `tps` counts one transaction carries; null: one")
    duration_s = PrintedField("how long the run was measured")
    percentile = PrintedField("the highest percentile that is read off the run, as 99")


class SanityFinding(TypedDict):
    check: str
    ok: bool
    figure: str
    unit: str
    printed: float
    expected: float
    sentence: str


class SanityNotChecked(TypedDict):
    check: str
    missing: list[str]
    sentence: str


class SanityAnswer(TypedDict):
    findings: list[SanityFinding]
    not_checked: list[SanityNotChecked]


class SanityView(APIView):
    write_role = Role.VIEWER  # it computes, it changes nothing

    @extend_schema(operation_id="calculators_sanity", request=SanityInput, responses=shapes.answer(SanityAnswer, 400))
    def post(self, request: Request) -> Response:
        """Whether the printed figures of a run can be right, and say what they seem to say.

        Checks: `littles_law`, `statement_sum`, `throttle_bound`, `client_bound`, `too_short`. Each is among the
        `findings`, or among `not_checked` with the figures that are missing, or with why it says nothing of such a run,
        or nothing sure; at least one figure must be given.
        """
        form = SanityInput(data=request.data)
        form.is_valid(raise_exception=True)
        with _as_problems():
            found, left = sanity.check_run(run_figures(form.validated_data))
        return Response({"findings": [asdict(each) for each in found], "not_checked": [_left(each) for each in left]})


def _left(each: sanity.NotChecked) -> SanityNotChecked:
    return {"check": each.check, "missing": list(each.missing), "sentence": each.sentence}


@contextmanager
def _as_problems() -> Iterator[None]:
    """A figure that is refused becomes problem+json with its field named."""
    try:
        yield
    except (MeasurementError, FigureError) as error:
        raise serializers.ValidationError({error.field: [error.reason]}) from error
