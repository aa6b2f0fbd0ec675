"""Asks the watchdog of one pgpool now and then, beside the looks at it: PCP answers while SQL hangs, too."""

import asyncio

from apps.clusters.outside import pcp
from apps.clusters.outside.pcp import PcpAddress
from apps.clusters.polling.readings import WatchdogReading

# Each question is a connection, for which pgpool starts a process.
EVERY_S = 10.0
OFF_EVERY_S = 60.0
DEADLINE_S = 3.0
NO_PCP = "It is registered without PCP, which alone tells of the watchdog. Give it PCP credentials in Settings."


class WatchdogWatch:
    """look() never waits: it brings back what was answered since, and asks when it is time."""

    def __init__(self) -> None:
        self._asking: asyncio.Task[WatchdogReading] | None = None
        self._due_at = float("-inf")

    def look(self, address: PcpAddress | None) -> WatchdogReading | None:
        """None: nothing new."""
        now = asyncio.get_running_loop().time()
        told = None
        if self._asking is not None and self._asking.done():
            told, self._asking = self._asking.result(), None
            is_off = told.watchdog is None and not told.reason
            self._due_at = now + (OFF_EVERY_S if is_off else EVERY_S)
        if self._asking is None and now >= self._due_at:
            if address is None:
                self._due_at = now + OFF_EVERY_S
                return WatchdogReading(None, NO_PCP)
            self._asking = asyncio.ensure_future(_ask(address))
        return told

    async def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)


async def _ask(address: PcpAddress) -> WatchdogReading:
    try:
        return WatchdogReading(await pcp.watchdog(address, deadline_s=DEADLINE_S))
    except pcp.PcpError as error:
        return WatchdogReading(None, f"{error.reason}. {error.fix}".strip())
