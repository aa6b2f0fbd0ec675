"""REST: the parameters of a cluster's pgpools, and what new values would do."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.accounts.roles import Role
from apps.clusters.api import shapes
from apps.clusters.api.json_fields import ValuesField
from apps.clusters.api.parameter_change import ParametersChange
from apps.clusters.api.strict import StrictSerializer
from apps.clusters.queries import configuration, lookup, validation


class ValidationInput(StrictSerializer):
    """Parameters are read by the validation, which names each and its fault; here only the frame is looked at."""

    parameters = ValuesField(help_text='name -> new value, null for the default, as {"delay_threshold": "1000"}')
    base = serializers.ChoiceField(
        choices=["known", "live"],
        required=False,
        default="known",
        help_text="known: the files as they were seen latest; live: as they stand now",
    )


class ParametersView(ParametersChange):
    """One address: GET reads, PUT changes."""

    @extend_schema(
        operation_id="clusters_parameters_read",
        parameters=[
            OpenApiParameter("q", str, description="only parameters whose name, meaning or value has these words"),
            OpenApiParameter("group", str, description="only this group, as backends or load_balancing"),
            OpenApiParameter(
                "show", str, enum=configuration.SHOWN, description="all, or only those that differ from something"
            ),
        ],
        responses=shapes.answer(configuration.ConfigurationAnswer, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every parameter with its value on each pgpool, as seen latest; passwords are masked."""
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        answer = configuration.configuration_answer(cluster=cluster)
        asked = request.query_params
        answer["results"] = configuration.chosen(
            answer["results"], words=asked.get("q", ""), group=asked.get("group", ""), show=asked.get("show", "all")
        )
        return Response(answer)


class ValidationView(APIView):
    write_role = Role.VIEWER  # it changes nothing

    @extend_schema(
        operation_id="clusters_validate",
        request=ValidationInput,
        responses=shapes.answer(validation.ValidationAnswer, 400, 404),
    )
    def post(self, request: Request, slug: str) -> Response:
        """What would be wrong with these parameters, and what they would take: a reload, a restart. Touches nothing."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = ValidationInput(data=request.data)
        form.is_valid(raise_exception=True)
        answer = validation.validation_answer(
            cluster=cluster,
            raw=form.validated_data["parameters"],
            is_live=form.validated_data["base"] == "live",
            may_run_programs=caller.may(Role.ADMIN),
        )
        return Response(answer)
