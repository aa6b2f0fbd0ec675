"""The functions of one database as pg_proc holds them, read from a backend past every pgpool."""

from __future__ import annotations

from dataclasses import dataclass, replace

import psycopg

from apps.clusters.domain.postgres_functions import REFUSED_BY_STANDBYS
from apps.clusters.domain.write_functions import Function
from apps.clusters.outside.backend_client import BackendAddress, BackendUnreachable, connect_backend
from apps.clusters.outside.sockets import DeadlinePassed

MOST_FUNCTIONS = 5000
_REFUSED_SQL = ", ".join(f"'{name}'" for name in sorted(REFUSED_BY_STANDBYS))
# PostgreSQL's own ones are judged by volatility and name alone; triggers and aggregates are not called by their name.
FUNCTIONS_SQL = f"""
SELECT n.nspname AS schema, p.proname AS name, pg_get_function_identity_arguments(p.oid) AS arguments,
       l.lanname AS language, p.provolatile::text AS volatility, p.prokind = 'p' AS is_procedure,
       CASE WHEN n.nspname <> 'pg_catalog' AND l.lanname IN ('sql', 'plpgsql') THEN pg_get_functiondef(p.oid) END
           AS definition
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang
WHERE p.prokind IN ('f', 'p') AND n.nspname <> 'information_schema'
  AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
  AND (n.nspname <> 'pg_catalog' OR p.provolatile = 'v' OR p.proname IN ({_REFUSED_SQL}))
ORDER BY n.nspname = 'pg_catalog' DESC, n.nspname, p.proname, p.oid
LIMIT {MOST_FUNCTIONS + 1}
"""  # noqa: S608  # numbers and names of our own


# Those that a client can connect to: whatever runs there goes by the same pgpool.conf.
DATABASES_SQL = "SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY datname"


@dataclass(frozen=True)
class Catalog:
    """functions: PostgreSQL's VOLATILE ones, those that standbys refuse, and all others, of one database.

    databases: all that the server holds.
    """

    functions: list[Function]
    databases: list[str]


class FunctionsUnreadable(Exception):
    """The functions of this database could not be read."""


async def read_catalog(address: BackendAddress, *, database: str, deadline_s: float) -> Catalog:
    """Raises BackendUnreachable or FunctionsUnreadable."""
    session = await connect_backend(replace(address, database=database), deadline_s=deadline_s)
    try:
        rows = await session.rows(FUNCTIONS_SQL, deadline_s=deadline_s)
        databases = await session.rows(DATABASES_SQL, deadline_s=deadline_s)
    except DeadlinePassed as error:
        raise FunctionsUnreadable(f"{address.host}:{address.port} did not list its functions in time") from error
    except psycopg.Error as error:
        raise FunctionsUnreadable(f"{address.host}:{address.port} refused: {str(error).splitlines()[0]}") from error
    finally:
        await session.close()
    if len(rows) > MOST_FUNCTIONS:
        raise FunctionsUnreadable(f"{database} holds more than {MOST_FUNCTIONS} functions: too many to be judged here")
    return Catalog([Function(**row) for row in rows], [row["datname"] for row in databases])


__all__ = ["BackendUnreachable", "Catalog", "FunctionsUnreadable", "read_catalog"]
