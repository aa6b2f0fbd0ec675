"""REST: comparisons of several arms on one cluster."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import Caller, caller_of
from apps.accounts.paging import row_key
from apps.benchmarks.api.number_fields import NumberField
from apps.benchmarks.api.problems import as_problems
from apps.benchmarks.api.runs import CLIENTS_HELP, CLUSTER, MOST
from apps.benchmarks.control import comparisons
from apps.benchmarks.models import BenchmarkComparison
from apps.benchmarks.queries.comparison_courses import CoursesAnswer, courses_answer
from apps.benchmarks.queries.comparison_detail import ComparisonDetail, detail_answer
from apps.benchmarks.queries.comparisons import ComparisonSummary, comparison_of, comparisons_of, summary_answer
from apps.benchmarks.queries.imports import import_of
from apps.clusters.api import reading, shapes
from apps.clusters.api.strict import StrictSerializer
from apps.clusters.queries import lookup

BASELINE = OpenApiParameter("baseline", int, description="compare with the arm at this position instead")
BESIDE = OpenApiParameter("beside", int, description="id of an import whose rates are shown beside the arms")
LONGEST_POSITION = 3  # digits
NEEDED = ("workload", "topology", "duration_s")


class ArmInput(StrictSerializer):
    """A run as it is asked for; whatever an arm leaves out is taken from `common`."""

    label = serializers.CharField(  # type: ignore[assignment]  # a field of this name, not the label of a field
        required=False, max_length=80, help_text="its name; what sets it apart unless told"
    )
    workload = serializers.CharField(required=False)
    topology = serializers.CharField(required=False)
    clients = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST, allow_null=True, help_text=CLIENTS_HELP
    )
    threads = serializers.IntegerField(required=False, min_value=1, max_value=MOST, allow_null=True)
    duration_s = serializers.IntegerField(required=False, min_value=1, max_value=MOST)
    warm_up_s = serializers.IntegerField(required=False, min_value=0, max_value=MOST)
    parameters = serializers.DictField(required=False)
    x = NumberField(required=False, allow_null=True, help_text="its place on the axis of a sweep over `x`")


class ComparisonInput(StrictSerializer):
    cluster = serializers.CharField(required=False, help_text="its slug; not with `runs`")
    name = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)
    common = ArmInput(required=False, help_text="what all arms share")
    arms = serializers.ListField(child=ArmInput(), required=False, help_text="2 to 12; each as a run, over `common`")
    runs = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=MOST),
        required=False,
        help_text="ids of runs that are done, instead of `arms`: those asked to be the same make one arm",
    )
    baseline = serializers.IntegerField(required=False, default=0, help_text="position of the arm to compare with")
    repetitions = serializers.IntegerField(
        required=False, default=6, help_text="blocks that count; one more is measured first and set apart"
    )
    over = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text="of a sweep: clients, pgpools, parameters.NAME, weight.BACKEND (its share of the weights "
        "at the pgpools on the way, in percent), or x",
    )
    margin_percent = NumberField(
        required=False, default=5.0, help_text="the smallest difference that matters, 0.01–100"
    )


class ComparisonsView(APIView):
    @extend_schema(
        operation_id="benchmarks_comparisons_list",
        parameters=[CLUSTER, shapes.BEFORE, shapes.LIMIT],
        responses=shapes.page_of(ComparisonSummary, 400, 404),
    )
    def get(self, request: Request) -> Response:
        """Comparisons of the organisation, latest first."""
        caller = caller_of(request)
        before, limit = reading.page_bounds(request)
        slug = request.query_params.get("cluster")
        found = comparisons_of(caller=caller, cluster=lookup.cluster_of(caller=caller, slug=slug) if slug else None)
        if before is not None:
            found = found.filter(pk__lt=before)
        page = list(found[: limit + 1])
        shown = page[:limit]
        return Response(
            {
                "results": [summary_answer(comparison=each, caller=caller) for each in shown],
                "next": reading.next_page(request, before=shown[-1].pk if len(page) > limit else None),
            }
        )

    @extend_schema(
        operation_id="benchmarks_comparisons_create",
        request=ComparisonInput,
        responses=shapes.answer(ComparisonDetail, 400, 404, 409, status=202),
    )
    def post(self, request: Request) -> Response:
        """Queue the runs of a comparison, block by block, or make one of runs that are done (`runs`).

        Each block measures every arm once, in an order drawn anew, so that drift cancels. The first block is shown and
        set apart. Where runs of a block gave way to a rollout or failed, another block is measured.
        """
        caller = caller_of(request)
        body = ComparisonInput(data=request.data)
        body.is_valid(raise_exception=True)
        given = dict(body.validated_data)
        with as_problems():
            made = _picked(caller, given, set(request.data)) if "runs" in given else _asked(caller, given)
        found = comparison_of(caller=caller, pk=made.pk)
        return Response(detail_answer(comparison=found, caller=caller), status=status.HTTP_202_ACCEPTED)


class ComparisonView(APIView):
    @extend_schema(
        operation_id="benchmarks_comparisons_read",
        parameters=[BASELINE, BESIDE],
        responses=shapes.answer(ComparisonDetail, 400, 404),
    )
    def get(self, request: Request, pk: int) -> Response:
        """One comparison: figures of each arm, differences from the baseline with 95 % intervals, and the verdict."""
        caller = caller_of(request)
        comparison = comparison_of(caller=caller, pk=pk)
        baseline = _baseline(request, len(comparison.arms))
        told = request.query_params.get("beside")
        beside = None if told is None else import_of(caller=caller, pk=_import_key(told))
        return Response(detail_answer(comparison=comparison, caller=caller, baseline=baseline, beside=beside))


class ComparisonCoursesView(APIView):
    @extend_schema(operation_id="benchmarks_comparisons_courses", responses=shapes.answer(CoursesAnswer, 404))
    def get(self, request: Request, pk: int) -> Response:
        """How the rate of each arm went while its runs were measured: the mean of those that count."""
        return Response(courses_answer(comparison=comparison_of(caller=caller_of(request), pk=pk)))


class StopComparisonView(APIView):
    @extend_schema(
        operation_id="benchmarks_comparisons_stop",
        request=None,
        responses=shapes.answer(ComparisonDetail, 404, 409, status=202),
    )
    def post(self, request: Request, pk: int) -> Response:
        """End it: runs that wait at once, the one under way within seconds. What was measured stays."""
        caller = caller_of(request)
        with as_problems():
            comparisons.stop(caller=caller, comparison=comparison_of(caller=caller, pk=pk), now=timezone.now())
        found = comparison_of(caller=caller, pk=pk)
        return Response(detail_answer(comparison=found, caller=caller), status=status.HTTP_202_ACCEPTED)


def _asked(caller: Caller, given: dict[str, Any]) -> BenchmarkComparison:
    for name in ("cluster", "arms"):
        if name not in given:
            raise ValidationError({name: ["is needed, unless `runs` are picked"]})
    arms = merged_arms(given)
    cluster = lookup.cluster_of(caller=caller, slug=given.pop("cluster"))
    return comparisons.request(caller=caller, cluster=cluster, arms=arms, **given)


def merged_arms(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Each arm over what all share; `arms` and `common` are taken out. Raises ValidationError for what neither has."""
    common = dict(given.pop("common", {}))
    arms = [{**common, **arm, "parameters": _merged(common, arm)} for arm in given.pop("arms")]
    for position, arm in enumerate(arms):
        for name in NEEDED:
            if name not in arm:
                raise ValidationError({f"arms.{position}.{name}": ["is needed, here or in `common`"]})
    return arms


def _merged(common: dict[str, Any], arm: dict[str, Any]) -> dict[str, Any]:
    return {**(common.get("parameters") or {}), **(arm.get("parameters") or {})}


def _picked(caller: Caller, given: dict[str, Any], named: set[str]) -> BenchmarkComparison:
    for name in ("cluster", "arms", "common", "repetitions"):
        if name in named:
            raise ValidationError({name: ["stands beside `runs`, which are measured already; give one of them"]})
    return comparisons.of_runs(
        caller=caller, run_ids=given["runs"], baseline=given["baseline"], name=given["name"],
        over=given["over"], margin_percent=given["margin_percent"], now=timezone.now(),
    )  # fmt: skip


def _import_key(told: str) -> int:
    found = row_key(told)
    if found is None:
        raise ValidationError({"beside": [f"{told[:20]!r} is no id of an import"]})
    return found


def _baseline(request: Request, arms: int) -> int | None:
    told = request.query_params.get("baseline")
    if told is None:
        return None
    if not told.isdecimal() or len(told) > LONGEST_POSITION or int(told) >= arms:
        raise ValidationError({"baseline": [f"{told[:20]!r} is no arm; they are counted from 0 to {arms - 1}"]})
    return int(told)
