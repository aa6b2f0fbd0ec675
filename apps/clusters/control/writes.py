"""The one gate before anything that is written to a pgpool or its host.

Whoever writes holds a shared lock of Lifeguard's own database as long as that lasts, and looks at the switch while
holding it. Stopping sets the switch first and then waits for the exclusive lock: once it has that, nothing is under
way. The locks belong to the connection, so those of a worker that was killed vanish with it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime

from django.db import DatabaseError, connection
from django.db.models import Max, Q, QuerySet

from apps.clusters.control.revisions import WeightsRefused
from apps.clusters.models import Cluster, WritesSwitch

# Names the locks; it only has to differ from other advisory locks of this database.
LOCK_CLASS = 5_207_101
INSTALLATION = 0
_LARGEST_KEY = 2**31 - 1


class NotAllowed(WeightsRefused):
    """Nothing may be written to the pgpools of this cluster now. kind: how the REST interface calls it."""

    kind = "not-allowed"


class ObservedOnly(NotAllowed):
    """The cluster, or its organisation, is observe only."""

    kind = "observe-only"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is observe only: Lifeguard watches it and never writes to its pgpools.")


class WritesStopped(NotAllowed):
    """All writes are stopped, so nothing is written to any pgpool."""

    kind = "writes-stopped"

    def __init__(self, switch: WritesSwitch) -> None:
        super().__init__(f"{words(switch)} Nothing is written to any pgpool until they are allowed again.")
        self.switch = switch


def words(switch: WritesSwitch) -> str:
    """Who stopped what, and why: for people."""
    whose = "All writes of this installation" if switch.organisation_id is None else "All writes"
    reason = f": {switch.reason.rstrip('.')}" if switch.reason else ""
    return f"{whose} were stopped by {switch.changed_by_name}{reason}."


def stop_in_force(organisation_id: int) -> WritesSwitch | None:
    """What keeps this organisation from writing; that of the installation goes first."""
    found = list(_switches(organisation_id).filter(is_stopped=True).order_by("organisation_id"))
    return next((each for each in found if each.organisation_id is None), found[0] if found else None)


def changed_at(organisation_id: int) -> datetime | None:
    """When its writes, or those of the installation, were stopped or allowed again latest; None for never."""
    latest: datetime | None = _switches(organisation_id).aggregate(latest=Max("changed_at"))["latest"]
    return latest


def _switches(organisation_id: int) -> QuerySet[WritesSwitch]:
    return WritesSwitch.objects.filter(Q(organisation=None) | Q(organisation_id=organisation_id))


def refuse_unless_allowed(cluster: Cluster) -> None:
    """Before a change of its pgpools is requested. Raises WritesStopped or ObservedOnly."""
    switch = stop_in_force(cluster.organisation_id)
    if switch is not None:
        raise WritesStopped(switch)
    current = Cluster.objects.select_related("organisation").defer("password").filter(pk=cluster.pk).first()
    if current is not None and (current.is_observe_only or current.organisation.is_observe_only):
        raise ObservedOnly(current.name if current.is_observe_only else current.organisation.name)


def why_not(cluster: Cluster) -> str | None:
    """Why nothing may be written to its pgpools now, for people; None when it may."""
    try:
        refuse_unless_allowed(cluster)
    except NotAllowed as error:
        return str(error)
    return None


@contextlib.contextmanager
def under_way(cluster: Cluster) -> Iterator[None]:
    """Around whatever is done to pgpools of this cluster. Raises NotAllowed before anything was done."""
    with _shared(INSTALLATION), _shared(cluster.organisation_id):
        refuse_unless_allowed(cluster)
        yield


@contextlib.contextmanager
def _shared(owner: int) -> Iterator[None]:
    """Held by the session and not by a transaction: what a step stores while it writes is committed at once."""
    _ask("SELECT pg_advisory_lock_shared(%s, %s)", owner)
    try:
        yield
    finally:
        # A connection that broke has let go of its locks.
        with contextlib.suppress(DatabaseError):
            _ask("SELECT pg_advisory_unlock_shared(%s, %s)", owner)


def lock_key(owner: int) -> int:
    """The lock of an organisation, by its id; of the installation, by INSTALLATION."""
    return owner % _LARGEST_KEY


def _ask(statement: str, owner: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [LOCK_CLASS, lock_key(owner)])
