"""Stopping all writes to all pgpools at once, and allowing them again: for an organisation, for the installation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import OperationalError, connection, transaction

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.models import Organisation, User
from apps.accounts.roles import Role
from apps.clusters.control import rollout_rows, writes
from apps.clusters.models import Cluster, ClusterEvent, Rollout, WritesSwitch
from apps.live import events

# Somebody waits for the answer to their request; an action on a pgpool seldom takes longer.
FINISHING_PATIENCE_S = 5.0
LONGEST_REASON = 300
LOCK_NOT_AVAILABLE = "55P03"


@dataclass(frozen=True)
class Wish:
    """Who switches what. caller: None for whoever runs manage.py; organisation: None for the whole installation."""

    organisation: Organisation | None
    is_stopped: bool
    reason: str
    now: datetime
    caller: Caller | None = None

    @property
    def name(self) -> str:
        return self.caller.user.shown_name if self.caller else audit.COMMAND

    @property
    def user(self) -> User | None:
        return self.caller.user if self.caller else None


def stop(*, caller: Caller, reason: str, now: datetime, patience_s: float = FINISHING_PATIENCE_S) -> int:
    """Stop all writes of the caller's organisation, and wait for those under way.

    Returns how many are still finishing; the switch is set whatever it says. Who stopped first is kept.
    """
    caller.require(Role.OPERATOR)
    _switch(Wish(caller.organisation, is_stopped=True, reason=reason, now=now, caller=caller))
    return still_finishing(caller.organisation.pk, patience_s=patience_s)


def allow(*, caller: Caller, reason: str, now: datetime) -> None:
    """Allow the writes of the caller's organisation again; a stop of the whole installation stays."""
    caller.require(Role.ADMIN)
    _switch(Wish(caller.organisation, is_stopped=False, reason=reason, now=now, caller=caller))


def stop_by_command(
    *, organisation: Organisation | None, reason: str, now: datetime, patience_s: float = FINISHING_PATIENCE_S
) -> int:
    """As stop(), for whoever can run manage.py. organisation: None stops the whole installation."""
    _switch(Wish(organisation, is_stopped=True, reason=reason, now=now))
    return still_finishing(organisation.pk if organisation else writes.INSTALLATION, patience_s=patience_s)


def allow_by_command(*, organisation: Organisation | None, reason: str, now: datetime) -> None:
    _switch(Wish(organisation, is_stopped=False, reason=reason, now=now))


def still_finishing(owner: int, *, patience_s: float) -> int:
    """Wait until no write of the organisation, or writes.INSTALLATION, is under way; how many are after patience_s."""
    key = writes.lock_key(owner)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{max(1, round(patience_s * 1000))}ms"])
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [writes.LOCK_CLASS, key])
            cursor.execute("SELECT set_config('lock_timeout', '0', true)")
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != LOCK_NOT_AVAILABLE:
            raise
        return max(1, _holders(key))
    return 0


def _holders(key: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objid = %s"
            " AND objsubid = 2 AND granted AND mode = 'ShareLock'"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            [writes.LOCK_CLASS, key],
        )
        return int(cursor.fetchone()[0])


@transaction.atomic
def _switch(wish: Wish) -> None:
    """Nothing happens where it stands so already: who did it first, and why, is what people need to know."""
    WritesSwitch.objects.get_or_create(
        organisation=wish.organisation, defaults={"changed_at": wish.now, "changed_by_name": wish.name}
    )
    changed = WritesSwitch.objects.filter(organisation=wish.organisation, is_stopped=not wish.is_stopped).update(
        is_stopped=wish.is_stopped,
        reason=wish.reason.strip()[:LONGEST_REASON],
        changed_at=wish.now,
        changed_by=wish.user,
        changed_by_name=wish.name,
    )
    if changed == 1:
        _tell(wish)


def _tell(wish: Wish) -> None:
    """Audit, events, and everybody who looks at a page."""
    organisations = [wish.organisation] if wish.organisation else list(Organisation.objects.order_by("pk"))
    for organisation in organisations:
        _record(wish, organisation)
        events.announce(f"organisation.{organisation.pk}", "writes")
    clusters = Cluster.objects.filter(organisation__in=organisations).only("pk").order_by("pk")
    title = f"Writes {'stopped' if wish.is_stopped else 'allowed again'} by {wish.name}"
    ClusterEvent.objects.bulk_create(
        ClusterEvent(
            cluster=cluster, at=wish.now, kind=ClusterEvent.Kind.WRITES, title=title[:200], detail=wish.reason.strip()
        )
        for cluster in clusters
    )
    for cluster in clusters:
        events.announce(f"cluster.{cluster.pk}", "event")
    for rollout in Rollout.objects.filter(cluster__in=clusters, state__in=Rollout.ACTIVE):
        rollout_rows.announce(rollout)


def _record(wish: Wish, organisation: Organisation) -> None:
    facts: dict[str, Any] = {
        "action": "writes.stopped" if wish.is_stopped else "writes.allowed",
        "target_type": "organisation",
        "target_id": organisation.pk,
        "target_name": organisation.slug if wish.organisation else "the whole installation",
        "after": {"allowed": not wish.is_stopped, "reason": wish.reason.strip()},
    }
    if wish.caller is not None:
        audit.record(caller=wish.caller, **facts)
    else:
        audit.record_command(organisation=organisation, **facts)
