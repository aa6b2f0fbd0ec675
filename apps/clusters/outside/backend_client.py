"""The one file that asks a PostgreSQL backend the truth, past every pgpool."""

from __future__ import annotations

import asyncio
import datetime as dt
from dataclasses import dataclass
from typing import Any

import psycopg

from apps.clusters.domain.connection_trouble import Place, TroubleStep, trouble_of
from apps.clusters.outside.sockets import DeadlinePassed, Unreachable
from apps.clusters.outside.sql_session import SqlSession, SqlTarget

# replay_timestamp grows for ever on an idle primary, so equal positions mean 0 s; receive is NULL before streaming.
FACTS_SQL = """
SELECT now() AS asked_at,
       pg_is_in_recovery() AS is_in_recovery,
       current_setting('server_version') AS server_version,
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
       - coalesce(current_setting('reserved_connections', true), '0')::int AS connection_limit,
       pg_postmaster_start_time() AS started_at,
       (SELECT system_identifier::text FROM pg_control_system()) AS system_identifier,
       pg_has_role(current_user, 'pg_monitor', 'USAGE') AS may_monitor,
       CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END::text AS current_lsn,
       pg_last_wal_receive_lsn()::text AS receive_lsn,
       pg_last_wal_replay_lsn()::text AS replay_lsn,
       CASE WHEN NOT pg_is_in_recovery() THEN NULL
            WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
            ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp()) END::float8 AS replay_lag_s,
       CASE WHEN pg_is_in_recovery() THEN pg_is_wal_replay_paused() END AS is_replay_paused,
       (SELECT status FROM pg_stat_wal_receiver) AS receiver_status,
       (SELECT sum(conflicts + deadlocks)::bigint FROM pg_stat_database) AS aborted_count
"""
# Compared with the flush position, as pgpool's own replication_delay is.
STANDBYS_SQL = """
SELECT application_name, host(client_addr) AS client_addr, state, sync_state,
       sent_lsn::text AS sent_lsn, replay_lsn::text AS replay_lsn,
       extract(epoch FROM replay_lag)::float8 AS replay_lag_s,
       pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_flush_lsn() END,
                       replay_lsn)::bigint AS lag_bytes
FROM pg_stat_replication ORDER BY application_name, pid
"""
PROBE_SQL = "SELECT 1"


@dataclass(frozen=True)
class BackendAddress(SqlTarget):
    """Of a PostgreSQL server."""


@dataclass(frozen=True)
class StandbyRow:
    """A row of pg_stat_replication. replay_lag_s is None on an idle primary: caught up if lag_bytes is 0."""

    application_name: str
    client_addr: str | None
    state: str | None  # None: hidden, the role lacks pg_monitor
    sync_state: str | None
    sent_lsn: str | None
    replay_lsn: str | None
    replay_lag_s: float | None
    lag_bytes: int | None


@dataclass(frozen=True)
class BackendFacts:
    """What a backend says about itself. Positions are texts such as "0/3000148"."""

    is_in_recovery: bool
    current_lsn: str | None  # None on a standby
    receive_lsn: str | None
    replay_lsn: str | None
    replay_lag_s: float | None  # None on a primary, and on a standby that has replayed no transaction yet
    is_replay_paused: bool | None  # None on a primary
    receiver_status: str | None  # None: no WAL receiver runs, the standby is cut off
    replication: tuple[StandbyRow, ...]
    probe_ms: float
    server_version: str
    started_at: dt.datetime
    asked_at: dt.datetime
    system_identifier: str
    may_monitor: bool
    aborted_count: int  # transactions cancelled by recovery conflicts and deadlocks, since the statistics were reset
    connection_limit: int  # sessions of all others than superusers


class BackendUnreachable(Unreachable):
    """The backend could not be asked. fix: the line or statement that mends it, "" where none is known."""


class KeptBackend:
    """Holds the connection to one backend from one question to the next."""

    def __init__(self) -> None:
        self.session: SqlSession | None = None

    async def close(self) -> None:
        if self.session is not None:
            await self.session.close()
            self.session = None


async def connect_backend(address: BackendAddress, *, deadline_s: float) -> SqlSession:
    """Raises BackendUnreachable, naming the step that failed."""
    try:
        return await SqlSession.open(address, deadline_s=deadline_s)
    except Unreachable as error:
        raise BackendUnreachable(error.step, error.reason, error.fix) from error
    except (DeadlinePassed, psycopg.Error) as error:
        raise _unreachable(address, error, during="authenticate") from error


async def ask_backend(address: BackendAddress, *, deadline_s: float, kept: KeptBackend | None = None) -> BackendFacts:
    """All facts about one backend, within deadline_s in total.

    kept: reuses and keeps the connection; it is dropped after any failure. Raises BackendUnreachable.
    """
    holder = kept if kept is not None else KeptBackend()
    loop = asyncio.get_running_loop()
    end = loop.time() + deadline_s
    try:
        if holder.session is None or not holder.session.is_open:
            holder.session = await connect_backend(address, deadline_s=deadline_s)
        answer = await _facts(holder.session, end=end)
    except (DeadlinePassed, psycopg.Error) as error:
        await holder.close()
        if isinstance(error, DeadlinePassed):
            error = DeadlinePassed(deadline_s)
        raise _unreachable(address, error, during="show") from error
    except BaseException:
        await holder.close()
        raise
    if kept is None:
        await holder.close()
    return answer


async def _facts(session: SqlSession, *, end: float) -> BackendFacts:
    loop = asyncio.get_running_loop()

    async def rows(sql: str) -> list[dict[str, Any]]:
        return await session.rows(sql, deadline_s=max(end - loop.time(), 0.001))

    started = loop.time()
    await rows(PROBE_SQL)
    probe_ms = (loop.time() - started) * 1000
    [facts] = await rows(FACTS_SQL)
    standbys = await rows(STANDBYS_SQL)
    return BackendFacts(**facts, replication=tuple(StandbyRow(**standby) for standby in standbys), probe_ms=probe_ms)


def _unreachable(
    address: BackendAddress, error: DeadlinePassed | psycopg.Error, *, during: TroubleStep
) -> BackendUnreachable:
    if isinstance(error, DeadlinePassed):
        return BackendUnreachable(
            during,
            f"{address.host}:{address.port} took the connection, but did not answer within {error.deadline_s:.3g} s",
            "The server is frozen or overloaded: look at it on its own machine.",
        )
    place = Place("backend", address.host, address.port, address.username, address.database)
    trouble = trouble_of(str(error), place, otherwise=during)
    return BackendUnreachable(trouble.step, trouble.reason, trouble.fix)
