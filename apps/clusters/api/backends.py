"""REST: one backend, and attach, detach and drain."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import Caller, caller_of
from apps.clusters.api import refusals, shapes
from apps.clusters.api.change_inputs import DrainInput, OperationInput
from apps.clusters.control import backend_operations
from apps.clusters.models import BackendOperation
from apps.clusters.queries import lookup
from apps.clusters.queries.backend_operations import (
    BackendAnswer,
    OperationAnswer,
    RiskAnswer,
    backend_answer,
    operation_answer,
)

ASKED = {**shapes.answer(OperationAnswer, 400, 404, 409, status=202), **shapes.answer(RiskAnswer, 400, 404, 409)}
TOLD = shapes.answer(OperationAnswer, 404, 409, status=202)


class BackendView(APIView):
    @extend_schema(operation_id="clusters_backends_read", responses=shapes.answer(BackendAnswer, 404))
    def get(self, request: Request, slug: str, node_id: int) -> Response:
        """A backend as every pgpool sees it and as it answers itself; what is done to it, and what was."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        backend = lookup.backend_of(cluster=cluster, node_id=node_id)
        return Response(backend_answer(cluster=cluster, backend=backend, caller=caller, now=timezone.now()))


class AttachView(APIView):
    @extend_schema(operation_id="clusters_backends_attach", request=OperationInput, responses=ASKED)
    def post(self, request: Request, slug: str, node_id: int) -> Response:
        """Let every pgpool take it as up. Refused where it would be a second primary or follows none.

        Refused, too, while a pgpool numbers the backends differently: its number is another server there.
        With dry_run nothing is done: the answer, 200, says what stands in the way and what it would do.
        """
        return _request(request, slug, node_id, "attach", OperationInput)


class DetachView(APIView):
    @extend_schema(operation_id="clusters_backends_detach", request=OperationInput, responses=ASKED)
    def post(self, request: Request, slug: str, node_id: int) -> Response:
        """Let every pgpool take it as down, at once: sessions that read there are cut. With dry_run as attach.

        Refused for the primary, for what a pgpool holds for the primary, and while one numbers them differently.
        """
        return _request(request, slug, node_id, "detach", OperationInput)


class DrainView(APIView):
    @extend_schema(operation_id="clusters_backends_drain", request=DrainInput, responses=ASKED)
    def post(self, request: Request, slug: str, node_id: int) -> Response:
        """Take its weight to 0, wait until the sessions of before are gone, then detach. With dry_run as attach."""
        return _request(request, slug, node_id, "drain", DrainInput)


def _request(request: Request, slug: str, node_id: int, kind: str, body: type[OperationInput]) -> Response:
    caller = caller_of(request)
    cluster = lookup.cluster_of(caller=caller, slug=slug)
    backend = lookup.backend_of(cluster=cluster, node_id=node_id)
    form = body(data=request.data)
    form.is_valid(raise_exception=True)
    given: dict[str, Any] = dict(form.validated_data)
    if given.pop("dry_run"):
        risk = backend_operations.risk_of(cluster=cluster, backend=backend, kind=kind)
        found: RiskAnswer = {
            "refusals": list(risk.refusals),
            "risks": list(risk.risks),
            "settled": risk.settled,
        }
        return Response(found)
    with refusals.operations_as_problems():
        operation = backend_operations.request(
            caller=caller, cluster=cluster, backend=backend, kind=kind, now=timezone.now(), **given
        )
    return _accepted(caller, operation)


class OperationView(APIView):
    @extend_schema(operation_id="clusters_operations_read", responses=shapes.answer(OperationAnswer, 404))
    def get(self, request: Request, slug: str, operation_id: int) -> Response:
        """One attach, detach or drain: how far it is at every pgpool, with receipts."""
        caller = caller_of(request)
        operation = _operation(caller, slug, operation_id)
        return Response(operation_answer(operation=operation, caller=caller))


class CancelOperationView(APIView):
    @extend_schema(operation_id="clusters_operations_cancel", request=None, responses=TOLD)
    def post(self, request: Request, slug: str, operation_id: int) -> Response:
        """End a drain that has not begun to detach: the weights are given back."""
        caller = caller_of(request)
        operation = _operation(caller, slug, operation_id)
        with refusals.operations_as_problems():
            backend_operations.cancel(caller=caller, operation=operation, now=timezone.now())
        return _accepted(caller, operation)


class GoOnView(APIView):
    @extend_schema(operation_id="clusters_operations_go_on", request=None, responses=TOLD)
    def post(self, request: Request, slug: str, operation_id: int) -> Response:
        """Let a drain detach although sessions are left: they are cut."""
        caller = caller_of(request)
        operation = _operation(caller, slug, operation_id)
        with refusals.operations_as_problems():
            backend_operations.go_on(caller=caller, operation=operation, now=timezone.now())
        return _accepted(caller, operation)


def _operation(caller: Caller, slug: str, operation_id: int) -> BackendOperation:
    return lookup.operation_of(cluster=lookup.cluster_of(caller=caller, slug=slug), pk=operation_id)


def _accepted(caller: Caller, operation: BackendOperation) -> Response:
    return Response(operation_answer(operation=operation, caller=caller), status=status.HTTP_202_ACCEPTED)
