"""The one file that talks SQL to a pgpool. PCP, its second channel, stands in pcp.py."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import psycopg

from apps.clusters.domain.connection_trouble import Place, TroubleStep, trouble_of
from apps.clusters.outside.sockets import DeadlinePassed, Unreachable
from apps.clusters.outside.sql_session import SqlSession, SqlTarget

# pgpool closes backend connections of this database after use; of any other it keeps one per child.
POLL_DATABASE = "postgres"
PROBE_SQL = "SHOW server_version"


@dataclass(frozen=True)
class PgpoolAddress(SqlTarget):
    """Of a pgpool."""

    database: str = POLL_DATABASE


class PgpoolUnreachable(Unreachable):
    """pgpool could not be asked. fix: the line or statement that mends it, "" where none is known."""

    @property
    def is_silence(self) -> bool:
        """Whether nobody answered in time, rather than refusing or being away."""
        cause = self.__cause__
        while isinstance(cause, Unreachable):
            cause = cause.__cause__
        return isinstance(cause, DeadlinePassed)


def is_unknown_to_pgpool(error: PgpoolUnreachable) -> bool:
    """Whether this version does not have what was asked for; the session goes on."""
    return isinstance(error.__cause__, psycopg.errors.UndefinedObject) or "config variable" in error.reason


class PgpoolConnection:
    """One kept session; it holds one child of the pgpool until it is closed."""

    def __init__(self, address: PgpoolAddress, session: SqlSession) -> None:
        self.address = address
        self._session = session

    @property
    def is_open(self) -> bool:
        return self._session.is_open

    @property
    def is_encrypted(self) -> bool:
        return self._session.is_encrypted

    async def show(self, sql: str, *, deadline_s: float) -> list[dict[str, str | None]]:
        """Ask SHOW or PGPOOL SHOW; rows by column name, every value a text.

        Raises PgpoolUnreachable; the connection is closed then, unless pgpool only refused the statement.
        """
        try:
            rows = await self._session.rows(sql, deadline_s=deadline_s)
        except (DeadlinePassed, psycopg.Error) as error:
            if isinstance(error, DeadlinePassed) or not self.is_open:
                await self.close()
            raise _unreachable(self.address, error, during="show", asked=sql) from error
        return [{name: None if value is None else str(value) for name, value in row.items()} for row in rows]

    async def probe(self, *, deadline_s: float) -> float:
        """Milliseconds of one round trip through pgpool to a backend.

        A SELECT 1 would be counted in select_cnt and shift the shares it is meant to watch; SHOW is not.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        await self.show(PROBE_SQL, deadline_s=deadline_s)
        return (loop.time() - started) * 1000

    async def close(self) -> None:
        await self._session.close()


async def connect(address: PgpoolAddress, *, deadline_s: float) -> PgpoolConnection:
    """Open one session. Raises PgpoolUnreachable, naming the step that failed."""
    try:
        return PgpoolConnection(address, await SqlSession.open(address, deadline_s=deadline_s))
    except Unreachable as error:
        raise PgpoolUnreachable(error.step, error.reason, error.fix) from error
    except (DeadlinePassed, psycopg.Error) as error:
        raise _unreachable(address, error, during="authenticate") from error


def _unreachable(
    address: PgpoolAddress, error: DeadlinePassed | psycopg.Error, *, during: TroubleStep, asked: str = ""
) -> PgpoolUnreachable:
    if isinstance(error, DeadlinePassed):
        what = f"did not answer {asked!r}" if asked else "took the connection, but did not answer,"
        return PgpoolUnreachable(
            during,
            f"{address.host}:{address.port} {what} within {error.deadline_s:.3g} s",
            "pgpool is frozen, looks for a primary, or all of its children are busy: "
            "compare num_init_children with SHOW POOL_PROCESSES, and look at its log.",
        )
    place = Place("pgpool", address.host, address.port, address.username, address.database)
    trouble = trouble_of(str(error), place, otherwise=during)
    return PgpoolUnreachable(trouble.step, trouble.reason, trouble.fix)
