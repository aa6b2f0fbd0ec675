"""REST: going back to an earlier revision."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.accounts.roles import Role
from apps.clusters.api import refusals, shapes
from apps.clusters.api.change_inputs import RolloutInput
from apps.clusters.control import revision_return
from apps.clusters.queries import lookup
from apps.clusters.queries.revision_return import ReturnAnswer, return_answer
from apps.clusters.queries.rollout_shapes import RolloutAnswer
from apps.clusters.queries.rollouts import rollout_answer


class RevisionRolloutView(APIView):
    read_role = Role.OPERATOR  # the live files are read for it, as on its page

    @extend_schema(operation_id="clusters_revisions_return_read", responses=shapes.answer(ReturnAnswer, 403, 404))
    def get(self, request: Request, slug: str, number: int) -> Response:
        """What going back to this revision would write to each pgpool.conf; the live files are read only."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        revision = lookup.revision_of(cluster=cluster, number=number)
        return Response(return_answer(caller=caller, cluster=cluster, revision=revision))

    @extend_schema(
        operation_id="clusters_revisions_return",
        request=RolloutInput,
        responses=shapes.answer(RolloutAnswer, 400, 404, 409, status=202),
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Put the files of this revision back on every pgpool: a new revision and its rollout."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        revision = lookup.revision_of(cluster=cluster, number=number)
        form = RolloutInput(data=request.data)
        form.is_valid(raise_exception=True)
        now = timezone.now()
        with refusals.as_problems():
            rollout = revision_return.request_return(
                caller=caller, cluster=cluster, revision=revision, now=now, **form.validated_data
            )
        return Response(rollout_answer(rollout=rollout, caller=caller, now=now), status=status.HTTP_202_ACCEPTED)
