"""REST: benchmark runs, and whether a cluster may be put under load."""

from __future__ import annotations

from typing import Any, TypedDict

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.accounts.roles import Role
from apps.benchmarks.api.problems import as_problems
from apps.benchmarks.control import access, runs
from apps.benchmarks.domain.workload_parameters import ParameterDescribed
from apps.benchmarks.domain.workloads import WORKLOADS
from apps.benchmarks.models import BenchmarkAccess
from apps.benchmarks.queries import targets
from apps.benchmarks.queries.run_course import CourseAnswer, course_answer
from apps.benchmarks.queries.runs import (
    RunAnswer,
    RunDetailAnswer,
    run_answer,
    run_answers,
    run_detail_answer,
    run_of,
    runs_of,
)
from apps.clusters.api import reading, shapes
from apps.clusters.api.strict import StrictBoolean, StrictSerializer
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup

CLIENTS_HELP = "may be left out, or null, where the parameters of the workload make them, as of pubsub"
CLUSTER = OpenApiParameter("cluster", str, description="only runs of the cluster with this slug")
MOST = 2**31 - 1


class RunInput(StrictSerializer):
    cluster = serializers.CharField(help_text="its slug")
    workload = serializers.CharField(help_text="its key; clusters/{slug}/benchmarks/ lists them")
    topology = serializers.CharField(
        help_text="its key, as primary, standby:1, pgpool:pgpool-1, pgpools or commit:remote_apply"
    )
    clients = serializers.IntegerField(
        min_value=1, max_value=MOST, required=False, allow_null=True, default=None, help_text=CLIENTS_HELP
    )
    threads = serializers.IntegerField(min_value=1, max_value=MOST, required=False, allow_null=True, default=None)
    duration_s = serializers.IntegerField(min_value=1, max_value=MOST, help_text="of the measurement")
    warm_up_s = serializers.IntegerField(min_value=0, max_value=MOST, required=False, default=0)
    parameters = serializers.DictField(required=False, default=dict, help_text='of the workload, as {"scale": 10}')
    note = serializers.CharField(required=False, allow_blank=True, default="", max_length=500)


class AccessInput(StrictSerializer):
    is_on = StrictBoolean(required=False)
    database = serializers.CharField(
        max_length=63,
        required=False,
        help_text="tables of the workloads (pgbench_…, sbtest…, the schema lifeguard_tpcc) are made anew there",
    )
    username = serializers.CharField(max_length=63, required=False)
    password = serializers.CharField(write_only=True, required=False, trim_whitespace=False)
    most_clients = serializers.IntegerField(min_value=1, max_value=access.MOST_CLIENTS, required=False)
    most_duration_s = serializers.IntegerField(min_value=1, max_value=access.LONGEST_DURATION_S, required=False)
    most_lag_s = serializers.FloatField(min_value=0.1, allow_null=True, required=False)
    most_failed_share = serializers.FloatField(
        min_value=0, max_value=1, allow_null=True, required=False,
        help_text="a run is aborted once more of its transactions failed; null: not watched",
    )  # fmt: skip
    queue = serializers.RegexField(access.QUEUE, required=False, error_messages={"invalid": access.QUEUE_EXPECTED})


class WorkloadAnswer(TypedDict):
    """parameters: name -> its default; described: what each of them takes."""

    key: str
    label: str
    writes: bool
    parameters: dict[str, Any]
    described: list[ParameterDescribed]


class TopologyAnswer(TypedDict):
    """servers: where sessions are opened, as host:port. note: to know before it is chosen; "" for nothing."""

    key: str
    label: str
    takes_writes: bool
    servers: list[str]
    note: str


class AccessAnswer(TypedDict):
    """The opt-in, null where nobody has ever allowed it; and what can be run against what."""

    access: dict[str, Any] | None
    workloads: list[WorkloadAnswer]
    topologies: list[TopologyAnswer]


