"""One run from reset tables to its report: processes started, each second told, everything counted at the end."""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from apps.benchmarks.domain import pubsub_accounting, pubsub_report
from apps.benchmarks.domain.latency_histogram import LatencyHistogram
from apps.benchmarks.domain.load_report import LoadSecond
from apps.benchmarks.domain.pubsub_accounting import FIRST_OFFSET
from apps.benchmarks.domain.pubsub_plan import NS_PER_S, Plan, dealt
from apps.benchmarks.domain.pubsub_report import Course
from apps.benchmarks.domain.pubsub_tally import Tally
from apps.benchmarks.drivers.pubsub import journal, schema
from apps.benchmarks.drivers.pubsub.schema import Look
from apps.benchmarks.drivers.pubsub.session import Server, connect
from apps.benchmarks.drivers.pubsub.troupe import NotReady, Troupe
from apps.benchmarks.drivers.pubsub.worker import Part

# From the word to go until it is heard everywhere.
STARTS_IN_NS = NS_PER_S // 10
LOOKS_EVERY_S = 0.1
# The server is asked where everybody stands; one that is silent must not keep the report, less so once it is wanted.
ASKED_WITHIN_S = 10.0
HURRIED_S = 0.5


@dataclass(frozen=True)
class Ended:
    """report: as domain.own_program prints it. latencies: end to end, or of publishing where nobody reads."""

    report: dict[str, Any]
    latencies: LatencyHistogram


