"""API tokens: made once, shown once, stored as a digest; and how a REST request proves who it is."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, SessionAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.models import ApiToken, Membership, User
from apps.accounts.roles import Role

PREFIX = "lg_"
LONGEST_LIFE = timedelta(days=365)
# A row is not written for every request: the page needs the day, not the second.
_USED_GRAIN = timedelta(minutes=1)


class TokenRefused(ValueError):
    """A token cannot be made as it was asked for."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def tokens_for(caller: Caller) -> QuerySet[ApiToken]:
    """The tokens that a caller may see: their own; an admin sees everybody's."""
    tokens = ApiToken.objects.select_related("user").filter(organisation=caller.organisation)
    return tokens if caller.may(Role.ADMIN) else tokens.filter(user=caller.user)


@transaction.atomic
def create_token(*, caller: Caller, name: str, scope: str, expires_at: datetime, now: datetime) -> tuple[ApiToken, str]:
    """Make a token of the caller. Returns the row and the secret, which is never to be had again.

    Raises TokenRefused for an expiry that has passed or is more than a year away.
    """
    if expires_at <= now:
        raise TokenRefused("expires_at", "has passed; give an instant to come")
    if expires_at > now + LONGEST_LIFE:
        raise TokenRefused("expires_at", f"is too far away; a token lives at most {LONGEST_LIFE.days} days")
    secret = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        organisation=caller.organisation,
        user=caller.user,
        name=name,
        prefix=secret[:10],
        digest=digest(secret),
        scope=scope,
        expires_at=expires_at,
    )
    after = {"scope": scope, "expires_at": f"{expires_at:%Y-%m-%d %H:%M} UTC"}
    audit.record(
        caller=caller, action="token.created", target_type="token", target_id=token.pk, target_name=name, after=after
    )
    return token, secret


@transaction.atomic
def revoke_token(*, caller: Caller, token: ApiToken, now: datetime) -> bool:
    """Returns whether it was still good."""
    revoked = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now)
    if revoked:
        audit.record(
            caller=caller,
            action="token.revoked",
            target_type="token",
            target_id=token.pk,
            target_name=token.name,
        )
    return bool(revoked)


class TokenAuthentication(BaseAuthentication):
    """Authorization: Bearer lg_…"""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        words = get_authorization_header(request).decode("latin-1").split()
        if not words or words[0].lower() != "bearer":
            return None
        if len(words) != 2:
            raise AuthenticationFailed("The Authorization header must read: Bearer <token>.")
        now = timezone.now()
        token = ApiToken.objects.select_related("user").filter(digest=digest(words[1]), revoked_at=None).first()
        if token is None or not token.user.is_active:
            raise AuthenticationFailed("This token is unknown or was revoked.")
        if token.expires_at <= now:
            raise AuthenticationFailed(f"This token expired on {token.expires_at:%Y-%m-%d}. Make a new one.")
        if not Membership.objects.filter(user=token.user, organisation_id=token.organisation_id).exists():
            raise AuthenticationFailed("The member who made this token has left the organisation.")
        unseen = Q(latest_used_at=None) | Q(latest_used_at__lt=now - _USED_GRAIN)
        ApiToken.objects.filter(unseen, pk=token.pk).update(latest_used_at=now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class BrowserSessionAuthentication(SessionAuthentication):
    """The session of the dashboard; writes need the CSRF header."""
