"""A reader: it claims a range of one partition for its group, reads it, and commits once it has it."""

from __future__ import annotations

import struct
import time
from collections import Counter
from dataclasses import dataclass
from itertools import cycle

from psycopg.pq.abc import PGresult

from apps.benchmarks.domain.pubsub_plan import Plan
from apps.benchmarks.domain.pubsub_waits import Waits
from apps.benchmarks.drivers.pubsub import schema
from apps.benchmarks.drivers.pubsub.session import StatementFailed, integer
from apps.benchmarks.drivers.pubsub.stage import Line, Stage

CLAIM = b"claim"
COMMIT, ROLLBACK = b"COMMIT", b"ROLLBACK"
_OFFSET, _DUE, _PAYLOAD = range(3)
# Empty polls whose CPU time is taken before the run, where polls that were saved are told.
TRIED_POLLS = 50


@dataclass(frozen=True)
class Claim:
    partition: int
    first: int
    upto: int


@dataclass
class Reader:
    group: int
    number: int
    stage: Stage
    line: Line

    def __post_init__(self) -> None:
        self._homes = cycle(self.stage.plan.homes(self.number))

    async def read(self) -> None:
        """Until the run ends."""
        stage = self.stage
        waits = Waits(stage.plan)
        while not stage.is_ending:
            try:
                received = await self._poll()
            except StatementFailed as error:
                await self.line.recover(error)
                continue
            saved = waits.polls_saved
            waits_s = waits.after(received)
            if stage.is_measured(time.monotonic_ns()):
                stage.tally.counts["polls"] += 1
                stage.tally.counts["empty_polls"] += not received
                stage.tally.polls_saved += waits.polls_saved - saved
            if waits_s:
                await stage.nap(waits_s)

    async def _poll(self) -> int:
        """How many messages it brought. Raises StatementFailed."""
        session = await self.line.open()
        plan = self.stage.plan
        try:
            found = await session.run_begun(CLAIM, (self.group, next(self._homes), plan.partitions, plan.read_batch))
            if not found.ntuples:
                await session.command(COMMIT)
                return 0
            claim = Claim(*(integer(found, 0, column) for column in range(3)))
            return await self._receive(claim)
        except StatementFailed as error:
            if not error.is_lost:
                await session.command(ROLLBACK)
            raise

    async def _receive(self, claim: Claim) -> int:
        session = await self.line.open()
        rows = await session.run(_fetch(claim.partition), (claim.first, claim.upto))
        at_ns = time.monotonic_ns()
        if not _is_whole(rows, claim, self.stage.plan):
            await session.command(ROLLBACK)
            self.stage.tally.counts["rolled_back"] += 1
            return 0
        journal = self.stage.journal
        entry = (self.group, claim.partition, claim.first, claim.upto, at_ns)
        journal.received(*entry)
        try:
            await session.command(COMMIT)
        except StatementFailed as error:
            if not error.is_lost:
                journal.rolled_back(*entry)
            raise
        journal.committed(*entry)
        self._count(rows, at_ns)
        return rows.ntuples

    def _count(self, rows: PGresult, at_ns: int) -> None:
        stage, tally = self.stage, self.stage.tally
        tally.counts["consumed"] += rows.ntuples
        if stage.is_measured(at_ns):
            tally.consumed_by[self.group] += rows.ntuples
        latencies = tally.e2e_of(self.group)
        # Those of one batch of a writer were due at one moment.
        for due, times in Counter(rows.get_value(row, _DUE) for row in range(rows.ntuples)).items():
            due_ns = int.from_bytes(due or b"", "big") * 1000
            if stage.is_measured(due_ns):
                latencies.record(max(0, at_ns - due_ns) // 1000, times)

    async def try_empty_polls(self) -> float:
        """CPU seconds of this process for one, before anybody has written. Raises StatementFailed."""
        before = time.process_time()
        for _ in range(TRIED_POLLS):
            await self._poll()
        return (time.process_time() - before) / TRIED_POLLS


def statements(plan: Plan) -> dict[bytes, str]:
    """Any reader may take any partition of its group over."""
    return {CLAIM: schema.CLAIM, **{_fetch(one): schema.fetch(one) for one in range(plan.partitions)}}


def _fetch(partition: int) -> bytes:
    return b"fetch%d" % partition


def _is_whole(rows: PGresult, claim: Claim, plan: Plan) -> bool:
    """Whether these are the messages that were claimed, every one, in order, and of the size that was written."""
    count = claim.upto - claim.first
    if rows.ntuples != count:
        return False
    offsets = b"".join(rows.get_value(row, _OFFSET) or b"" for row in range(count))
    if struct.unpack(f">{count}q", offsets) != tuple(range(claim.first, claim.upto)):
        return False
    return all(len(rows.get_value(row, _PAYLOAD) or b"") == plan.message_bytes for row in range(count))
