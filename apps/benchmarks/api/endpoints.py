"""REST: endpoints of a cluster, which the load of benchmarks can go through."""

from __future__ import annotations

from typing import Any, TypedDict

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.accounts.roles import Role
from apps.benchmarks.api.problems import as_problems
from apps.benchmarks.control import endpoint_visit, endpoints
from apps.benchmarks.models import BenchmarkEndpoint
from apps.benchmarks.queries.endpoints import EndpointAnswer, endpoint_answer, endpoint_answers, endpoint_of
from apps.clusters.api import shapes
from apps.clusters.api.registration_inputs import Port
from apps.clusters.api.strict import StrictBoolean, StrictSerializer
from apps.clusters.queries import lookup


class EndpointChange(StrictSerializer):
    """What is left out stays."""

    host = serializers.CharField(max_length=253, required=False, help_text="one name or address")
    port = Port(required=False)
    kind = serializers.ChoiceField(
        choices=BenchmarkEndpoint.Kind.values, required=False,
        help_text="pooler, as PgBouncer; router, as SPQR; balancer: passes bytes on, as HAProxy; other",
    )  # fmt: skip
    takes_writes = StrictBoolean(required=False, help_text="its sessions come to the primary; true unless told")
    most_sessions = serializers.IntegerField(
        min_value=1, max_value=endpoints.MOST_SESSIONS, allow_null=True, required=False,
        help_text="that it takes at once, as max_client_conn of PgBouncer; null: not known",
    )  # fmt: skip
    stands_before_pgpools = StrictBoolean(
        required=False,
        help_text="spread evenly over all pgpools: its room is what the fullest has free, times their number",
    )


class EndpointInput(EndpointChange):
    """Its name is for good: runs are kept under it."""

    name = serializers.CharField(max_length=63, help_text="letters, digits, blanks and . : - _, as pgbouncer-1")
    host = serializers.CharField(max_length=253, help_text="one name or address")
    port = Port()


class VisitAnswer(TypedDict):
    """connect_ms: until the session was open. is_in_recovery: whether it came to a standby; null where it did not say,
    and where pgpools are behind the endpoint, which send each question elsewhere.

    is_of_cluster: whether server and database behind it are those of the cluster; null where nobody could tell. whose:
    what is there instead, with both servers, or why nobody knows; "" where they are. refusal: why no session could be
    used, "" for none; fix: what mends it.
    """

    is_open: bool
    connect_ms: float | None
    server_version: str
    is_in_recovery: bool | None
    is_of_cluster: bool | None
    whose: str
    refusal: str
    fix: str


class EndpointsView(APIView):
    write_role = Role.ADMIN

    @extend_schema(operation_id="clusters_endpoints_list", responses=shapes.page_of(EndpointAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """Places before the servers of this cluster that are none of its pgpools: topologies endpoint:NAME."""
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        return Response({"results": endpoint_answers(cluster), "next": None})

    @extend_schema(
        operation_id="clusters_endpoints_add",
        request=EndpointInput,
        responses=shapes.answer(EndpointAnswer, 400, 404, status=201),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Register one. Nobody is asked there until a run goes through it, or somebody tries it.

        No two endpoints of a cluster are at one place, however its host is spelled.
        A run compares server and database behind it with those of the primary, and looks for tables of the names and
        size of its own there. One that leads to another cluster refuses the run; a router may, which is told with it.
        """
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        facts = _read(EndpointInput, request)
        with as_problems():
            made = endpoints.add(caller=caller, cluster=cluster, name=facts.pop("name"), facts=facts)
        return Response(endpoint_answer(made), status=status.HTTP_201_CREATED)


class EndpointView(APIView):
    write_role = Role.ADMIN

    @extend_schema(operation_id="clusters_endpoints_read", responses=shapes.answer(EndpointAnswer, 404))
    def get(self, request: Request, slug: str, name: str) -> Response:
        """One of them."""
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        return Response(endpoint_answer(endpoint_of(cluster=cluster, name=name)))

    @extend_schema(
        operation_id="clusters_endpoints_change",
        request=EndpointChange,
        responses=shapes.answer(EndpointAnswer, 400, 404),
    )
    def patch(self, request: Request, slug: str, name: str) -> Response:
        """Change what is known of it; runs that wait for it go by that."""
        caller = caller_of(request)
        endpoint = endpoint_of(cluster=lookup.cluster_of(caller=caller, slug=slug), name=name)
        changes = _read(EndpointChange, request)
        with as_problems():
            stored = endpoints.change(caller=caller, endpoint=endpoint, changes=changes)
        return Response(endpoint_answer(stored))

    @extend_schema(operation_id="clusters_endpoints_remove", responses=shapes.answer(None, 404, status=204))
    def delete(self, request: Request, slug: str, name: str) -> Response:
        """Forget it. Runs that wait for it fail when their turn comes; what was measured keeps its name."""
        caller = caller_of(request)
        endpoint = endpoint_of(cluster=lookup.cluster_of(caller=caller, slug=slug), name=name)
        endpoints.remove(caller=caller, endpoint=endpoint)
        return Response(status=status.HTTP_204_NO_CONTENT)


class TryEndpointView(APIView):
    @extend_schema(
        operation_id="clusters_endpoints_try",
        request=None,
        responses=shapes.answer(VisitAnswer, 404, 409),
    )
    def post(self, request: Request, slug: str, name: str) -> Response:
        """Open one session as the load would, and one at the primary to compare the two. Nothing is stored."""
        caller = caller_of(request)
        endpoint = endpoint_of(cluster=lookup.cluster_of(caller=caller, slug=slug), name=name)
        with as_problems():
            found, belonging = endpoint_visit.visit_endpoint(caller=caller, endpoint=endpoint)
        answer: VisitAnswer = {
            "is_open": not found.refusal,
            "connect_ms": found.connect_ms,
            "server_version": found.server_version,
            "is_in_recovery": found.is_in_recovery,
            "is_of_cluster": belonging.is_of_cluster,
            "whose": belonging.words,
            "refusal": found.refusal,
            "fix": found.fix,
        }
        return Response(answer)


def _read(shape: type[StrictSerializer], request: Request) -> dict[str, Any]:
    body = shape(data=request.data)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)
