"""Who asks, for which organisation, and what they may: the one gate of every page and every REST call."""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apps.accounts.models import ApiToken, Membership, Organisation, User
from apps.accounts.roles import Role, reaches

if TYPE_CHECKING:
    from rest_framework.views import APIView

READING = {"GET", "HEAD", "OPTIONS"}


@dataclass(frozen=True)
class Caller:
    """A member of an organisation who asks for something, in a browser or with a token."""

    user: User
    organisation: Organisation
    role: str
    token: ApiToken | None = None
    address: str | None = None

    def may(self, role: str) -> bool:
        """Whether this caller may do what the role may; a read token never reaches beyond viewer."""
        if self.token is not None and self.token.scope == ApiToken.Scope.READ and role != Role.VIEWER:
            return False
        return reaches(self.role, role)

    def require(self, role: str) -> None:
        if not self.may(role):
            held = "a read token" if self.token and self.token.scope == ApiToken.Scope.READ else f"{self.role} access"
            raise PermissionDenied(f"You have {held}; this needs the role {role}.")


def organisations_of(user: User | AnonymousUser) -> QuerySet[Organisation]:
    if not isinstance(user, User):
        return Organisation.objects.none()
    return Organisation.objects.filter(memberships__user=user).order_by("name", "pk")


def _memberships(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Membership]:
    if not isinstance(user, User):
        return Membership.objects.none()
    return Membership.objects.select_related("organisation", "user").filter(user=user, user__is_active=True)


def remote_address(request: HttpRequest) -> str | None:
    """Where the request came from; None for what is no address: a proxy may pass on whatever a client claims."""
    try:
        return str(ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")))
    except ValueError:
        return None


def caller_for(request: HttpRequest, organisation: str) -> Caller:
    """The signed-in person as a member of the organisation with this slug; 404 for everyone else."""
    membership = _memberships(request.user).filter(organisation__slug=organisation).first()
    if membership is None:
        raise Http404(f"There is no organisation {organisation} that you are a member of.")
    return Caller(membership.user, membership.organisation, membership.role, None, remote_address(request))


def page(role: str = Role.VIEWER) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """A page below /o/<organisation>/: view(request, caller, **kwargs), for members with at least this role."""

    def gate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def guarded(request: HttpRequest, organisation: str, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return to_sign_in(request)
            caller = caller_for(request, organisation)
            # Before the role is looked at: the page that refuses has a frame too.
            request.caller = caller  # type: ignore[attr-defined]  # the frame of the page shows who is signed in
            caller.require(role)
            return view(request, caller, **kwargs)

        return guarded

    return gate


def to_sign_in(request: HttpRequest) -> HttpResponse:
    """To the sign-in page and back. A fragment takes its whole page there: it would show the sign-in page inside."""
    asked = HtmxDetails(request)
    if not asked:
        return redirect_to_login(request.get_full_path())
    return HttpResponseClientRedirect(redirect_to_login(asked.current_url_abs_path or "/").url)


def caller_of(request: Request) -> Caller:
    """The caller of a REST request; which one a browser session speaks for is told by ?organisation=<slug>.

    Without that, a person who is a member of exactly one organisation speaks for it.
    """
    known = getattr(request, "_lifeguard_caller", None)
    if isinstance(known, Caller):
        return known
    token = request.auth if isinstance(request.auth, ApiToken) else None
    memberships = _memberships(request.user)
    if token is not None:
        memberships = memberships.filter(organisation_id=token.organisation_id)
    if slug := request.query_params.get("organisation"):
        # PostgreSQL's text holds no NUL: nobody is a member of an organisation with one.
        memberships = memberships.none() if "\0" in slug else memberships.filter(organisation__slug=slug)
    found = list(memberships.order_by("pk")[:2])
    if not found:
        raise Http404("You are a member of no such organisation.")
    if len(found) > 1:
        raise PermissionDenied("You are a member of several organisations: say which one by ?organisation=<slug>.")
    caller = Caller(found[0].user, found[0].organisation, found[0].role, token, remote_address(request))
    request._lifeguard_caller = caller  # type: ignore[attr-defined]  # asked several times in one request
    return caller


class MayUseApi(BasePermission):
    """Signed in, a member, and of the role that the view asks for: `read_role` for GET, `write_role` for the rest."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if not request.user.is_authenticated:
            return False
        default = Role.VIEWER if request.method in READING else Role.OPERATOR
        name = "read_role" if request.method in READING else "write_role"
        caller_of(request).require(getattr(view, name, default))
        return True
