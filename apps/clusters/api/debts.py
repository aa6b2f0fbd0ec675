"""REST: revisions that pgpools owe since nobody could reach them."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.clusters.api import refusals, shapes
from apps.clusters.control import debt_settlement
from apps.clusters.queries import lookup
from apps.clusters.queries.debts import DebtsAnswer, debts_answer
from apps.clusters.queries.rollout_shapes import RolloutAnswer
from apps.clusters.queries.rollouts import rollout_answer


class DebtsView(APIView):
    @extend_schema(operation_id="clusters_debts", responses=shapes.answer(DebtsAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """Which pgpools owe a revision, and what became of those that owed one."""
        return Response(debts_answer(cluster=lookup.cluster_of(caller=caller_of(request), slug=slug)))


class DebtGiveView(APIView):
    @extend_schema(
        operation_id="clusters_debts_give",
        request=None,
        responses=shapes.answer(RolloutAnswer, 404, 409, status=202),
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Give this pgpool what it owes. Answers with the rollout to it alone, which goes on by itself."""
        caller = caller_of(request)
        debt = lookup.debt_of(cluster=lookup.cluster_of(caller=caller, slug=slug), pk=pk)
        now = timezone.now()
        with refusals.as_problems():
            rollout = debt_settlement.give(caller=caller, debt=debt, now=now)
        answer = rollout_answer(rollout=rollout, caller=caller, now=now)
        return Response(answer, status=status.HTTP_202_ACCEPTED)


class DebtForgiveView(APIView):
    @extend_schema(operation_id="clusters_debts_forgive", request=None, responses=shapes.answer(DebtsAnswer, 404, 409))
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Let it go: the pgpool keeps the file that it has, and owes nothing."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        with refusals.as_problems():
            debt_settlement.forgive(caller=caller, debt=lookup.debt_of(cluster=cluster, pk=pk), now=timezone.now())
        return Response(debts_answer(cluster=cluster))
