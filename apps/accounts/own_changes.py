"""What people change about themselves, in the audit trail of every organisation that they are a member of."""

from typing import Any

from allauth.account.signals import password_changed, password_set
from django.dispatch import receiver
from django.http import HttpRequest

from apps.accounts import audit
from apps.accounts.access import Caller, remote_address
from apps.accounts.models import Membership, User


@receiver([password_changed, password_set])
def record_password(request: HttpRequest, user: User, **_: Any) -> None:
    for membership in Membership.objects.select_related("organisation").filter(user=user).order_by("pk"):
        audit.record(
            caller=Caller(user, membership.organisation, membership.role, None, remote_address(request)),
            action="password.changed",
            target_type="member",
            target_id=user.pk,
            target_name=user.email,
        )
