"""What writers and readers of one process share: the time of the run, naps that end with it, and what was counted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import cycle

from apps.benchmarks.domain.pubsub_plan import NS_PER_S, Plan
from apps.benchmarks.domain.pubsub_tally import Tally
from apps.benchmarks.drivers.pubsub.journal import Journal
from apps.benchmarks.drivers.pubsub.session import Server, Session, StatementFailed

# After an error, so that a server that is away is not asked without a pause.
PAUSE_S = 0.1
LONGEST_SAID = 200


@dataclass
class Stage:
    """began_ns: of time.monotonic_ns(), the one clock of all processes of the run, as all times here.

    The warm-up begins then; the measurement follows it.
    """

    plan: Plan
    journal: Journal
    began_ns: int = 0
    tally: Tally = field(default_factory=Tally)
    is_ending: bool = False
    _naps: set[asyncio.Future[None]] = field(default_factory=set)

    @property
    def measured_from_ns(self) -> int:
        return self.began_ns + self.plan.warm_up_s * NS_PER_S

    @property
    def measured_until_ns(self) -> int:
        return self.measured_from_ns + self.plan.duration_s * NS_PER_S

    def is_measured(self, at_ns: int) -> bool:
        return self.measured_from_ns <= at_ns < self.measured_until_ns

    async def nap(self, seconds: float) -> None:
        """Until then, or until the run ends. 0: others have their turn."""
        if self.is_ending:
            return
        loop = asyncio.get_running_loop()
        nap: asyncio.Future[None] = loop.create_future()
        self._naps.add(nap)
        alarm = loop.call_later(max(0.0, seconds), _wake, nap)
        try:
            await nap
        finally:
            alarm.cancel()
            self._naps.discard(nap)

    async def nap_until(self, at_ns: float) -> None:
        await self.nap((at_ns - time.monotonic_ns()) / NS_PER_S)

    def end(self) -> None:
        """Everybody ends after the statement that is under way."""
        self.is_ending = True
        for nap in self._naps:
            _wake(nap)

    def failed(self, who: str, error: StatementFailed) -> None:
        self.tally.counts[f"{who}_errors"] += 1
        self.tally.counts["shared_statements"] += error.is_shared
        self.tally.errors[str(error)[:LONGEST_SAID]] += 1

    def taken(self) -> Tally:
        """What was counted since it was asked latest."""
        taken, self.tally = self.tally, Tally()
        return taken


@dataclass
class Line:
    """One session of a writer or reader, opened anew when it is lost."""

    stage: Stage
    who: str
    servers: tuple[Server, ...]
    statements: Mapping[bytes, str]
    session: Session | None = None

    def __post_init__(self) -> None:
        self._next = cycle(self.servers)

    async def open(self) -> Session:
        """Raises StatementFailed."""
        if self.session is None:
            name = f"lifeguard-pubsub-{self.who}"
            self.session = await Session.open(next(self._next), self.statements, application_name=name)
        return self.session

    async def recover(self, error: StatementFailed) -> None:
        """After an error: counted, a session that is gone is let go, and a pause."""
        self.stage.failed(self.who, error)
        if error.is_lost:
            self.stage.tally.counts["sessions_lost"] += self.session is not None
            await self.close()
        await self.stage.nap(PAUSE_S)

    async def close(self) -> None:
        session, self.session = self.session, None
        if session is not None:
            await session.close()


def _wake(nap: asyncio.Future[None]) -> None:
    if not nap.done():
        nap.set_result(None)
