"""REST of accounts: who am I, tokens, the audit trail."""

from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.access import Caller, caller_of
from apps.accounts.models import ApiToken, AuditEntry
from apps.accounts.paging import Page, PageKeyInvalid, page_of
from apps.accounts.queries import audit_trail
from apps.accounts.roles import Role
from apps.accounts.tokens import TokenRefused, create_token, revoke_token, tokens_for
from controlplane.problems import invalid

BEFORE = OpenApiParameter("before", int, description="Key of a page, as `next` of the page before names it.")


class OrganisationShape(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()


class TokenShape(serializers.Serializer[Any]):
    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(max_length=80)
    scope = serializers.ChoiceField(choices=ApiToken.Scope.choices)
    prefix = serializers.CharField(read_only=True)
    member = serializers.CharField(read_only=True, source="user.email")
    created_at = serializers.DateTimeField(read_only=True)
    expires_at = serializers.DateTimeField()
    revoked_at = serializers.DateTimeField(read_only=True, allow_null=True)
    latest_used_at = serializers.DateTimeField(read_only=True, allow_null=True)


class NewTokenShape(TokenShape):
    token = serializers.CharField(read_only=True, help_text="The secret; shown in this answer only.")


class TokenPageShape(serializers.Serializer[Any]):
    results = TokenShape(many=True)
    next = serializers.CharField(allow_null=True)


class MeShape(serializers.Serializer[Any]):
    email = serializers.EmailField()
    name = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.choices)
    organisation = OrganisationShape()
    token = TokenShape(allow_null=True)


@extend_schema_field({"type": "object", "additionalProperties": {}})
class _Described(serializers.JSONField):
    """What was changed, as it was or is."""


class AuditShape(serializers.ModelSerializer[AuditEntry]):
    before = _Described(allow_null=True)
    after = _Described(allow_null=True)

    class Meta:
        model = AuditEntry
        fields = [
            "id",
            "at",
            "actor_name",
            "address",
            "action",
            "target_type",
            "target_id",
            "target_name",
            "before",
            "after",
        ]


class AuditPageShape(serializers.Serializer[Any]):
    results = AuditShape(many=True)
    next = serializers.CharField(allow_null=True)


def next_address(request: Request, page: Page[Any]) -> str | None:
    return request.build_absolute_uri(f"{request.path}?{page.next_query}") if page.next_query else None


def page_asked_for(request: Request, rows: Any) -> Page[Any]:
    try:
        return page_of(rows, query=request.query_params)
    except PageKeyInvalid as error:
        invalid(before=str(error))


class MeView(APIView):
    @extend_schema(responses=MeShape)
    def get(self, request: Request) -> Response:
        """Who the request speaks for, in which organisation, in which role."""
        caller = caller_of(request)
        shown = {
            "email": caller.user.email,
            "name": caller.user.name,
            "role": caller.role,
            "organisation": caller.organisation,
            "token": caller.token,
        }
        return Response(MeShape(shown).data)


class TokenListView(APIView):
    write_role = Role.VIEWER  # everybody has tokens of their own

    @extend_schema(operation_id="tokens_list", responses=TokenPageShape, parameters=[BEFORE])
    def get(self, request: Request) -> Response:
        """Your tokens; an admin sees everybody's."""
        page = page_asked_for(request, tokens_for(caller_of(request)))
        return Response({"results": TokenShape(page.rows, many=True).data, "next": next_address(request, page)})

    @extend_schema(request=TokenShape, responses={201: NewTokenShape})
    def post(self, request: Request) -> Response:
        """Make a token. Only a browser session can: a token that leaked must not be able to outlive its expiry."""
        caller = caller_of(request)
        if caller.token is not None:
            raise PermissionDenied("A token cannot make tokens. Sign in to the dashboard and make it there.")
        wanted = TokenShape(data=request.data)
        wanted.is_valid(raise_exception=True)
        try:
            token, secret = create_token(caller=caller, now=timezone.now(), **wanted.validated_data)
        except TokenRefused as error:
            invalid(**{error.field: error.reason})
        return Response({**TokenShape(token).data, "token": secret}, status=201)


class TokenView(APIView):
    write_role = Role.VIEWER

    @extend_schema(responses=TokenShape)
    def get(self, request: Request, token_id: int) -> Response:
        """One of your tokens, without its secret; an admin sees everybody's."""
        return Response(TokenShape(_token(caller_of(request), token_id)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, token_id: int) -> Response:
        """Revoke a token; one that is revoked already stays so."""
        caller = caller_of(request)
        if caller.token is not None and caller.token.scope == ApiToken.Scope.READ:
            raise PermissionDenied("You have a read token; revoking needs a write token or the dashboard.")
        revoke_token(caller=caller, token=_token(caller, token_id), now=timezone.now())
        return Response(status=204)


class AuditView(APIView):
    read_role = Role.ADMIN

    @extend_schema(
        responses=AuditPageShape,
        parameters=[
            BEFORE,
            OpenApiParameter("action", str, description="Beginning of an action, as `token` or `token.created`."),
            OpenApiParameter("target", str, description="Part of the target's name."),
        ],
    )
    def get(self, request: Request) -> Response:
        """Every write: who, what, before, after, when, from where; newest first."""
        asked = request.query_params
        rows = audit_trail(caller=caller_of(request), action=asked.get("action", ""), target=asked.get("target", ""))
        page = page_asked_for(request, rows)
        return Response({"results": AuditShape(page.rows, many=True).data, "next": next_address(request, page)})


def _token(caller: Caller, token_id: int) -> ApiToken:
    token = tokens_for(caller).filter(pk=token_id).first()
    if token is None:
        raise Http404(f"You have no token {token_id}.")
    return token
