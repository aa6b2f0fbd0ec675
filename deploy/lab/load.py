"""A gentle load for the demo: short sessions that read through every pgpool, and a trickle of writes.

`python -m deploy.lab.load --root DIR`. A session keeps its backend as long as it lives, so sessions are short and many:
then new weights show in the shares within seconds. Statements go in the simple protocol, the only one that gains from
the query cache.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import os
import random
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import TupleRow

logger = logging.getLogger("lab.load")

READS_PER_SESSION = 12
PAUSE_S = 0.1  # between two statements of a session
# Few sessions write, each for a while: one that reads nothing would be counted as a draw of a backend all the same.
WRITES_PER_SESSION = 5
WRITE_PAUSE_S = 1.2
SESSION_WITHIN_S = 10.0
SESSIONS_AT_ONCE = 16  # per pgpool, so that a frozen one does not collect them
KEPT_ORDERS = 5000

# Every value below is a number of ours, so it may stand in the text: a parameter would leave the simple protocol.
READ = "SELECT balance FROM accounts WHERE id = {account} AND {unique} = {unique}"
REPEATED_READ = "SELECT name FROM branches WHERE id = {branch}"
WRITES = (
    "UPDATE accounts SET balance = balance + 1 WHERE id BETWEEN {account} AND {account} + 499",
    "INSERT INTO orders (account, amount_cents) VALUES ({account}, {unique})",
    "DELETE FROM orders WHERE id < (SELECT max(id) FROM orders) - {kept}",
)

Connection = psycopg.AsyncConnection[TupleRow]
Story = Callable[[Connection, random.Random], Awaitable[None]]


@dataclass
class Target:
    """One pgpool, and how its sessions went."""

    name: str
    conninfo: Mapping[str, Any]
    running: set[asyncio.Task[None]] = field(default_factory=set)
    is_failing: bool = False

    def note(self, error: str | None) -> None:
        """Log only what changes: a pgpool that is down fails several times a second."""
        if error is not None and not self.is_failing:
            logger.warning("%s fails: %s", self.name, error)
        if error is None and self.is_failing:
            logger.warning("%s serves again", self.name)
        self.is_failing = error is not None


async def read(connection: Connection, chance: random.Random) -> None:
    for number in range(READS_PER_SESSION):
        query = (
            REPEATED_READ.format(branch=chance.randrange(20)) if number % 5 == 4 else READ.format(**_numbers(chance))
        )
        await connection.execute(query.encode())
        await asyncio.sleep(PAUSE_S)


async def write(connection: Connection, chance: random.Random) -> None:
    for _ in range(WRITES_PER_SESSION):
        for query in WRITES:
            await connection.execute(query.format(kept=KEPT_ORDERS, **_numbers(chance)).encode())
        await asyncio.sleep(WRITE_PAUSE_S)


def _numbers(chance: random.Random) -> dict[str, int]:
    return {"account": chance.randrange(1, 9500), "unique": chance.randrange(1_000_000_000)}


async def session(target: Target, story: Story, chance: random.Random) -> None:
    """One session from connect to close, with a deadline that holds when the far side is frozen."""
    opened: list[Connection] = []
    task = asyncio.create_task(_session(target, story, chance, opened))
    done, _ = await asyncio.wait({task}, timeout=SESSION_WITHIN_S)
    if not done:
        for connection in opened:
            _cut(connection)
        if not opened:
            task.cancel()
        done, _ = await asyncio.wait({task}, timeout=SESSION_WITHIN_S)
    target.note(_failure(task) if done else f"no end within {SESSION_WITHIN_S:.0f} s")


async def _session(target: Target, story: Story, chance: random.Random, opened: list[Connection]) -> None:
    connection: Connection = await psycopg.AsyncConnection.connect(**target.conninfo)
    opened.append(connection)
    try:
        await story(connection, chance)
    finally:
        await connection.close()


def _failure(task: "asyncio.Task[None]") -> str | None:
    if task.cancelled():
        return "no answer to connect"
    error = task.exception()
    if error is None:
        return None
    if not isinstance(error, psycopg.Error | OSError):
        raise error
    return (str(error) or type(error).__name__).splitlines()[0]


def _cut(connection: Connection) -> None:
    with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as peer:
        peer.shutdown(socket.SHUT_RDWR)


async def arrivals(
    targets: Sequence[Target], story: Story, *, per_s: float, stop: asyncio.Event, chance: random.Random
) -> None:
    """Start sessions at random moments, `per_s` on average, each through the next pgpool."""
    number = 0
    while not stop.is_set():
        target = targets[number % len(targets)]
        number += 1
        if len(target.running) < SESSIONS_AT_ONCE:
            task = asyncio.create_task(session(target, story, chance))
            target.running.add(task)
            task.add_done_callback(target.running.discard)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), chance.expovariate(per_s))


async def run(addresses: Mapping[str, Any], *, sessions_per_s: float, writes_per_s: float) -> None:
    """Until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    targets = [Target(pgpool["name"], conninfo_of(pgpool, addresses["app"])) for pgpool in addresses["pgpools"]]
    chance = random.Random()
    await asyncio.gather(
        arrivals(targets, read, per_s=sessions_per_s, stop=stop, chance=chance),
        arrivals(targets, write, per_s=writes_per_s / WRITES_PER_SESSION, stop=stop, chance=chance),
    )
    for target in targets:
        for task in target.running:
            task.cancel()


def conninfo_of(pgpool: Mapping[str, Any], app: Mapping[str, str]) -> dict[str, Any]:
    return {
        "host": pgpool["host"],
        "port": pgpool["port"],
        "user": app["username"],
        "password": app["password"],
        "dbname": app["database"],
        "sslmode": "disable",
        "gssencmode": "disable",
        "connect_timeout": 3,
        "autocommit": True,
        "prepare_threshold": None,
        "application_name": "shop",
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m deploy.lab.load", description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the folder of the lab")
    parser.add_argument("--sessions-per-s", type=float, default=9, help="reading sessions, over all pgpools (9)")
    parser.add_argument("--writes-per-s", type=float, default=1.5, help="rounds of writes, over all pgpools (1.5)")
    asked = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    addresses = json.loads((asked.root / "lab.json").read_text(encoding="utf-8"))
    asyncio.run(run(addresses, sessions_per_s=asked.sessions_per_s, writes_per_s=asked.writes_per_s))


if __name__ == "__main__":
    main()
