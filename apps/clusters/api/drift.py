"""REST: drift, and what is done about it."""

from collections.abc import Callable

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.clusters.api import refusals, shapes
from apps.clusters.api.change_inputs import DriftInput
from apps.clusters.control import drift_changes
from apps.clusters.models import Rollout
from apps.clusters.queries import lookup
from apps.clusters.queries.drift import DriftAnswer, drift_answer
from apps.clusters.queries.rollout_shapes import RolloutAnswer
from apps.clusters.queries.rollouts import rollout_answer

_ACCEPTED = shapes.answer(RolloutAnswer, 400, 404, 409, status=202)


class DriftView(APIView):
    @extend_schema(operation_id="clusters_drift", responses=shapes.answer(DriftAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """How every pgpool's file and running values differ from what was verified there latest."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        return Response(drift_answer(caller=caller, cluster=cluster))


class AdoptView(APIView):
    @extend_schema(operation_id="clusters_drift_adopt", request=DriftInput, responses=_ACCEPTED)
    def post(self, request: Request, slug: str) -> Response:
        """Take what was edited by hand as a revision, and read every edited value back. Answers with the rollout."""
        return _requested(request, slug, drift_changes.request_adoption)


class RevertView(APIView):
    @extend_schema(operation_id="clusters_drift_revert", request=DriftInput, responses=_ACCEPTED)
    def post(self, request: Request, slug: str) -> Response:
        """Put the files back that were verified latest. Answers with the rollout, which goes on by itself."""
        return _requested(request, slug, drift_changes.request_reversion)


def _requested(request: Request, slug: str, story: Callable[..., Rollout]) -> Response:
    caller = caller_of(request)
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    form = DriftInput(data=request.data)
    form.is_valid(raise_exception=True)
    given, now = form.validated_data, timezone.now()
    with refusals.as_problems():
        rollout = story(
            caller=caller,
            cluster=cluster,
            names=given["instances"],
            note=given["note"],
            plan=given["plan"],
            now=now,
        )
    answer = rollout_answer(rollout=rollout, caller=caller, now=now)
    return Response(answer, status=status.HTTP_202_ACCEPTED)
