"""The people of the demo: one organisation, one administrator, one API token. Safe to ask for again and again."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from apps.accounts import sign_in_links, tokens
from apps.accounts.access import Caller
from apps.accounts.models import ApiToken, Membership, Organisation, User
from apps.accounts.roles import Role

TOKEN_NAME = "demo scripts"  # noqa: S105  a name, not a secret
TOKEN_LIFETIME = timedelta(days=365)


@dataclass(frozen=True)
class DemoAccount:
    user: User
    api_token: str
    sign_in_key: str  # of a link that signs the administrator in, once


@transaction.atomic
def ensure_demo(*, organisation: str, email: str, password: str, known_token: str, now: datetime) -> DemoAccount:
    """known_token: the token of an earlier time, kept while it is good; "" or a spent one is replaced."""
    owner, _ = Organisation.objects.get_or_create(slug=organisation, defaults={"name": organisation.capitalize()})
    user = User.objects.filter(email__iexact=email).first() or User.objects.create_user(email, password)
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    membership, _ = Membership.objects.update_or_create(organisation=owner, user=user, defaults={"role": Role.ADMIN})
    caller = Caller(user, owner, membership.role)
    api_token = known_token if _is_good(known_token, caller=caller, now=now) else _fresh_token(caller=caller, now=now)
    return DemoAccount(user, api_token, sign_in_links.create_link(user=user, now=now))


def _is_good(token: str, *, caller: Caller, now: datetime) -> bool:
    known = ApiToken.objects.filter(organisation=caller.organisation, user=caller.user, revoked_at=None)
    return known.filter(digest=tokens.digest(token), scope=ApiToken.Scope.WRITE, expires_at__gt=now).exists()


def _fresh_token(*, caller: Caller, now: datetime) -> str:
    for token in ApiToken.objects.filter(
        organisation=caller.organisation, user=caller.user, name=TOKEN_NAME, revoked_at=None
    ):
        tokens.revoke_token(caller=caller, token=token, now=now)
    _row, secret = tokens.create_token(
        caller=caller, name=TOKEN_NAME, scope=ApiToken.Scope.WRITE, expires_at=now + TOKEN_LIFETIME, now=now
    )
    return secret
