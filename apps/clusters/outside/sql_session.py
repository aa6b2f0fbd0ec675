"""One psycopg connection to something that may freeze: simple protocol, autocommit, deadlines that hold."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import traceback
from dataclasses import dataclass, field
from typing import Any

import psycopg

from apps.clusters.outside.sockets import DeadlinePassed, Unreachable, accepts_tcp, by_deadline, resolve
from apps.clusters.outside.tls_roots import root_certificates

# Part of a connection's deadline kept for finding out whether the machine at least takes a TCP connection.
PROBE_SHARE = 0.15
PROBE_AT_MOST_S = 0.5
# What libpq makes of refusals in place of an answer about TLS: of "too many clients", and of "pgpool is not accepting
# any new connections", which pgpool says to nobody who asks for TLS.
_HIDDEN_REFUSALS = ("SSL exchange", "server closed the connection unexpectedly")


@dataclass(frozen=True)
class SqlTarget:
    """Where a server listens, and as whom to sign in there."""

    host: str
    port: int
    username: str
    password: str = field(repr=False)
    database: str = "postgres"
    sslmode: str = "prefer"


class SqlSession:
    """A connection that is thrown away the first time it does not answer in time."""

    def __init__(self, connection: psycopg.AsyncConnection[tuple[Any, ...]]) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, target: SqlTarget, *, deadline_s: float) -> SqlSession:
        """Raises Unreachable (name or TCP), DeadlinePassed (connected, no answer) or psycopg.Error."""
        probe_s = min(deadline_s * PROBE_SHARE, PROBE_AT_MOST_S)
        loop = asyncio.get_running_loop()
        end = loop.time() + deadline_s - probe_s
        addresses = await resolve(target.host, target.port, deadline_s=deadline_s - probe_s)
        try:
            left_s = max(end - loop.time(), 0.01)
            return cls(await by_deadline(_connect(target, addresses), deadline_s=left_s, discard=_finish))
        except DeadlinePassed as error:
            if await accepts_tcp(target.host, target.port, deadline_s=probe_s):
                raise DeadlinePassed(deadline_s) from None
            raise Unreachable(
                "tcp",
                f"{target.host}:{target.port} did not accept a connection within {deadline_s:.3g} s",
                f"Check that a firewall lets this machine reach {target.host}, port {target.port}.",
            ) from error

    @property
    def is_open(self) -> bool:
        return not self._connection.closed and not self._connection.broken

    @property
    def is_encrypted(self) -> bool:
        return bool(self._connection.pgconn.ssl_in_use)

    async def rows(self, sql: str, *, deadline_s: float) -> list[dict[str, Any]]:
        """Rows of the LAST result set, by column name. Raises DeadlinePassed or psycopg.Error; both end the session
        unless the server merely refused the statement.

        Pgpool-II before 4.3.6 sends the header of SHOW pool_version and SHOW pool_processes twice: the first
        result set is empty then.
        """
        return await by_deadline(self._ask(sql), deadline_s=deadline_s, cut=self.cut)

    async def _ask(self, sql: str) -> list[dict[str, Any]]:
        async with self._connection.cursor() as cursor:
            await cursor.execute(sql.encode())
            answer = await _rows_of(cursor)
            while cursor.nextset():
                answer = await _rows_of(cursor)
            return answer

    def cut(self) -> None:
        """Shut the socket, so that whoever waits for it wakes up: closing politely waits for the far side."""
        with (
            contextlib.suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(self._connection.fileno())) as twin,
        ):
            twin.shutdown(socket.SHUT_RDWR)

    async def close(self) -> None:
        await self._connection.close()


def _finish(connection: psycopg.AsyncConnection[tuple[Any, ...]]) -> None:
    connection.pgconn.finish()


async def _rows_of(cursor: psycopg.AsyncCursor[tuple[Any, ...]]) -> list[dict[str, Any]]:
    if cursor.description is None:
        return []
    names = [column.name for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in await cursor.fetchall()]


async def _connect(target: SqlTarget, addresses: tuple[str, ...]) -> psycopg.AsyncConnection[tuple[Any, ...]]:
    try:
        return await _connect_with(target, addresses, sslmode=target.sslmode)
    except psycopg.OperationalError as error:
        if target.sslmode != "prefer" or not any(sign in str(error) for sign in _HIDDEN_REFUSALS):
            raise
        return await _connect_with(target, addresses, sslmode="disable")


async def _connect_with(
    target: SqlTarget, addresses: tuple[str, ...], *, sslmode: str
) -> psycopg.AsyncConnection[tuple[Any, ...]]:
    # prepare_threshold: the sixth identical SHOW would be prepared, which pgpool passes on to PostgreSQL.
    attempt = psycopg.AsyncConnection.connect(
        autocommit=True,
        prepare_threshold=None,
        host=",".join([target.host] * len(addresses)),
        hostaddr=",".join(addresses),
        port=target.port,
        user=target.username,
        password=target.password,
        dbname=target.database,
        sslmode=sslmode,
        sslrootcert=root_certificates(sslmode),
        # Whoever answers at this address must not get the stored password by asking for it.
        require_auth=None if sslmode == "verify-full" else "!password",
        gssencmode="disable",
        application_name="lifeguard",
    )
    try:
        return await attempt
    except BaseException as error:
        # The frames of an attempt cut off hold its socket: whoever keeps the error would keep a child of pgpool busy.
        traceback.clear_frames(error.__traceback__)
        raise
