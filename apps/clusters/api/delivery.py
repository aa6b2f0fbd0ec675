"""REST: the file that is published for a pgpool, and the key that Lifeguard shows to hosts."""

from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import caller_of
from apps.accounts.roles import Role
from apps.clusters.api import shapes
from apps.clusters.api.refusals import as_problems
from apps.clusters.api.strict import StrictSerializer
from apps.clusters.control import writes
from apps.clusters.outside.delivery.ssh_keys import LONGEST_KEY, KeyRefused
from apps.clusters.queries import delivery, lookup
from apps.clusters.registry import ssh_accounts
from controlplane.problems import CONTENT_TYPE, SHAPE


class _PlainText(JSONRenderer):
    """Lets a client ask for text/plain; what it renders itself are refusals."""

    media_type = "text/plain"
    format = "txt"


class PublishedView(APIView):
    read_role = Role.OPERATOR
    renderer_classes = [JSONRenderer, _PlainText]

    @extend_schema(
        operation_id="clusters_instances_published",
        parameters=[OpenApiParameter("If-None-Match", str, "header", description="the ETag that is known already")],
        responses={
            (200, "text/plain"): OpenApiTypes.STR,
            304: None,
            **{(refused, CONTENT_TYPE): SHAPE for refused in (401, 403, 404, 409)},
        },
    )
    def get(self, request: Request, slug: str, name: str) -> HttpResponseBase:
        """The exact pgpool.conf that is published for this pgpool, with its passwords. Its ETag is its SHA-256.

        While writes are stopped, or the cluster is observe only, it is not given away, whoever has it already: 409.
        """
        cluster = lookup.cluster_of(caller=caller_of(request), slug=slug)
        instance = lookup.instance_of(cluster=cluster, name=name)
        with as_problems():
            writes.refuse_unless_allowed(cluster)
        found = delivery.published_file(instance=instance)
        etag = f'"{found.sha256}"'
        headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
        known = {each.strip().removeprefix("W/") for each in request.headers.get("If-None-Match", "").split(",")}
        if etag in known:
            return HttpResponse(status=status.HTTP_304_NOT_MODIFIED, headers=headers)
        return HttpResponse(found.text, content_type="text/plain; charset=utf-8", headers=headers)


class SshKeyInput(StrictSerializer):
    private_key = serializers.CharField(
        max_length=LONGEST_KEY, write_only=True, trim_whitespace=False, help_text="in OpenSSH's format, no passphrase"
    )


class SshKeyView(APIView):
    read_role = Role.ADMIN
    write_role = Role.ADMIN

    @extend_schema(
        operation_id="ssh_key_read", parameters=[shapes.ORGANISATION], responses=shapes.answer(delivery.SshKeyAnswer)
    )
    def get(self, request: Request) -> Response:
        """The public half of the key that Lifeguard shows to the hosts of the organisation."""
        return Response(delivery.ssh_key_answer(organisation=caller_of(request).organisation))

    @extend_schema(
        operation_id="ssh_key_make", request=None, responses=shapes.answer(delivery.SshKeyAnswer, status=201)
    )
    def post(self, request: Request) -> Response:
        """Make a new key in the place of the old one. Hosts must be told of it before anything reaches them again."""
        caller = caller_of(request)
        key = ssh_accounts.make_key(caller=caller)
        answer = delivery.ssh_key_answer(organisation=caller.organisation, key=key)
        return Response(answer, status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="ssh_key_take", request=SshKeyInput, responses=shapes.answer(delivery.SshKeyAnswer, 400)
    )
    def put(self, request: Request) -> Response:
        """Use a key of the organisation's own. It is stored encrypted and never given back."""
        caller = caller_of(request)
        form = SshKeyInput(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            key = ssh_accounts.take_key(caller=caller, private_key=form.validated_data["private_key"])
        except KeyRefused as error:
            raise ValidationError({"private_key": [str(error)]}) from error
        return Response(delivery.ssh_key_answer(organisation=caller.organisation, key=key))
