"""REST: parameters of pgpool.conf, changed by a rollout."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.clusters.api import refusals, shapes
from apps.clusters.api.change_inputs import ParametersInput
from apps.clusters.control import parameter_change
from apps.clusters.queries import lookup
from apps.clusters.queries.rollout_shapes import RolloutAnswer
from apps.clusters.queries.rollouts import rollout_answer


class ParametersChange(APIView):
    @extend_schema(
        operation_id="clusters_parameters_change",
        request=ParametersInput,
        responses=shapes.answer(RolloutAnswer, 400, 404, 409, status=202),
    )
    def put(self, request: Request, slug: str) -> Response:
        """Write these parameters to every pgpool.conf, reload, read each value back. Answers with the rollout."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        given = _given(request)
        now = timezone.now()
        with refusals.as_problems():
            rollout = parameter_change.request_change(
                caller=caller, cluster=cluster, wish=_wish(given), note=given["note"], plan=given["plan"], now=now
            )
        return Response(rollout_answer(rollout=rollout, caller=caller, now=now), status=status.HTTP_202_ACCEPTED)


class ParametersPreviewView(APIView):
    @extend_schema(
        operation_id="clusters_parameters_preview",
        request=ParametersInput,
        responses=shapes.answer(parameter_change.ChangePreview, 400, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """What these parameters would change in each pgpool.conf, and what is to be said about them; stores nothing."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        given = _given(request)
        with refusals.as_problems():
            found = parameter_change.preview(caller=caller, cluster=cluster, wish=_wish(given), plan=given["plan"])
        return Response(found)


def _given(request: Request) -> dict[str, Any]:
    form = ParametersInput(data=request.data)
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)


def _wish(given: dict[str, Any]) -> parameter_change.Wish:
    return parameter_change.Wish(
        parameters=given.get("parameters"),
        per_instance=given.get("per_instance"),
        weights=given.get("weights"),
        weights_per_instance=given.get("weights_per_instance"),
        base=given["base"],
    )
