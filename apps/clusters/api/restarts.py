"""REST: rolling restarts of the pgpools of a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.clusters.api import refusals, shapes
from apps.clusters.api.change_inputs import RestartInput
from apps.clusters.control import restarts
from apps.clusters.control.restarts import RestartInvalid, RestartRefused
from apps.clusters.queries import lookup
from apps.clusters.queries.restarts import (
    RestartAnswer,
    RestartRiskAnswer,
    RestartsAnswer,
    restart_answer,
    restarts_answer,
)
from controlplane.problems import Problem

ASKED = {**shapes.answer(RestartAnswer, 400, 404, 409, status=202), **shapes.answer(RestartRiskAnswer, 400, 404, 409)}


@contextmanager
def _as_problems() -> Iterator[None]:
    try:
        with refusals.as_problems():
            yield
    except RestartInvalid as error:
        raise ValidationError({error.field: [error.expected]}) from error
    except RestartRefused as error:
        reasons = list(error.refusals)
        raise Problem("restart-refused", 409, "This cannot be done now", str(error), refusals=reasons) from error


class RestartsView(APIView):
    @extend_schema(operation_id="clusters_restarts_list", responses=shapes.answer(RestartsAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """What waits for a restart of a pgpool, the rolling restart under way, and the latest ones."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        return Response(restarts_answer(cluster=cluster, caller=caller))

    @extend_schema(operation_id="clusters_restarts_create", request=RestartInput, responses=ASKED)
    def post(self, request: Request, slug: str) -> Response:
        """Restart pgpools one after the other: each is seen to be another run, to serve, and to use its file.

        With dry_run nothing is done: the answer, 200, says what stands in the way and what it would do.
        """
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        body = RestartInput(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        with _as_problems():
            if given["dry_run"]:
                risk = restarts.risk_of(cluster=cluster, names=given["instances"])
                found: RestartRiskAnswer = {
                    "refusals": list(risk.refusals),
                    "risks": list(risk.risks),
                    "order": list(risk.order),
                }
                return Response(found)
            restart = restarts.request(
                caller=caller, cluster=cluster, names=given["instances"], note=given["note"], now=timezone.now()
            )
        return Response(restart_answer(restart=restart, caller=caller), status=status.HTTP_202_ACCEPTED)


class RestartView(APIView):
    @extend_schema(operation_id="clusters_restarts_read", responses=shapes.answer(RestartAnswer, 404))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """One rolling restart: how far it is at every pgpool, with receipts."""
        caller = caller_of(request)
        restart = lookup.restart_of(cluster=lookup.cluster_of(caller=caller, slug=slug), pk=pk)
        return Response(restart_answer(restart=restart, caller=caller))


class CancelRestartView(APIView):
    @extend_schema(
        operation_id="clusters_restarts_cancel",
        request=None,
        responses=shapes.answer(RestartAnswer, 404, 409, status=202),
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """End it: at once where no command is under way, else once the pgpool under way is done."""
        caller = caller_of(request)
        restart = lookup.restart_of(cluster=lookup.cluster_of(caller=caller, slug=slug), pk=pk)
        with _as_problems():
            restarts.cancel(caller=caller, restart=restart, now=timezone.now())
        return Response(restart_answer(restart=restart, caller=caller), status=status.HTTP_202_ACCEPTED)
