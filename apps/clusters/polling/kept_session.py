"""One session with a pgpool that is kept from one question to the next, and never becomes two."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from apps.clusters.outside import pgpool_client
from apps.clusters.outside.pgpool_client import PgpoolAddress, PgpoolConnection, PgpoolUnreachable

Answer = TypeVar("Answer")

# A connection that is not answered is left waiting this long before another is tried: each attempt may hold a child of
# pgpool, and one that waits is served at once when pgpool wakes up.
PATIENCE_S = 15.0


class KeptSession:
    """Holds at most one child of the pgpool. Only one question at a time."""

    def __init__(self, address: PgpoolAddress) -> None:
        self._address = address
        self._connection: PgpoolConnection | None = None
        self._ended = 0

    @property
    def is_open(self) -> bool:
        return self._connection is not None and self._connection.is_open

    def take_ended(self) -> int:
        """How many of our sessions have ended since the last call."""
        ended, self._ended = self._ended, 0
        return ended

    async def ask(self, question: Callable[[PgpoolConnection], Awaitable[Answer]]) -> Answer:
        """Put the question, connecting first where needed. Raises what the question raises, and PgpoolUnreachable.

        pgpool closes sessions when a backend fails over, and serves new ones at once: a kept session that turns
        out to be closed is replaced by a new one, once.
        """
        if self.is_open:
            try:
                return await question(await self._session())
            except PgpoolUnreachable as error:
                if error.is_silence or self.is_open:
                    raise
        return await question(await self._session())

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None
            self._ended += 1

    async def _session(self) -> PgpoolConnection:
        if self._connection is not None and self._connection.is_open:
            return self._connection
        await self.close()
        opening = asyncio.ensure_future(pgpool_client.connect(self._address, deadline_s=PATIENCE_S))
        try:
            self._connection = await asyncio.shield(opening)
        except asyncio.CancelledError:
            # A session that opens at this very moment must not stay behind unseen.
            opening.cancel()
            [outcome] = await asyncio.gather(opening, return_exceptions=True)
            if isinstance(outcome, PgpoolConnection):
                await outcome.close()
            raise
        return self._connection
