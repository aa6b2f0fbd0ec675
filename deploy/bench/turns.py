"""Lifeguard watching and not watching, by turns: the pollers are stopped where they stand, and go on."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from deploy.processes import Process, send

# The first seconds of a turn do not count: pollers that go on catch up, and ask everything at once. What counts is one
# round of the slowest question, SHOW pool_nodes every 30 s.
SETTLE_S, COUNTED_S = 2.0, 30.0


@contextmanager
def stopped(known: Sequence[Process]) -> Iterator[None]:
    try:
        for process in known:
            send(process, signal.SIGSTOP)
        yield
    finally:
        for process in known:
            send(process, signal.SIGCONT)


def by_turns(watchers: Sequence[Process], *, pairs: int) -> Iterator[bool]:
    """Whether Lifeguard watches now, pair after pair. Who goes first changes: neither has the quieter machine."""
    for number in range(pairs):
        for is_watched in (True, False) if number % 2 else (False, True):
            if is_watched:
                yield True
            else:
                with stopped(watchers):
                    yield False
