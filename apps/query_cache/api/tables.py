"""REST: which tables empty the query caches of a cluster."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.clusters.api import shapes
from apps.clusters.api.strict import StrictSerializer
from apps.clusters.control.survey_rows import LONGEST_DATABASE, SurveyRefused, refuse_odd
from apps.clusters.control.table_survey import request_survey
from apps.clusters.queries import lookup
from apps.query_cache.queries.table_shapes import TablesAnswer, TableSurveyAnswer
from apps.query_cache.queries.tables import default_database, survey_answer, tables_answer
from controlplane.problems import invalid

DATABASE = OpenApiParameter("database", str, description="only of this one; left out: the one that was read latest")


class TableSurveyInput(StrictSerializer):
    database = serializers.CharField(
        max_length=LONGEST_DATABASE,
        required=False,
        help_text="left out: the one of the survey before, else of benchmarks, else postgres",
    )


class TablesView(APIView):
    @extend_schema(
        operation_id="clusters_cache_tables", parameters=[DATABASE], responses=shapes.answer(TablesAnswer, 400, 404)
    )
    def get(self, request: Request, slug: str) -> Response:
        """How often tables are written, the most written ones first, and what leaves each out of the cache.

        Rows are counted, not statements: one that writes 1,000 rows empties a table's results once. Truncates are not
        seen.
        """
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        database = request.query_params.get("database")
        try:
            if database is not None:
                refuse_odd(database)
        except SurveyRefused as error:
            invalid(**{error.field: error.message})
        return Response(tables_answer(caller=caller, cluster=cluster, database=database))


class TableSurveyView(APIView):
    @extend_schema(
        operation_id="clusters_cache_tables_survey",
        request=TableSurveyInput,
        responses=shapes.answer(TableSurveyAnswer, 400, 404, status=202),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Have workers look twice, 10 s apart, at what the primary counts for a database. Nothing is changed."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = TableSurveyInput(data=request.data)
        form.is_valid(raise_exception=True)
        database = form.validated_data.get("database") or default_database(cluster=cluster)
        try:
            survey = request_survey(caller=caller, cluster=cluster, database=database, now=timezone.now())
        except SurveyRefused as error:
            invalid(**{error.field: error.message})
        return Response(survey_answer(survey), status=status.HTTP_202_ACCEPTED)
