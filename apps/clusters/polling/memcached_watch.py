"""Asks the memcached that one pgpool caches in now and then, beside the looks at the pgpool."""

import asyncio
import datetime as dt
from collections.abc import Mapping

from apps.clusters.domain.memcached import MemcachedState, Place, is_caching, place_of
from apps.clusters.outside import memcached
from apps.clusters.polling.readings import MemcachedReading

EVERY_S = 10.0
# Another state is told once it was found twice: a busy moment of this machine looks like a frozen memcached.
AGAIN_AFTER_S = 1.0


class MemcachedWatch:
    """look() never waits: it brings back what was answered since, and asks when it is time. One connection at most."""

    def __init__(self, place: Place | None) -> None:
        """place: where the pgpool cached as an earlier watch knew it; None for nowhere."""
        self._place = place
        self._state = MemcachedState.ALIVE
        self._asking: asyncio.Task[MemcachedReading] | None = None
        self._due_at = float("-inf")
        self._is_left = False

    def use(self, running: Mapping[str, str]) -> None:
        """Go on with what the pgpool runs now, as PGPOOL SHOW ALL prints it; nothing where it shows none."""
        is_on = is_caching(running)
        place = place_of(running) if is_on else None
        if is_on is None or place == self._place:
            return
        if self._asking is not None:
            self._asking.cancel()
        self._is_left = place is None
        self._place, self._asking, self._due_at = place, None, float("-inf")
        self._state = MemcachedState.ALIVE

    def look(self, pgpool_host: str) -> MemcachedReading | None:
        """None: nothing new. pgpool_host: where the pgpool is registered."""
        if self._is_left:
            self._is_left = False
            return MemcachedReading(None)
        now, told = asyncio.get_running_loop().time(), None
        if self._asking is not None and self._asking.done():
            asked, self._asking = self._asking, None
            self._due_at = now + EVERY_S
            told = asked.result()
            self._state = told.state or self._state
        if self._place is not None and self._asking is None and now >= self._due_at:
            self._asking = asyncio.ensure_future(_ask(self._place, pgpool_host, self._state))
        return told

    async def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)


async def _ask(place: Place, pgpool_host: str, before: MemcachedState) -> MemcachedReading:
    asked_at = dt.datetime.now(dt.UTC)
    told = await memcached.ask(place, pgpool_host=pgpool_host)
    if told.state not in (before, MemcachedState.ALIVE):
        await asyncio.sleep(AGAIN_AFTER_S)
        asked_at = dt.datetime.now(dt.UTC)
        told = await memcached.ask(place, pgpool_host=pgpool_host)
    return MemcachedReading(place, told, asked=place.asked(pgpool_host), asked_at=asked_at)
