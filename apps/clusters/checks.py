"""A system check: Lifeguard's own database must not lie behind a Pgpool-II, least of all one that it steers."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error
from django.db import DatabaseError, connections

BEHIND_PGPOOL = "clusters.E001"


def own_database_is_not_behind_pgpool(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """PostgreSQL does not know pool_version, Pgpool-II answers it itself. Runs in `check --database` and `migrate`."""
    return [
        Error(
            f"The database {alias!r} is reached through a Pgpool-II.",
            hint="A bad rollout would take Lifeguard with it: let LIFEGUARD_DATABASE_URL name a PostgreSQL.",
            id=BEHIND_PGPOOL,
        )
        for alias in databases or ()
        if answers_as_pgpool(alias)
    ]


def answers_as_pgpool(alias: str) -> bool:
    try:
        # Not Django's own connection: a refused statement would spoil a transaction that is under way there.
        with connections[alias].copy().temporary_connection() as cursor:
            cursor.execute("SHOW pool_version")
    except DatabaseError:
        # Unknown to PostgreSQL, or nobody answers at all, which other checks say better.
        return False
    return True
