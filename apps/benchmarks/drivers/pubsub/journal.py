"""What readers have received, in a file of each process: it outlives a process that is killed."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from apps.benchmarks.domain.pubsub_accounting import Delivery

# What happened to which group and partition, from which offset to before which, when.
_ENTRY = struct.Struct("<BBHqqq")
_RECEIVED, _COMMITTED, _ROLLED_BACK = 1, 2, 3
ENDING = ".journal"


class Journal:
    """Each entry is handed to the kernel at once: one write for what was received, one for its commit."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def received(self, group: int, partition: int, first: int, upto: int, at_ns: int) -> None:
        """Before the transaction is committed."""
        os.write(self._descriptor, _ENTRY.pack(_RECEIVED, group, partition, first, upto, at_ns))

    def committed(self, group: int, partition: int, first: int, upto: int, at_ns: int) -> None:
        """The same figures again, once the server has said so."""
        os.write(self._descriptor, _ENTRY.pack(_COMMITTED, group, partition, first, upto, at_ns))

    def rolled_back(self, group: int, partition: int, first: int, upto: int, at_ns: int) -> None:
        """The same figures again, where the server has refused the commit and still answers."""
        os.write(self._descriptor, _ENTRY.pack(_ROLLED_BACK, group, partition, first, upto, at_ns))

    def close(self) -> None:
        os.close(self._descriptor)


def read(folder: Path) -> Iterator[Delivery]:
    """Of all processes."""
    for path in sorted(folder.glob(f"*{ENDING}")):
        yield from deliveries(path.read_bytes())


def deliveries(content: bytes) -> Iterator[Delivery]:
    """A last entry that is not whole was cut by a kill, and is passed over."""
    opened: set[tuple[int, int, int, int, int]] = set()
    whole = len(content) - len(content) % _ENTRY.size
    for kind, *figures in _ENTRY.iter_unpack(memoryview(content)[:whole]):
        group, partition, first, upto, at_ns = figures
        key = (group, partition, first, upto, at_ns)
        if kind == _RECEIVED:
            opened.add(key)
            continue
        opened.discard(key)
        if kind == _COMMITTED:
            yield Delivery(*key, is_committed=True)
    for key in opened:
        yield Delivery(*key, is_committed=False)
