"""REST: the caller's draft of a cluster, gathered change by change, then rolled out."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.accounts.roles import Role
from apps.clusters.api import refusals, shapes
from apps.clusters.api.change_inputs import DraftInput, DraftPreviewInput, RolloutInput
from apps.clusters.control import drafts, redrafting
from apps.clusters.control.draft_rows import WEIGHTS, Draft
from apps.clusters.control.drafts import DraftChange
from apps.clusters.control.parameter_change import ChangePreview
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup
from apps.clusters.queries.drafts import DraftAnswer, draft_answer
from apps.clusters.queries.rollout_shapes import RolloutAnswer
from apps.clusters.queries.rollouts import rollout_answer

IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="a version of the draft, as ETag named it; refused with 412 if the draft was changed since",
)


class DraftView(APIView):
    read_role = Role.OPERATOR

    @extend_schema(operation_id="clusters_draft", responses=shapes.answer(DraftAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """What you have drafted for this cluster; everybody has a draft of their own. Passwords are masked."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        return answered(cluster, drafts.draft_of(caller=caller, cluster=cluster))

    @extend_schema(
        operation_id="clusters_draft_change",
        parameters=[IF_MATCH],
        request=DraftInput,
        responses=shapes.answer(DraftAnswer, 400, 404, 412),
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Add changes to your draft or let them go; no pgpool is written to. The same again changes nothing."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = DraftInput(data=request.data)
        form.is_valid(raise_exception=True)
        with refusals.as_problems():
            draft = drafts.change(
                caller=caller,
                cluster=cluster,
                wanted=_wanted(form.validated_data),
                expected=expected_versions(request),
                now=timezone.now(),
            )
        return answered(cluster, draft)

    @extend_schema(
        operation_id="clusters_draft_discard",
        parameters=[IF_MATCH],
        request=None,
        responses=shapes.answer(None, 404, 412, status=204),
    )
    def delete(self, request: Request, slug: str) -> Response:
        """Discard your draft; one that is gone is discarded already."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        with refusals.as_problems():
            drafts.discard(caller=caller, cluster=cluster, expected=expected_versions(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class DraftPreviewView(APIView):
    @extend_schema(
        operation_id="clusters_draft_preview",
        request=DraftPreviewInput,
        responses=shapes.answer(ChangePreview, 400, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """What your draft would change in each pgpool.conf, and what is to be said about it; stores nothing."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = DraftPreviewInput(data=request.data)
        form.is_valid(raise_exception=True)
        with refusals.as_problems():
            found = drafts.preview(caller=caller, cluster=cluster, **form.validated_data)
        return Response(found)


class DraftRolloutView(APIView):
    @extend_schema(
        operation_id="clusters_draft_roll_out",
        parameters=[IF_MATCH],
        request=RolloutInput,
        responses=shapes.answer(RolloutAnswer, 400, 404, 409, 412, status=202),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Write your draft to every pgpool.conf, reload, read back. Answers with the rollout; the draft is gone."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = RolloutInput(data=request.data)
        form.is_valid(raise_exception=True)
        now = timezone.now()
        with refusals.as_problems():
            rollout = drafts.roll_out(
                caller=caller,
                cluster=cluster,
                note=form.validated_data["note"],
                base=form.validated_data["base"],
                plan=form.validated_data["plan"],
                expected=expected_versions(request),
                now=now,
            )
        return Response(rollout_answer(rollout=rollout, caller=caller, now=now), status=status.HTTP_202_ACCEPTED)


class RedraftView(APIView):
    @extend_schema(
        operation_id="rollouts_draft_again",
        parameters=[IF_MATCH],
        request=None,
        responses=shapes.answer(DraftAnswer, 400, 404, 409, 412),
    )
    def post(self, request: Request, pk: int) -> Response:
        """Put what a rollout that was taken back, cancelled or failed wanted into your draft again.

        What your draft says already stays as it is there; one that says all of it is answered as it is.
        """
        caller = caller_of(request)
        rollout = lookup.rollout_of(caller=caller, pk=pk)
        with refusals.as_problems():
            draft = redrafting.redraft(
                caller=caller, rollout=rollout, expected=expected_versions(request), now=timezone.now()
            )
        return answered(rollout.cluster, draft)


def answered(cluster: Cluster, draft: Draft) -> Response:
    return Response(draft_answer(cluster=cluster, draft=draft), headers={"ETag": f'"{draft.version}"'})


def expected_versions(request: Request) -> list[str] | None:
    """From If-Match (RFC 9110): a list of quoted versions; None where any will do."""
    given = request.headers.get("If-Match", "*").strip()
    return None if given == "*" else [one.strip().removeprefix("W/").strip('"') for one in given.split(",")]


def _wanted(given: dict[str, Any]) -> DraftChange:
    drops = [(each["instance"] or "", each["parameter"]) for each in given["drop"]]
    if "weights" in given and given["weights"] is None:
        drops.append(("", WEIGHTS))
    return DraftChange(
        parameters=given.get("parameters"),
        per_instance=given.get("per_instance"),
        weights=given.get("weights"),
        weights_per_instance=given.get("weights_per_instance"),
        drops=drops,
        drops_own_weights="weights_per_instance" in given and given["weights_per_instance"] is None,
        base_revision=given.get("base_revision"),
    )
