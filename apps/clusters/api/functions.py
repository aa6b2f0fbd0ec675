"""REST: which functions write, and what pgpool should be told of them."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.clusters.api import refusals, shapes
from apps.clusters.api.drafts import IF_MATCH, answered, expected_versions
from apps.clusters.api.strict import StrictBoolean, StrictSerializer
from apps.clusters.control import function_draft
from apps.clusters.control.function_survey import request_survey
from apps.clusters.control.survey_rows import SurveyRefused
from apps.clusters.queries import lookup
from apps.clusters.queries.drafts import DraftAnswer
from apps.clusters.queries.functions import (
    DEFAULT_DATABASE,
    FunctionsAnswer,
    SurveyAnswer,
    functions_answer,
    survey_answer,
)
from controlplane.problems import Problem, invalid


class SurveyInput(StrictSerializer):
    database = serializers.CharField(max_length=63, required=False, default=DEFAULT_DATABASE)


class FunctionsView(APIView):
    @extend_schema(operation_id="clusters_functions", responses=shapes.answer(FunctionsAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """What the newest survey found, and the write_function_list that helps: one for all databases that were read.

        proposal.warning names the databases that were not.
        """
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        return Response(functions_answer(cluster=cluster))


class FunctionDraftInput(StrictSerializer):
    empties_read_only = StrictBoolean(
        required=False, default=False, help_text="empty read_only_function_list too, where it is not: it goes first"
    )
    despite_unread = StrictBoolean(
        required=False, default=False, help_text="also where proposal.unread names databases: 409 without it"
    )


@contextmanager
def _naming_databases() -> Iterator[None]:
    try:
        yield
    except function_draft.DatabasesUnread as error:
        title = "Not every database was read"
        raise Problem("databases-not-read", 409, title, str(error), databases=error.names) from error


class FunctionDraftView(APIView):
    @extend_schema(
        operation_id="clusters_functions_draft",
        parameters=[IF_MATCH],
        request=FunctionDraftInput,
        responses=shapes.answer(DraftAnswer, 400, 404, 409, 412),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Put what is proposed for all databases that were read into your draft, behind what the lists name already.

        While these servers hold databases that no survey has read, it is refused and names them (databases-not-read).
        """
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = FunctionDraftInput(data=request.data)
        form.is_valid(raise_exception=True)
        with refusals.as_problems(), _naming_databases():
            draft = function_draft.add_to_draft(
                caller=caller,
                cluster=cluster,
                empties_read_only=form.validated_data["empties_read_only"],
                despite_unread=form.validated_data["despite_unread"],
                expected=expected_versions(request),
                now=timezone.now(),
            )
        return answered(cluster, draft)


class FunctionSurveyView(APIView):
    @extend_schema(
        operation_id="clusters_functions_survey",
        request=SurveyInput,
        responses=shapes.answer(SurveyAnswer, 400, 404, status=202),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Have a worker read the functions of a database from a backend. Nothing is changed anywhere."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = SurveyInput(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            survey = request_survey(
                caller=caller, cluster=cluster, database=form.validated_data["database"], now=timezone.now()
            )
        except SurveyRefused as error:
            invalid(**{error.field: error.message})
        return Response(survey_answer(survey), status=status.HTTP_202_ACCEPTED)
