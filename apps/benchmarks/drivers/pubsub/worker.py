"""One process of the load: some of the writers and readers, told what to do by lines on its standard input.

It ends when that is closed, and so with whoever started it, even if that was killed. Each line is one JSON object.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from apps.benchmarks.domain.pubsub_plan import NS_PER_S, Plan
from apps.benchmarks.domain.pubsub_report import SHARED_STATEMENTS
from apps.benchmarks.drivers.pubsub import readers, writers
from apps.benchmarks.drivers.pubsub.journal import Journal
from apps.benchmarks.drivers.pubsub.readers import Reader
from apps.benchmarks.drivers.pubsub.session import Server, StatementFailed
from apps.benchmarks.drivers.pubsub.stage import Line, Stage
from apps.benchmarks.drivers.pubsub.writers import Payloads, Writer

OPENED_AT_ONCE = 8
# Of statements that are under way when the run ends.
ENDS_WITHIN_S = 1.0


@dataclass(frozen=True)
class Part:
    """What one process does. readers: (group, number). Sessions are dealt out to the servers from `first_server` on."""

    plan: Plan
    servers: tuple[Server, ...]
    writers: tuple[int, ...]
    readers: tuple[tuple[int, int], ...]
    journal: str
    seed: int
    tries_empty_polls: bool = False
    first_server: int = 0

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "plan": self.plan.as_json()}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        return cls(
            **{
                **content,
                "plan": Plan.from_json(content["plan"]),
                "servers": tuple(Server(**one) for one in content["servers"]),
                "writers": tuple(content["writers"]),
                "readers": tuple((group, number) for group, number in content["readers"]),
            }
        )


async def work() -> None:
    """Prints ready or failure; after go a tally each second, and the last one at the end."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _pass_over)
    orders = asyncio.StreamReader(limit=2**24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    part = Part.from_json(json.loads(await orders.readline()))
    stage = Stage(part.plan, Journal(Path(part.journal)))
    own_writers, own_readers = _cast(part, stage)
    lines = [*(one.line for one in own_writers), *(one.line for one in own_readers)]
    try:
        await _open(lines)
        if part.tries_empty_polls and own_readers:
            stage.tally.empty_poll_cpu_s = await own_readers[0].try_empty_polls()
    except StatementFailed as error:
        _print({"failure": f"{error}. {SHARED_STATEMENTS}" if error.is_shared else str(error)})
        return
    _print({"ready": len(lines)})
    if order := await orders.readline():
        stage.began_ns = json.loads(order)["go"]
        await _play(stage, own_writers, own_readers, orders)
    await asyncio.gather(*(line.close() for line in lines))


def _cast(part: Part, stage: Stage) -> tuple[list[Writer], list[Reader]]:
    chance = random.Random(part.seed)
    length = part.plan.write_batch * part.plan.message_bytes
    count = len(part.servers)
    found: list[Writer] = []
    payloads = Payloads(chance, length)
    for position, number in enumerate(part.writers):
        at = (part.first_server + position) % count
        statements = writers.statements(part.plan.partition_of_writer(number))
        line = Line(stage, "writer", part.servers[at:] + part.servers[:at], statements)
        found.append(Writer(number, stage, line, payloads))
    statements = readers.statements(part.plan)
    read: list[Reader] = []
    for position, (group, number) in enumerate(part.readers):
        at = (part.first_server + len(part.writers) + position) % count
        line = Line(stage, "reader", part.servers[at:] + part.servers[:at], statements)
        read.append(Reader(group, number, stage, line))
    return found, read


async def _open(lines: Sequence[Line]) -> None:
    """Some at a time. Raises StatementFailed for the first that cannot be opened."""
    for first in range(0, len(lines), OPENED_AT_ONCE):
        await asyncio.gather(*(line.open() for line in lines[first : first + OPENED_AT_ONCE]))


async def _play(
    stage: Stage, own_writers: Sequence[Writer], own_readers: Sequence[Reader], orders: asyncio.StreamReader
) -> None:
    await stage.nap_until(stage.began_ns)
    tasks = [asyncio.create_task(one.write()) for one in own_writers]
    tasks += [asyncio.create_task(one.read()) for one in own_readers]
    teller = _Teller(stage)
    telling = asyncio.create_task(teller.tell())
    ended = asyncio.create_task(orders.readline())
    # An error that nobody expected ends this process at once, and shows.
    watched: set[asyncio.Task[Any]] = {*tasks, ended}
    while not ended.done():
        done, watched = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            one.result()
    stage.end()
    if tasks:
        _, hanging = await asyncio.wait(tasks, timeout=ENDS_WITHIN_S)
        for one in hanging:
            one.cancel()
            stage.tally.errors["did not end in time: no answer of the server"] += 1
    telling.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await telling
    teller.print(is_last=True)


class _Teller:
    """Prints what was counted since, once a second."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._second = 0
        self._cpu_s = time.process_time()

    async def tell(self) -> None:
        stage = self._stage
        while not stage.is_ending:
            await stage.nap_until(stage.began_ns + (self._second + 1) * NS_PER_S)
            if not stage.is_ending:
                self.print(is_last=False)

    def print(self, *, is_last: bool) -> None:
        """What is told last is of the second that was under way, which may not have been a whole one."""
        self._second += 1
        tally = self._stage.taken()
        now_s = time.process_time()
        tally.cpu_s, self._cpu_s = now_s - self._cpu_s, now_s
        _print({"tally": tally.as_json(), "second": self._second, "is_last": is_last})


def _pass_over() -> None:
    """A signal to the whole group is for the process that started this one, which says what is to be done."""


def _print(told: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
