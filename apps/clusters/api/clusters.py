"""REST: clusters and what is seen of them."""

from datetime import timedelta

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.accounts.roles import Role
from apps.clusters.api import reading, refusals, shapes
from apps.clusters.api.registration_inputs import ClusterChangeInput, ClusterInput, PgpoolInput, pgpool_wanted
from apps.clusters.history import RangeTooSlow, SeriesAnswer, UnknownMetric, series
from apps.clusters.queries import clusters, distribution, lookup, nodes, overview
from apps.clusters.registry import registration, registry_changes
from apps.clusters.registry.connection_test import ConnectionReport, test_connection
from controlplane.problems import Problem, invalid


class ClustersView(APIView):
    write_role = Role.ADMIN

    @extend_schema(
        operation_id="clusters_list",
        parameters=[shapes.ORGANISATION],
        responses=shapes.page_of(clusters.ClusterAnswer),
    )
    def get(self, request: Request) -> Response:
        """The clusters of the organisation, by name."""
        caller = caller_of(request)
        return Response(
            {"results": clusters.cluster_answers(organisation=caller.organisation, now=timezone.now()), "next": None}
        )

    @extend_schema(
        operation_id="clusters_register",
        request=ClusterInput,
        responses=shapes.answer(clusters.ClusterAnswer, 400, status=201),
    )
    def post(self, request: Request) -> Response:
        """Register a cluster: every pgpool is asked first, and nothing is stored unless all of them agree."""
        form = ClusterInput(data=request.data)
        form.is_valid(raise_exception=True)
        now = timezone.now()
        with refusals.as_problems():
            cluster = registration.register(caller=caller_of(request), wanted=form.wanted(), now=now)
        return Response(clusters.cluster_answer(cluster=cluster, now=now), status=status.HTTP_201_CREATED)


class ConnectionTestView(APIView):
    write_role = Role.ADMIN

    @extend_schema(
        operation_id="clusters_test_connection",
        request=ClusterInput,
        responses=shapes.answer(ConnectionReport, 400),
    )
    def post(self, request: Request) -> Response:
        """Try what registration would do, step by step, and store nothing."""
        form = ClusterInput(data=request.data)
        form.is_valid(raise_exception=True)
        return Response(test_connection(form.wanted(), organisation=caller_of(request).organisation))


class ClusterView(APIView):
    write_role = Role.ADMIN

    @extend_schema(operation_id="clusters_read", responses=shapes.answer(clusters.ClusterAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """One cluster: its pgpools, backends and state."""
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        return Response(clusters.cluster_answer(cluster=cluster, now=timezone.now()))

    @extend_schema(
        operation_id="clusters_change",
        request=ClusterChangeInput,
        responses=shapes.answer(clusters.ClusterAnswer, 400, 404, 409),
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change what is registered; what is left out stays."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = ClusterChangeInput(data=request.data)
        form.is_valid(raise_exception=True)
        now = timezone.now()
        with refusals.as_problems():
            registry_changes.change_cluster(caller=caller, cluster=cluster, changes=form.validated_data, now=now)
        return Response(clusters.cluster_answer(cluster=lookup.cluster_of(caller=caller, slug=slug), now=now))

    @extend_schema(operation_id="clusters_remove", responses=shapes.answer(None, 404, 409, status=204))
    def delete(self, request: Request, slug: str) -> Response:
        """Forget the cluster and its history. Its pgpools and their files stay as they are."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        with refusals.as_problems():
            registry_changes.remove_cluster(caller=caller, cluster=cluster, now=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)


class PgpoolsView(APIView):
    write_role = Role.ADMIN

    @extend_schema(
        operation_id="clusters_pgpools_add",
        request=PgpoolInput,
        responses=shapes.answer(clusters.ClusterAnswer, 400, 404, 409, status=201),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add a further pgpool; one that numbers the backends differently is refused."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = PgpoolInput(data=request.data)
        form.is_valid(raise_exception=True)
        now = timezone.now()
        with refusals.as_problems():
            registry_changes.add_instance(
                caller=caller, cluster=cluster, wanted=pgpool_wanted(form.validated_data), now=now
            )
        return Response(clusters.cluster_answer(cluster=cluster, now=now), status=status.HTTP_201_CREATED)


class PgpoolView(APIView):
    write_role = Role.ADMIN

    @extend_schema(operation_id="clusters_pgpools_remove", responses=shapes.answer(None, 404, 409, status=204))
    def delete(self, request: Request, slug: str, name: str) -> Response:
        """Stop watching one pgpool. It and its file stay as they are."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        instance = lookup.instance_of(cluster=cluster, name=name)
        with refusals.as_problems():
            registry_changes.remove_instance(caller=caller, instance=instance, now=timezone.now())
        return Response(status=status.HTTP_204_NO_CONTENT)


class NodesView(APIView):
    @extend_schema(operation_id="clusters_nodes", responses=shapes.answer(nodes.NodesAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """The backends as pgpool sees them and as they answer themselves."""
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        return Response(nodes.nodes_answer(cluster=cluster, now=timezone.now()))


class DistributionView(APIView):
    @extend_schema(
        operation_id="clusters_distribution",
        parameters=[OpenApiParameter("window_s", int, description="10 to 86400 seconds; 300 unless told")],
        responses=shapes.answer(distribution.DistributionAnswer, 400, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Whether reads follow the weights, in words and figures."""
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        window_s = reading.whole(request, "window_s", default=300, lowest=10, highest=86400) or 300
        return Response(distribution.distribution(cluster=cluster, window_s=window_s, now=timezone.now()))


class SeriesView(APIView):
    @extend_schema(
        operation_id="clusters_series",
        parameters=[
            OpenApiParameter("metric", str, required=True),
            OpenApiParameter("start", str, description="seconds since 1970 or ISO 8601; an hour ago unless told"),
            OpenApiParameter("end", str, description="likewise; now unless told"),
            OpenApiParameter("points", int, description="at most so many per series, 10 to 2000; 300 unless told"),
        ],
        responses=shapes.answer(SeriesAnswer, 400, 404, 503),
    )
    def get(self, request: Request, slug: str) -> Response:
        """A metric over time, down-sampled to the point budget; a gap is null."""
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        now = timezone.now()
        end = reading.instant(request, "end", default=now)
        start = reading.instant(request, "start", default=end - timedelta(hours=1))
        points = reading.whole(request, "points", default=300, lowest=10, highest=2000) or 300
        if not start < end:
            invalid(start=f"{start.isoformat()} is not before end, {end.isoformat()}")
        if start > now:
            invalid(start=f"{start.isoformat()} lies in the future; nothing is sampled there yet")
        if end - start > timedelta(days=31):
            invalid(start="is more than 31 days before end; samples are kept for 30 days")
        try:
            found = series(
                cluster=cluster, metric=request.query_params.get("metric", ""), start=start, end=end, points=points
            )
        except UnknownMetric as error:
            invalid(metric=str(error))
        except RangeTooSlow as error:
            raise Problem("too-slow", 503, "Took too long", str(error)) from error
        return Response(found)


class EventsView(APIView):
    @extend_schema(
        operation_id="clusters_events",
        parameters=[shapes.BEFORE, shapes.LIMIT],
        responses=shapes.page_of(overview.EventAnswer, 400, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """What happened to the cluster, latest first."""
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        before, limit = reading.page_bounds(request)
        found = overview.events(cluster=cluster, before=before, limit=limit + 1)
        older = found[limit - 1]["id"] if len(found) > limit else None
        return Response({"results": found[:limit], "next": reading.next_page(request, before=older)})
