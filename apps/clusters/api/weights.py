"""REST: weights, revisions, rollouts."""

from collections.abc import Callable

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.clusters.api import reading, refusals, shapes
from apps.clusters.api.change_inputs import RollbackInput, WeightsInput
from apps.clusters.control import rollout_holds, rollouts, weight_change
from apps.clusters.queries import editing, lookup, receipts, revision_history
from apps.clusters.queries import rollouts as rollout_queries
from apps.clusters.queries.rollout_shapes import RolloutAnswer


class WeightsView(APIView):
    @extend_schema(operation_id="clusters_weights_read", responses=shapes.answer(editing.WeightsAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """The weights that the pgpools run now."""
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        return Response(editing.weights_answer(cluster=cluster, now=timezone.now()))

    @extend_schema(
        operation_id="clusters_weights_change",
        request=WeightsInput,
        responses=shapes.answer(RolloutAnswer, 400, 404, 409, status=202),
    )
    def put(self, request: Request, slug: str) -> Response:
        """Write new weights to every pgpool, reload, read back. Answers with the rollout, which goes on by itself."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = WeightsInput(data=request.data)
        form.is_valid(raise_exception=True)
        now = timezone.now()
        with refusals.as_problems():
            rollout = weight_change.request_weights(
                caller=caller,
                cluster=cluster,
                weights=form.validated_data.get("weights"),
                per_instance=form.validated_data.get("per_instance"),
                note=form.validated_data["note"],
                base=form.validated_data["base"],
                plan=form.validated_data["plan"],
                now=now,
            )
        answer = rollout_queries.rollout_answer(rollout=rollout, caller=caller, now=now)
        return Response(answer, status=status.HTTP_202_ACCEPTED)


class PreviewView(APIView):
    @extend_schema(
        operation_id="clusters_weights_preview",
        request=WeightsInput,
        responses=shapes.answer(weight_change.PreviewAnswer, 400, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """What new weights would change in each pgpool.conf; stores nothing, writes nothing."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = WeightsInput(data=request.data)
        form.is_valid(raise_exception=True)
        with refusals.as_problems():
            found = weight_change.preview(
                cluster=cluster,
                weights=form.validated_data.get("weights"),
                per_instance=form.validated_data.get("per_instance"),
                base=form.validated_data["base"],
                plan=form.validated_data["plan"],
            )
        return Response(found)


class RevisionsView(APIView):
    @extend_schema(
        operation_id="clusters_revisions",
        parameters=[shapes.BEFORE, shapes.LIMIT],
        responses=shapes.page_of(revision_history.RevisionAnswer, 400, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Revisions of the configuration, latest first."""
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        before, limit = reading.page_bounds(request)
        found = revision_history.revision_answers(cluster=cluster, before=before, limit=limit + 1)
        older = found[limit - 1]["number"] if len(found) > limit else None
        return Response({"results": found[:limit], "next": reading.next_page(request, before=older)})


class RevisionView(APIView):
    @extend_schema(
        operation_id="clusters_revisions_read", responses=shapes.answer(revision_history.RevisionDetail, 404)
    )
    def get(self, request: Request, slug: str, number: int) -> Response:
        """One revision by its number: what it changed in every pgpool.conf, and the files, all secrets masked."""
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        revision = lookup.revision_of(cluster=cluster, number=number)
        return Response(revision_history.revision_detail(revision=revision))


class ClusterRolloutsView(APIView):
    @extend_schema(
        operation_id="clusters_rollouts",
        parameters=[shapes.BEFORE, shapes.LIMIT],
        responses=shapes.page_of(RolloutAnswer, 400, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Rollouts of the cluster, latest first."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        before, limit = reading.page_bounds(request)
        found = rollout_queries.rollout_answers(
            cluster=cluster, caller=caller, before=before, limit=limit + 1, now=timezone.now()
        )
        older = found[limit - 1]["id"] if len(found) > limit else None
        return Response({"results": found[:limit], "next": reading.next_page(request, before=older)})


class RolloutView(APIView):
    @extend_schema(operation_id="rollouts_read", responses=shapes.answer(RolloutAnswer, 404))
    def get(self, request: Request, pk: int) -> Response:
        """One rollout with its steps, receipts and log."""
        caller = caller_of(request)
        rollout = lookup.rollout_of(caller=caller, pk=pk)
        return Response(rollout_queries.rollout_answer(rollout=rollout, caller=caller, now=timezone.now()))


class ReceiptsView(APIView):
    @extend_schema(operation_id="rollouts_receipts", responses=shapes.answer(receipts.ReceiptsAnswer, 404))
    def get(self, request: Request, pk: int) -> Response:
        """What was done to each pgpool, and each value as several sessions showed it afterwards; secrets are masked."""
        rollout = lookup.rollout_of(caller=caller_of(request), pk=pk)
        return Response(receipts.receipts_answer(rollout=rollout))


class RollbackView(APIView):
    @extend_schema(
        operation_id="rollouts_roll_back",
        request=RollbackInput,
        responses=shapes.answer(RolloutAnswer, 400, 404, 409, status=202),
    )
    def post(self, request: Request, pk: int) -> Response:
        """Carry the files of before back to every pgpool that this rollout changed: a new rollout."""
        caller = caller_of(request)
        rollout = lookup.rollout_of(caller=caller, pk=pk)
        form = RollbackInput(data=request.data)
        form.is_valid(raise_exception=True)
        now = timezone.now()
        with refusals.as_problems():
            rollback = rollouts.request_rollback(
                caller=caller, rollout=rollout, plan=form.validated_data["plan"], now=now
            )
        answer = rollout_queries.rollout_answer(rollout=rollback, caller=caller, now=now)
        return Response(answer, status=status.HTTP_202_ACCEPTED)


class CancelView(APIView):
    @extend_schema(
        operation_id="rollouts_cancel",
        request=None,
        responses=shapes.answer(RolloutAnswer, 404, 409, status=202),
    )
    def post(self, request: Request, pk: int) -> Response:
        """Stop a rollout: what it touched gets its old file back."""
        return _changed(request, pk, rollouts.cancel)


class PauseView(APIView):
    @extend_schema(
        operation_id="rollouts_pause",
        request=None,
        responses=shapes.answer(RolloutAnswer, 404, 409, status=202),
    )
    def post(self, request: Request, pk: int) -> Response:
        """Begin nothing more until it is resumed. Other rollouts of the cluster have to wait."""
        return _changed(request, pk, rollout_holds.pause)


class ResumeView(APIView):
    @extend_schema(
        operation_id="rollouts_resume",
        request=None,
        responses=shapes.answer(RolloutAnswer, 404, 409, status=202),
    )
    def post(self, request: Request, pk: int) -> Response:
        """Let a paused rollout go on where it stands."""
        return _changed(request, pk, rollout_holds.resume)


def _changed(request: Request, pk: int, change: Callable[..., object]) -> Response:
    caller = caller_of(request)
    rollout = lookup.rollout_of(caller=caller, pk=pk)
    now = timezone.now()
    with refusals.as_problems():
        change(caller=caller, rollout=rollout, now=now)
    answer = rollout_queries.rollout_answer(rollout=lookup.rollout_of(caller=caller, pk=pk), caller=caller, now=now)
    return Response(answer, status=status.HTTP_202_ACCEPTED)