@dataclass
class Run:
    """tell: called with each second once all processes have told of it. stop: set to end it early."""

    plan: Plan
    servers: tuple[Server, ...]
    processes: int
    tell: Callable[[LoadSecond], None]
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    total: Tally = field(default_factory=Tally)
    _seconds: dict[int, Tally] = field(default_factory=dict)
    _told: int = 0
    _is_silent: bool = False

    async def go(self) -> Ended:
        """Raises StatementFailed, NotPrepared, NotReady, psycopg.Error: nothing was measured then."""
        with tempfile.TemporaryDirectory(prefix="lifeguard-pubsub-") as folder:
            session = await connect(self.servers[0], application_name="lifeguard-pubsub")
            try:
                return await self._go(session, Path(folder))
            finally:
                await session.close()

    async def _go(self, session: schema.Connection, folder: Path) -> Ended:
        await schema.reset(session, self.plan)
        troupe = Troupe(self._hear)
        try:
            await self._start(troupe, folder)
            began_ns = (time.monotonic_ns() + STARTS_IN_NS) // 1000 * 1000
            troupe.go(began_ns)
            measured_ns = began_ns + self.plan.warm_up_s * NS_PER_S
            ends_ns = measured_ns + self.plan.duration_s * NS_PER_S
            before = await self._look_at(session, measured_ns, troupe)
            after = await self._look_at(session, ends_ns, troupe)
            window_s = max(0.0, (min(time.monotonic_ns(), ends_ns) - measured_ns) / NS_PER_S)
            is_partial = self.stop.is_set()
            drained_s = None if is_partial else await self._drained(session, ends_ns, troupe)
        finally:
            lost = troupe.lost
            await troupe.end()
        if not is_partial:
            self._tell_whole(troupe)
        final = await self._asked(session) or after
        course = Course(
            window_s=window_s,
            behind=[after.behind(group) for group in range(self.plan.groups)] if after else [],
            drained_s=drained_s,
            wal_bytes=after.wal_bytes - before.wal_bytes if after and before else None,
            published=sum(end - FIRST_OFFSET for end in final.ends.values()) if final else 0,
            processes=self.processes,
            workers_lost=lost,
            is_partial=is_partial,
        )
        return self._ended(course, final, folder)

    async def _start(self, troupe: Troupe, folder: Path) -> None:
        """Raises NotReady, also where the run is stopped meanwhile."""
        starting = asyncio.create_task(troupe.start(self._parts(folder)))
        stopping = asyncio.create_task(self.stop.wait())
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not starting.done():
            starting.cancel()
            raise NotReady("it was ended before it began")
        starting.result()

    def _ended(self, course: Course, final: Look | None, folder: Path) -> Ended:
        accounts = (
            pubsub_accounting.account(journal.read(folder), ends=final.ends, positions=final.positions) if final else []
        )
        report = pubsub_report.report(self.plan, self.total, course, accounts)
        return Ended(report, self.total.e2e_of_all if self.plan.groups else self.total.publish)

    def _parts(self, folder: Path) -> list[Part]:
        plan, hands = self.plan, self.processes
        chance = random.SystemRandom()
        return [
            Part(
                plan=plan, servers=self.servers, writers=tuple(own_writers), readers=tuple(own_readers),
                journal=str(folder / f"{hand}{journal.ENDING}"), seed=chance.getrandbits(63),
                tries_empty_polls=hand == 0 and bool(plan.back_off), first_server=hand,
            )
            for hand, (own_writers, own_readers) in enumerate(
                zip(dealt(range(plan.writers), hands), dealt(plan.readers, hands), strict=True)
            )
        ]  # fmt: skip

    async def _look_at(self, session: schema.Connection, at_ns: int, troupe: Troupe) -> Look | None:
        """Where everybody stands at this moment, or as soon as the run is stopped."""
        while (left_s := (at_ns - time.monotonic_ns()) / NS_PER_S) > 0 and not self.stop.is_set():
            await self._paused(min(left_s, LOOKS_EVERY_S))
            self._tell_whole(troupe)
            if troupe.lost == self.processes:
                raise NotReady("all processes of the load have ended before their time; they said why")
        return await self._asked(session)

    async def _drained(self, session: schema.Connection, ends_ns: int, troupe: Troupe) -> float | None:
        """Seconds until every group had read everything; None where they did not within drain_s."""
        until_ns = ends_ns + self.plan.drain_s * NS_PER_S
        positions = -1
        while not self.stop.is_set() and time.monotonic_ns() < until_ns:
            self._tell_whole(troupe)
            seen = await self._asked(session)
            if seen is None:
                return None
            left = sum(seen.behind(group) for group in range(self.plan.groups))
            now_ns = time.monotonic_ns()
            # Writers end with the statement that was under way: the ends have to stand still, too.
            if not left and sum(seen.ends.values()) == positions:
                return max(0.0, (now_ns - ends_ns) / NS_PER_S)
            positions = sum(seen.ends.values())
            await self._paused(LOOKS_EVERY_S)
        return None

    async def _asked(self, session: schema.Connection) -> Look | None:
        """None where the server does not say in time; it is not asked again then."""
        if self._is_silent:
            return None
        asking = asyncio.create_task(schema.look(session))
        # Not cancelled: that would wait for the server once more.
        await asyncio.wait({asking}, timeout=HURRIED_S if self.stop.is_set() else ASKED_WITHIN_S)
        try:
            return asking.result()
        except (psycopg.Error, asyncio.InvalidStateError):
            self._is_silent = True
            return None

    async def _paused(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self.stop.wait(), seconds)
        except TimeoutError:
            return

    def _hear(self, tally: Tally, second: int) -> None:
        self.total.add(tally)
        self._seconds.setdefault(second, Tally()).add(tally)

    def _tell_whole(self, troupe: Troupe) -> None:
        """Seconds of which every process has told by now, counted since the measurement began."""
        while self._told < troupe.seconds:
            self._told += 1
            tally = self._seconds.pop(self._told, Tally())
            at_s = self._told - self.plan.warm_up_s
            if 0 < at_s <= self.plan.duration_s:
                latencies = tally.e2e_of_all if self.plan.groups else tally.publish
                failed = tally.counts["writer_errors"] + tally.counts["reader_errors"]
                self.tell(LoadSecond(at_s, tally.counts["published"], latencies.mean_ms, None, failed))


def processes_for(plan: Plan) -> int:
    """One for each core, and none without a session."""
    return max(1, min(os.cpu_count() or 1, plan.sessions))
