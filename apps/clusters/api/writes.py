"""REST: the switch that stops all writes."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.accounts.roles import Role
from apps.clusters.api import refusals, shapes
from apps.clusters.api.strict import StrictBoolean, StrictSerializer
from apps.clusters.control import writes_switch
from apps.clusters.queries import lookup
from apps.clusters.queries.writes import ObserveAnswer, WritesAnswer, observe_answer, writes_answer
from apps.clusters.registry import observe_only


class WritesInput(StrictSerializer):
    allowed = StrictBoolean(help_text="false stops all writes to all pgpools of the organisation; true needs an admin")
    reason = serializers.CharField(
        max_length=writes_switch.LONGEST_REASON, required=False, default="", allow_blank=True
    )


class WritesAllowedView(APIView):
    """Operators stop; only admins allow again, which the story asks for."""

    @extend_schema(
        operation_id="writes_allowed_read", parameters=[shapes.ORGANISATION], responses=shapes.answer(WritesAnswer)
    )
    def get(self, request: Request) -> Response:
        """Whether anything may be written to the organisation's pgpools, and who stopped it, when and why."""
        return Response(writes_answer(organisation=caller_of(request).organisation))

    @extend_schema(
        operation_id="writes_allowed_change", request=WritesInput, responses=shapes.answer(WritesAnswer, 400)
    )
    def put(self, request: Request) -> Response:
        """Stop all writes at once, or allow them again. After `finishing` 0 nothing is written any more."""
        caller = caller_of(request)
        form = WritesInput(data=request.data)
        form.is_valid(raise_exception=True)
        given, finishing = form.validated_data, 0
        if given["allowed"]:
            writes_switch.allow(caller=caller, reason=given["reason"], now=timezone.now())
        else:
            finishing = writes_switch.stop(caller=caller, reason=given["reason"], now=timezone.now())
        return Response(writes_answer(organisation=caller.organisation, finishing=finishing))


class ObserveInput(StrictSerializer):
    observe_only = StrictBoolean()
    confirm = serializers.CharField(
        max_length=80,
        required=False,
        default="",
        allow_blank=True,
        help_text="the slug of the cluster or organisation, with observe_only true",
    )


class OrganisationObserveView(APIView):
    write_role = Role.ADMIN

    @extend_schema(
        operation_id="observe_only_read", parameters=[shapes.ORGANISATION], responses=shapes.answer(ObserveAnswer)
    )
    def get(self, request: Request) -> Response:
        """Whether the whole organisation is watched only, and never written to."""
        return Response(observe_answer(organisation=caller_of(request).organisation))

    @extend_schema(
        operation_id="observe_only_change", request=ObserveInput, responses=shapes.answer(ObserveAnswer, 400, 409)
    )
    def put(self, request: Request) -> Response:
        """Watch the organisation's clusters only, or allow changes again. Deliveries that are registered stay."""
        caller = caller_of(request)
        form = ObserveInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        with refusals.as_problems():
            organisation = observe_only.set_for_organisation(
                caller=caller, is_observe_only=given["observe_only"], confirm=given["confirm"], now=timezone.now()
            )
        return Response(observe_answer(organisation=organisation))


class ClusterObserveView(APIView):
    write_role = Role.ADMIN

    @extend_schema(operation_id="clusters_observe_only_read", responses=shapes.answer(ObserveAnswer, 404))
    def get(self, request: Request, slug: str) -> Response:
        """Whether the cluster is watched only, and never written to."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        return Response(observe_answer(organisation=caller.organisation, cluster=cluster))

    @extend_schema(
        operation_id="clusters_observe_only_change",
        request=ObserveInput,
        responses=shapes.answer(ObserveAnswer, 400, 404, 409),
    )
    def put(self, request: Request, slug: str) -> Response:
        """Watch the cluster only, which forgets how every pgpool.conf of it is delivered; or allow changes again."""
        caller = caller_of(request)
        cluster = lookup.cluster_of(caller=caller, slug=slug)
        form = ObserveInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        with refusals.as_problems():
            changed = observe_only.set_for_cluster(
                caller=caller,
                cluster=cluster,
                is_observe_only=given["observe_only"],
                confirm=given["confirm"],
                now=timezone.now(),
            )
        return Response(observe_answer(organisation=caller.organisation, cluster=changed))
