"""REST: weights by role."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.clusters.api import refusals, shapes
from apps.clusters.api.json_fields import PlanField
from apps.clusters.api.strict import StrictSerializer
from apps.clusters.control import role_weights
from apps.clusters.domain.role_weights import RoleWeightError
from apps.clusters.queries import lookup
from apps.clusters.queries import rollouts as rollout_queries
from apps.clusters.queries.role_weights import DEFAULT_PAUSE_S, RoleWeightsAnswer, role_weights_answer
from apps.clusters.queries.rollout_shapes import RolloutAnswer
from controlplane.problems import invalid


@extend_schema_field({"type": "number", "minimum": 0, "maximum": 1, "nullable": True})
class Share(serializers.JSONField):
    """Read by the story, which knows what is exact."""


class RoleWeightsInput(StrictSerializer):
    """primary_share: 0..1, or null to want no weights by role any more."""

    primary_share = Share(allow_null=True)
    applies_itself = serializers.BooleanField(required=False, default=False)
    pause_s = serializers.IntegerField(
        required=False, default=DEFAULT_PAUSE_S, min_value=0, max_value=role_weights.LONGEST_PAUSE_S
    )
    absent = serializers.ChoiceField(
        choices=["refuse", "owe"],
        required=False,
        default="refuse",
        help_text="of a pgpool that cannot be reached, in a rollout whose plan does not say",
    )
    on_return = serializers.ChoiceField(
        choices=["give", "ask"],
        required=False,
        allow_null=True,
        default=None,
        help_text="of one that owes the weights; null: as what it owes already, else it is given them",
    )


class RoleWeightsApplyInput(StrictSerializer):
    base = serializers.ChoiceField(choices=["known", "live"], required=False, default="known")
    plan = PlanField()


class RoleWeightsView(APIView):
    @extend_schema(operation_id="clusters_role_weights_read", responses=shapes.answer(RoleWeightsAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """The weights that are wanted by role, what the present roles ask for, and what is proposed."""
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        return Response(role_weights_answer(cluster=cluster, now=timezone.now()))

    @extend_schema(
        operation_id="clusters_role_weights_change",
        request=RoleWeightsInput,
        responses=shapes.answer(RoleWeightsAnswer, 400, 404),
    )
    def put(self, request: Request, slug: str) -> Response:
        """Want these weights by role; nothing is rolled out by this. To let it act by itself takes an admin."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = RoleWeightsInput(data=request.data)
        form.is_valid(raise_exception=True)
        given: dict[str, Any] = {**form.validated_data, "on_return": form.validated_data["on_return"] or ""}
        now = timezone.now()
        try:
            role_weights.keep(caller=caller, cluster=cluster, now=now, **given)
        except RoleWeightError as error:
            invalid(**{error.field: str(error).removeprefix(f"{error.field}: ")})
        return Response(role_weights_answer(cluster=cluster, now=now))


class RoleWeightsApplyView(APIView):
    @extend_schema(
        operation_id="clusters_role_weights_apply",
        request=RoleWeightsApplyInput,
        responses=shapes.answer(RolloutAnswer, 400, 404, 409, status=202),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Roll out the weights that the present roles ask for. Answers with the rollout, which goes on by itself."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = RoleWeightsApplyInput(data=request.data)
        form.is_valid(raise_exception=True)
        now = timezone.now()
        with refusals.as_problems():
            rollout = role_weights.apply(
                caller=caller,
                cluster=cluster,
                base=form.validated_data["base"],
                plan=form.validated_data["plan"],
                now=now,
            )
        answer = rollout_queries.rollout_answer(rollout=rollout, caller=caller, now=now)
        return Response(answer, status=status.HTTP_202_ACCEPTED)


class RoleWeightsDismissView(APIView):
    @extend_schema(
        operation_id="clusters_role_weights_dismiss", request=None, responses=shapes.answer(RoleWeightsAnswer, 404, 409)
    )
    def post(self, request: Request, slug: str) -> Response:
        """Leave the weights as they are until the roles change again."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        now = timezone.now()
        with refusals.as_problems():
            role_weights.dismiss(caller=caller, cluster=cluster, now=now)
        return Response(role_weights_answer(cluster=cluster, now=now))
