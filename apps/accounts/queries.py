"""What pages and REST ask about accounts."""

from django.db.models import QuerySet

from apps.accounts.access import Caller
from apps.accounts.models import AuditEntry


def audit_trail(*, caller: Caller, action: str, target: str) -> QuerySet[AuditEntry]:
    """Writes in the caller's organisation. action: beginning of one; target: part of a target's name; empty: any."""
    entries = AuditEntry.objects.filter(organisation=caller.organisation)
    # PostgreSQL's text holds no NUL: a filter with one matches nothing.
    if "\0" in action + target:
        return entries.none()
    if action:
        entries = entries.filter(action__startswith=action)
    if target:
        entries = entries.filter(target_name__icontains=target)
    return entries
