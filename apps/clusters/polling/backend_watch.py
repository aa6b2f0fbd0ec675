"""Watches one backend directly, past every pgpool, over one kept connection."""

import asyncio

from apps.clusters.outside.backend_client import BackendUnreachable, KeptBackend, ask_backend
from apps.clusters.polling.readings import BackendReading
from apps.clusters.polling.registry import WatchedBackend

DEADLINE_S = 2.0
# A frozen server keeps every connection that was tried in its queue: they come more rarely while it stays silent.
LONGEST_PAUSE_S = 6.0


class BackendWatch:
    """look() brings back a reading within two seconds."""

    def __init__(self, backend: WatchedBackend) -> None:
        self.backend = backend
        self._kept = KeptBackend()
        self._failures = 0
        self._next_at = float("-inf")
        self._failed = BackendReading(backend.backend_id, None)

    @property
    def is_answering(self) -> bool:
        return self._failures == 0

    async def look(self) -> BackendReading:
        loop = asyncio.get_running_loop()
        if loop.time() < self._next_at:
            return self._failed
        try:
            facts = await ask_backend(self.backend.address, deadline_s=DEADLINE_S, kept=self._kept)
        except BackendUnreachable as error:
            reason = f"{error.reason}. {error.fix}" if error.fix else error.reason
            self._failed = BackendReading(self.backend.backend_id, None, reason)
            self._failures += 1
            self._next_at = loop.time() + min(self._failures - 1, LONGEST_PAUSE_S)
            return self._failed
        self._failures = 0
        return BackendReading(self.backend.backend_id, facts)

    async def close(self) -> None:
        await self._kept.close()
