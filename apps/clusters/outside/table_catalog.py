"""How many rows of each table of one database were written, as its primary counts them, past every pgpool."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

import psycopg

from apps.clusters.domain.table_writes import TableCount
from apps.clusters.outside.backend_client import BackendAddress, BackendUnreachable, connect_backend
from apps.clusters.outside.sockets import DeadlinePassed

MOST_TABLES = 20_000
# Since 15 a database that nobody has reset tells nothing. It counts since all statistics began anew, at initdb or after
# a crash: that is when those of the server were reset, of which one may have been reset by hand since.
PLACE_SQL = """
SELECT pg_is_in_recovery() AS is_in_recovery, now() AS asked_at,
       coalesce(
         (SELECT stats_reset FROM pg_stat_database WHERE datname = current_database()),
         least((SELECT stats_reset FROM pg_stat_bgwriter), (SELECT stats_reset FROM pg_stat_archiver))
       ) AS reset_at
"""
# Statements name a partitioned table, and so does pgpool's cache: what its partitions count is counted for it.
TABLES_SQL = f"""
WITH RECURSIVE part (relid, oid) AS (
  SELECT oid, oid FROM pg_class WHERE relkind IN ('r', 'p') AND relpersistence <> 't' AND NOT relispartition
  UNION ALL
  SELECT i.inhrelid, part.oid
  FROM part JOIN pg_inherits i ON i.inhparent = part.relid JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition
)
SELECT t.oid::bigint AS oid, n.nspname AS schema, t.relname AS name, t.relpersistence = 'u' AS is_unlogged,
       sum(coalesce(s.n_tup_ins + s.n_tup_upd + s.n_tup_del, 0))::bigint AS rows_written
FROM part JOIN pg_stat_user_tables s ON s.relid = part.relid
     JOIN pg_class t ON t.oid = part.oid JOIN pg_namespace n ON n.oid = t.relnamespace
GROUP BY t.oid, n.nspname, t.relname, t.relpersistence
ORDER BY t.oid
LIMIT {MOST_TABLES + 1}
"""  # noqa: S608  # a number of our own


@dataclass(frozen=True)
class TableSample:
    """asked_at: by the server's clock. reset_at: since when it counts; None where it does not tell."""

    asked_at: dt.datetime
    reset_at: dt.datetime | None
    tables: list[TableCount]


class TablesUnreadable(Exception):
    """The tables of this database could not be read."""


class NotThePrimary(TablesUnreadable):
    """A standby counts no writes."""


async def read_tables(address: BackendAddress, *, database: str, deadline_s: float) -> TableSample:
    """Needs no more than CONNECT. Raises BackendUnreachable, NotThePrimary or TablesUnreadable."""
    session = await connect_backend(replace(address, database=database), deadline_s=deadline_s)
    try:
        [place] = await session.rows(PLACE_SQL, deadline_s=deadline_s)
        if place["is_in_recovery"]:
            raise NotThePrimary(f"{address.host}:{address.port} is a standby, which counts no writes")
        rows = await session.rows(TABLES_SQL, deadline_s=deadline_s)
    except DeadlinePassed as error:
        raise TablesUnreadable(f"{address.host}:{address.port} did not list its tables in time") from error
    except psycopg.Error as error:
        raise TablesUnreadable(f"{address.host}:{address.port} refused: {str(error).splitlines()[0]}") from error
    finally:
        await session.close()
    if len(rows) > MOST_TABLES:
        raise TablesUnreadable(f"{database} holds more than {MOST_TABLES:,} tables: too many to be counted here")
    return TableSample(place["asked_at"], place["reset_at"], [TableCount(**row) for row in rows])


__all__ = ["BackendUnreachable", "NotThePrimary", "TableSample", "TablesUnreadable", "read_tables"]
