"""A writer: batches of fresh random messages for its partition, each in one transaction."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from apps.benchmarks.drivers.pubsub import schema
from apps.benchmarks.drivers.pubsub.session import StatementFailed
from apps.benchmarks.drivers.pubsub.stage import Line, Stage

# Payloads are cut at random from that much: to draw each byte anew would cost more than to send it.
POOL_BYTES = 4 * 1024 * 1024


class Payloads:
    """Random bytes, no two batches alike by more than chance."""

    def __init__(self, chance: random.Random, length: int) -> None:
        self._chance = chance
        self._length = length
        self._pool = chance.randbytes(POOL_BYTES + length)

    def batch(self) -> bytes:
        begins = self._chance.randrange(POOL_BYTES)
        return self._pool[begins : begins + self._length]


@dataclass
class Writer:
    number: int
    stage: Stage
    line: Line
    payloads: Payloads
    batches: int = 0

    async def write(self) -> None:
        """Until the measurement is over. One that is late does not wait; what it sends keeps the time it was due."""
        while (due_ns := await self._next_due()) is not None:
            await self._publish(due_ns)
        self._count_unsent()

    async def _next_due(self) -> int | None:
        """When the next batch is due: now, or as the throttle says, which is waited for. None: there is none."""
        stage, plan = self.stage, self.stage.plan
        due_ns = time.monotonic_ns()
        if plan.throttle_per_s:
            due_ns = stage.began_ns + int(plan.due_ns(self.number, self.batches))
            if time.monotonic_ns() < due_ns < stage.measured_until_ns:
                await stage.nap_until(due_ns)
        is_over = stage.is_ending or max(due_ns, time.monotonic_ns()) >= stage.measured_until_ns
        # In whole microseconds, as it travels with the messages.
        return None if is_over else due_ns // 1000 * 1000

    async def _publish(self, due_ns: int) -> None:
        """One batch, tried until it is published; the time since it was due goes on."""
        payloads = self.payloads.batch()
        plan = self.stage.plan
        statement = _publish(plan.partition_of_writer(self.number))
        while not self.stage.is_ending:
            try:
                session = await self.line.open()
                sent_ns = time.monotonic_ns()
                await session.run(statement, (plan.write_batch, payloads, plan.message_bytes, due_ns // 1000))
            except StatementFailed as error:
                await self.line.recover(error)
                continue
            self.batches += 1
            self._count(due_ns, sent_ns, time.monotonic_ns())
            return

    def _count(self, due_ns: int, sent_ns: int, done_ns: int) -> None:
        stage, tally = self.stage, self.stage.tally
        tally.counts["published"] += stage.plan.write_batch
        if stage.is_measured(done_ns):
            tally.counts["measured_published"] += stage.plan.write_batch
            tally.counts["measured_batches"] += 1
        if stage.is_measured(due_ns):
            tally.publish.record(max(0, done_ns - due_ns) // 1000)
            tally.publish_service.record((done_ns - sent_ns) // 1000)

    def _count_unsent(self) -> None:
        """Batches that were due and never sent are late at least by now: a latency without them would flatter."""
        stage, plan = self.stage, self.stage.plan
        now_ns = min(time.monotonic_ns(), stage.measured_until_ns)
        for number in range(self.batches, plan.due_until(self.number, now_ns - stage.began_ns)):
            due_ns = stage.began_ns + int(plan.due_ns(self.number, number))
            if stage.is_measured(due_ns):
                stage.tally.counts["unsent"] += plan.write_batch
                stage.tally.publish.record(max(0, now_ns - due_ns) // 1000)


def statements(partition: int) -> dict[bytes, str]:
    return {_publish(partition): schema.publish(partition)}


def _publish(partition: int) -> bytes:
    """Named after it: where sessions share a server connection, no writer runs what another prepared."""
    return b"publish%d" % partition
