"""The audit trail: one row for every write, in the transaction of the write. Secrets never come here."""

from typing import Any

from apps.accounts.access import Caller
from apps.accounts.models import AuditEntry, Organisation

COMMAND = "operator of the installation"


def record(
    *,
    caller: Caller,
    action: str,
    target_type: str,
    target_id: object,
    target_name: str,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> AuditEntry:
    """before, after: JSON objects of what changed."""
    actor = caller.user.shown_name
    if caller.token is not None:
        actor = f"{actor} (token {caller.token.name})"
    return AuditEntry.objects.create(
        organisation=caller.organisation,
        user=caller.user,
        token=caller.token,
        actor_name=actor[:254],
        address=caller.address,
        action=action,
        target_type=target_type,
        target_id=str(target_id),
        target_name=target_name[:200],
        before=before,
        after=after,
    )


def record_command(
    *,
    organisation: Organisation,
    action: str,
    target_type: str,
    target_id: object,
    target_name: str,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> AuditEntry:
    """What manage.py did: whoever can run it on the host is no member."""
    return AuditEntry.objects.create(
        organisation=organisation,
        actor_name=COMMAND,
        action=action,
        target_type=target_type,
        target_id=str(target_id),
        target_name=target_name[:200],
        before=before,
        after=after,
    )
