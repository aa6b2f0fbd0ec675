"""One-time sign-in links: how somebody gets in who has no password, or forgot it. An operator of the installation
prints one with `manage.py sign_in_link`; it works once, for a short time.
"""

import secrets
from datetime import datetime, timedelta

from django.db import transaction

from apps.accounts import audit
from apps.accounts.models import SignInLink, User
from apps.accounts.tokens import digest

LIFETIME = timedelta(minutes=15)


def create_link(*, user: User, now: datetime) -> str:
    """Returns the key of the link, which is never to be had again. What ran out long ago is forgotten on the way."""
    SignInLink.objects.filter(expires_at__lt=now - timedelta(days=30)).delete()
    key = secrets.token_urlsafe(32)
    with transaction.atomic():
        SignInLink.objects.create(user=user, digest=digest(key), expires_at=now + LIFETIME)
        for membership in user.memberships.select_related("organisation").order_by("pk"):
            audit.record_command(
                organisation=membership.organisation,
                action="sign_in_link.created",
                target_type="member",
                target_id=user.pk,
                target_name=user.email,
            )
    return key


def look_up(*, key: str, now: datetime) -> SignInLink | None:
    """The link of this key while it is still good."""
    links = SignInLink.objects.select_related("user")
    return links.filter(digest=digest(key), used_at=None, expires_at__gt=now, user__is_active=True).first()


def use_link(*, key: str, now: datetime) -> User | None:
    """Spend the link. Returns whom it signs in, or None when it is unknown, spent, too old, or its user was barred."""
    link = look_up(key=key, now=now)
    if link is None or SignInLink.objects.filter(pk=link.pk, used_at=None).update(used_at=now) != 1:
        return None
    return link.user
