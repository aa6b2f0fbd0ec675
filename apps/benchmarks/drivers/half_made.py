"""What a preparation that ended before its time leaves on the primary, and where a disk there is full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from psycopg import sql

from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers import database
from apps.benchmarks.drivers.database import Session
from apps.benchmarks.drivers.driver import Account, NotAnswered

# Of whoever else reads them; sessions of the preparation itself are ended.
WAITS_FOR_LOCKS_S = 10
_IDS = """
SELECT name, to_regclass(name)::oid::bigint FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NOT NULL
"""
# The server goes on with a statement whose program was killed.
_END_ITS_SESSIONS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name LIKE 'lifeguard-%%' AND datname = current_database() AND usename = current_user
AND pid IN (SELECT pid FROM pg_locks WHERE relation = ANY(%s::oid[])) AND pid <> pg_backend_pid()
"""


def table_ids(primary: Server, account: Account, tables: Sequence[str]) -> dict[str, int]:
    """name -> OID of those that stand. One that is made anew has another. Raises NotAnswered."""
    with database.session(primary, account) as session:
        return _ids(session, tables)


def discard(primary: Server, account: Account, tables: Sequence[str], *, but: Mapping[str, int]) -> str:
    """Drop the tables that the preparation made. What became of them, as a sentence; "" where it made none.

    but: as table_ids found them before it.
    """
    made: list[str] = []
    try:
        with database.session(primary, account) as session:
            found = _ids(session, tables)
            made = [name for name, number in found.items() if but.get(name) != number]
            if not made:
                return ""
            session.execute(_END_ITS_SESSIONS, [[found[name] for name in made]])
            session.execute(sql.SQL("SET lock_timeout = {}").format(sql.Literal(f"{WAITS_FOR_LOCKS_S}s")))
            names = sql.SQL(", ").join(sql.Identifier(*name.split(".")) for name in made)
            session.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(names))
    except NotAnswered as error:
        return f"What it had made of its data is still there ({', '.join(made) or 'its tables'}): {error}"
    return "What it had made of its data was dropped."


def tablespace_words(primary: Server, account: Account, said: str) -> str:
    """As of database; "" where nobody answers, too."""
    try:
        with database.session(primary, account) as session:
            return database.tablespace_words(session, said)
    except NotAnswered:
        return ""


def _ids(session: Session, tables: Sequence[str]) -> dict[str, int]:
    return dict(session.execute(_IDS, [list(tables)]).fetchall())
