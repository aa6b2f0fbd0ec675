"""One session to a server, for statements that are run thousands of times a second.

psycopg opens it; then libpq is asked directly, with one watch on the socket for the whole session. A cursor of psycopg
takes 100 us of CPU time for each statement, this 35 us: on two cores that is the difference between measuring the
server and measuring the driver (docs/measurements.md).
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import pq

from apps.benchmarks.domain.topologies import place_of

CONNECT_WITHIN_S = 10
# What a session prepared is gone, or what another prepared under its name is there: they share a server connection.
SHARED_STATES = frozenset({"26000", "42P05"})
DONE = frozenset({pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK})
_INTEGER = struct.Struct(">q")
_BINARY = 1
_BEGIN = b"begin"


@dataclass(frozen=True)
class Server:
    """How it is reached; the password, the mode of TLS and the like are in the environment (PGPASSWORD, PGSSLMODE).

    keeps_statements: whether a session finds again what it prepared. Behind a pooler it does not; nothing else is kept
    in a session from one transaction to the next.
    """

    host: str
    port: int
    user: str
    database: str
    keeps_statements: bool = True


class StatementFailed(RuntimeError):
    """A server refused a statement, or its session is gone. is_shared: it has what another session prepared."""

    def __init__(self, said: str, *, is_lost: bool, is_shared: bool = False) -> None:
        super().__init__(said)
        self.is_lost = is_lost
        self.is_shared = is_shared


async def connect(server: Server, *, application_name: str) -> psycopg.AsyncConnection[tuple[Any, ...]]:
    """Its cursors prepare nothing, wherever it leads. Raises StatementFailed."""
    try:
        return await psycopg.AsyncConnection.connect(
            host=server.host, port=server.port, user=server.user, dbname=server.database, autocommit=True,
            connect_timeout=CONNECT_WITHIN_S, application_name=application_name, prepare_threshold=None,
        )  # fmt: skip
    except psycopg.Error as error:
        raise StatementFailed(
            f"{place_of(server.host, server.port)}: {' '.join(str(error).split())}", is_lost=True
        ) from error


class Session:
    """One statement at a time. Parameters are bytes (as they are) or whole numbers (of 64 bits).

    prepares: whether statements are prepared; if not, each is sent whole every time.
    """

    def __init__(
        self, connection: psycopg.AsyncConnection[tuple[Any, ...]], statements: Mapping[bytes, str], *, prepares: bool
    ) -> None:
        self._connection = connection
        self._statements = {_BEGIN: b"BEGIN", **{name: text.encode() for name, text in statements.items()}}
        self._prepares = prepares
        self._prepared: set[bytes] = set()
        self._is_pipelining = False
        self._libpq = connection.pgconn
        self._loop = asyncio.get_running_loop()
        self._descriptor = self._libpq.socket
        self._answer: asyncio.Future[pq.abc.PGresult] | None = None
        self._latest: pq.abc.PGresult | None = None
        self._loop.add_reader(self._descriptor, self._read)

    @classmethod
    async def open(cls, server: Server, statements: Mapping[bytes, str], *, application_name: str) -> Session:
        """statements: by name; each is prepared when it is run first, where that lasts. Raises StatementFailed."""
        connection = await connect(server, application_name=application_name)
        return cls(connection, statements, prepares=server.keeps_statements)

    async def run(self, name: bytes, parameters: Sequence[int | bytes] = ()) -> pq.abc.PGresult:
        """One of its statements; its rows are binary. Raises StatementFailed."""
        await self._prepare(name)
        return await self._send(lambda: self._queue(name, parameters))

    async def run_begun(self, name: bytes, parameters: Sequence[int | bytes] = ()) -> pq.abc.PGresult:
        """The same, at the beginning of a transaction: both are sent at once. Raises StatementFailed."""
        await self._prepare(_BEGIN)
        await self._prepare(name)

        def send() -> None:
            self._libpq.enter_pipeline_mode()
            self._is_pipelining = True
            self._queue(_BEGIN, ())
            self._queue(name, parameters)
            self._libpq.pipeline_sync()

        return await self._send(send)

    async def command(self, statement: bytes) -> pq.abc.PGresult:
        """BEGIN and the like. Raises StatementFailed."""
        return await self._send(lambda: self._libpq.send_query(statement))

    async def close(self) -> None:
        self._loop.remove_reader(self._descriptor)
        self._loop.remove_writer(self._descriptor)
        await self._connection.close()

    async def _prepare(self, name: bytes) -> None:
        if self._prepares and name not in self._prepared:
            await self._send(lambda: self._libpq.send_prepare(name, self._statements[name]))
            self._prepared.add(name)

    def _queue(self, name: bytes, parameters: Sequence[int | bytes]) -> None:
        values = [_INTEGER.pack(one) if isinstance(one, int) else one for one in parameters]
        formats = [_BINARY] * len(values)
        if self._prepares:
            self._libpq.send_query_prepared(name, values, formats, _BINARY)
        else:
            self._libpq.send_query_params(self._statements[name], values, None, formats, _BINARY)

    async def _send(self, send: Callable[[], None]) -> pq.abc.PGresult:
        self._latest = None
        self._answer = self._loop.create_future()
        try:
            send()
            if self._libpq.flush():
                self._loop.add_writer(self._descriptor, self._write)
        except psycopg.Error as error:
            self._answer = None
            raise StatementFailed(" ".join(str(error).split()), is_lost=True) from error
        answer = await self._answer
        if answer.status in DONE:
            return answer
        said = answer.error_message.decode(errors="replace").strip()
        state = (answer.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
        raise StatementFailed(
            said, is_lost=self._libpq.status != pq.ConnStatus.OK, is_shared=state in SHARED_STATES
        )  # fmt: skip

    def _write(self) -> None:
        try:
            if not self._libpq.flush():
                self._loop.remove_writer(self._descriptor)
        except psycopg.Error as error:
            self._fail(error)

    def _read(self) -> None:
        try:
            self._libpq.consume_input()
            was_end = False
            while not self._libpq.is_busy():
                found = self._libpq.get_result()
                if found is None:
                    # Of a pipeline each statement has an end, and the whole has one more sign.
                    if not self._is_pipelining:
                        self._settle()
                    if was_end or not self._is_pipelining:
                        return
                    was_end = True
                    continue
                was_end = False
                if found.status == pq.ExecStatus.PIPELINE_SYNC:
                    self._libpq.exit_pipeline_mode()
                    self._is_pipelining = False
                    self._settle()
                    return
                if self._latest is None or self._latest.status in DONE:
                    self._latest = found
        except psycopg.Error as error:
            self._fail(error)

    def _settle(self) -> None:
        answer, self._answer = self._answer, None
        if answer is None or answer.done():
            return
        if self._latest is None:
            answer.set_exception(StatementFailed("the server gave no answer", is_lost=True))
        else:
            answer.set_result(self._latest)

    def _fail(self, error: psycopg.Error) -> None:
        # Else the loop would call this for ever: a socket that was closed is always readable.
        self._loop.remove_reader(self._descriptor)
        self._loop.remove_writer(self._descriptor)
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(StatementFailed(" ".join(str(error).split()), is_lost=True))


def integer(result: pq.abc.PGresult, row: int, column: int) -> int:
    """A bigint or integer of a result."""
    return int.from_bytes(result.get_value(row, column) or b"", "big", signed=True)
