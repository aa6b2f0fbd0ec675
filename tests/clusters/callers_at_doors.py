"""Members of the organisation that a scene has made, in a browser and as a script."""

from datetime import timedelta

from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.access import Caller
from apps.accounts.models import Membership, Organisation, User
from apps.accounts.tokens import create_token


def member(role: str, organisation: str = "acme") -> Caller:
    home, _ = Organisation.objects.get_or_create(slug=organisation, defaults={"name": organisation.title()})
    user = User.objects.create_user(f"{role}@{organisation}.example", name=role.title())
    Membership.objects.create(organisation=home, user=user, role=role)
    return Caller(user, home, role)


def browser(role: str, organisation: str = "acme") -> Client:
    client = Client()
    client.force_login(member(role, organisation).user)
    return client


def script(role: str, *, scope: str = "write", organisation: str = "acme") -> APIClient:
    now = timezone.now()
    _, secret = create_token(
        caller=member(role, organisation), name="script", scope=scope, expires_at=now + timedelta(days=1), now=now
    )
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client