class RunsView(APIView):
    @extend_schema(
        operation_id="benchmarks_runs_list",
        parameters=[CLUSTER, shapes.BEFORE, shapes.LIMIT],
        responses=shapes.page_of(RunAnswer, 400, 404),
    )
    def get(self, request: Request) -> Response:
        """Runs of the organisation, latest first."""
        caller = caller_of(request)
        before, limit = reading.page_bounds(request)
        slug = request.query_params.get("cluster")
        found = runs_of(caller=caller, cluster=lookup.cluster_of(caller=caller, slug=slug) if slug else None)
        if before is not None:
            found = found.filter(pk__lt=before)
        page = list(found[: limit + 1])
        shown = page[:limit]
        following = shown[-1].pk if len(page) > limit else None
        return Response(
            {
                "results": run_answers(runs=shown, caller=caller),
                "next": reading.next_page(request, before=following),
            }
        )

    @extend_schema(
        operation_id="benchmarks_runs_create",
        request=RunInput,
        responses=shapes.answer(RunAnswer, 400, 404, 409, status=202),
    )
    def post(self, request: Request) -> Response:
        """Queue a run. It begins when no run before it, and no rollout of the cluster, is under way."""
        caller = caller_of(request)
        body = RunInput(data=request.data)
        body.is_valid(raise_exception=True)
        given = dict(body.validated_data)
        cluster = lookup.cluster_of(caller=caller, slug=given.pop("cluster"))
        with as_problems():
            run = runs.request(caller=caller, cluster=cluster, **given)
        return Response(run_answer(run=run, caller=caller), status=status.HTTP_202_ACCEPTED)


class RunView(APIView):
    @extend_schema(operation_id="benchmarks_runs_read", responses=shapes.answer(RunDetailAnswer, 404))
    def get(self, request: Request, pk: int) -> Response:
        """One run: its figures, its seconds, what its programs printed, and what it was measured under."""
        caller = caller_of(request)
        return Response(run_detail_answer(run=run_of(caller=caller, pk=pk), caller=caller))


class CourseView(APIView):
    @extend_schema(operation_id="benchmarks_runs_course", responses=shapes.answer(CourseAnswer, 404))
    def get(self, request: Request, pk: int) -> Response:
        """What it measured second by second, with the running mean and its interval; also while it goes on."""
        return Response(course_answer(run=run_of(caller=caller_of(request), pk=pk)))


class StopRunView(APIView):
    @extend_schema(
        operation_id="benchmarks_runs_stop",
        request=None,
        responses=shapes.answer(RunAnswer, 404, 409, status=202),
    )
    def post(self, request: Request, pk: int) -> Response:
        """End it: one that is queued at once, one under way within seconds.

        What was measured is kept as partial; data that is half made is dropped.
        """
        caller = caller_of(request)
        with as_problems():
            run = runs.stop(caller=caller, run=run_of(caller=caller, pk=pk), now=timezone.now())
        return Response(
            run_answer(run=run_of(caller=caller, pk=run.pk), caller=caller), status=status.HTTP_202_ACCEPTED
        )


class AccessView(APIView):
    write_role = Role.ADMIN

    @extend_schema(operation_id="clusters_benchmarks_read", responses=shapes.answer(AccessAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """Whether this cluster may be put under load, and what can be run against what."""
        caller = caller_of(request)
        return Response(_access_answer(lookup.cluster_of(caller=caller, slug=slug)))

    @extend_schema(
        operation_id="clusters_benchmarks_change",
        request=AccessInput,
        responses=shapes.answer(AccessAnswer, 400, 404),
    )
    def put(self, request: Request, slug: str) -> Response:
        """Allow it, or change how hard it may be; what is left out stays.

        Tables of the workloads (pgbench_…, sbtest…, the schema lifeguard_tpcc) are made anew in the database.
        """
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        body = AccessInput(data=request.data)
        body.is_valid(raise_exception=True)
        with as_problems():
            access.change(caller=caller, cluster=cluster, changes=dict(body.validated_data))
        return Response(_access_answer(cluster))


def _access_answer(cluster: Cluster) -> AccessAnswer:
    row = BenchmarkAccess.objects.filter(cluster=cluster).first()
    return {
        "access": None if row is None else access.described(row),
        "workloads": [
            {
                "key": one.key,
                "label": one.label,
                "writes": one.writes,
                "parameters": {name: parameter.default for name, parameter in one.parameters.items()},
                "described": [parameter.described() for parameter in one.parameters.values()],
            }
            for one in WORKLOADS.values()
        ],
        "topologies": [
            {
                "key": one.key,
                "label": one.label,
                "takes_writes": one.takes_writes,
                "servers": [server.place for server in one.servers],
                "note": one.note,
            }
            for one in targets.offered(cluster)
        ],
    }
