"""What a run of the pub/sub workload is asked to be, who serves which partition, and when each batch is due."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self, TypeVar

from apps.benchmarks.domain.workload_parameters import Parameter, ParameterRefused, WholeNumber, YesNo

LARGEST_BATCH_BYTES = 64 * 1024 * 1024
NS_PER_S = 1_000_000_000
_Card = TypeVar("_Card")


PARAMETERS: Mapping[str, Parameter] = {
    one.name: one
    for one in (
        WholeNumber("writers", "Writers", 1, 1000, 4),
        WholeNumber("groups", "Groups: each gets every message once", 0, 100, 5),
        WholeNumber("readers_per_group", "Readers of each group", 1, 1000, 4),
        WholeNumber("partitions", "Partitions: one table each", 1, 256, 4),
        WholeNumber("write_batch", "Messages of one transaction of a writer", 1, 10_000, 10),
        WholeNumber("read_batch", "Messages of one transaction of a reader, at most", 1, 10_000, 200),
        WholeNumber("message_bytes", "Size of a message", 1, 1024 * 1024, 1024, "bytes"),
        WholeNumber("throttle_per_s", "Throttle: messages of all writers together", 1, 10_000_000, unit="per s"),
        WholeNumber("poll_interval_ms", "Wait of a reader whose batch was not full", 1, 60_000, 10, "ms"),
        YesNo("back_off", "A reader waits twice as long after each empty poll"),
        WholeNumber("back_off_cap_ms", "The longest wait of a reader that backs off", 1, 600_000, 250, "ms"),
    )
}


@dataclass(frozen=True)
class Plan:
    """One run. throttle_per_s 0: none. drain_s: how long readers may go on once the writers have ended."""

    writers: int
    groups: int
    readers_per_group: int
    partitions: int
    write_batch: int
    read_batch: int
    message_bytes: int
    throttle_per_s: int
    poll_interval_ms: int
    back_off: bool
    back_off_cap_ms: int
    duration_s: int
    warm_up_s: int = 0
    drain_s: int = 30

    @property
    def sessions(self) -> int:
        return self.writers + self.groups * self.readers_per_group

    @property
    def readers(self) -> tuple[tuple[int, int], ...]:
        """(group, number within the group) of each."""
        return tuple((group, number) for group in range(self.groups) for number in range(self.readers_per_group))

    @property
    def batch_interval_ns(self) -> float | None:
        """Between two batches of one writer. None: without a throttle."""
        if not self.throttle_per_s:
            return None
        return self.write_batch * self.writers * NS_PER_S / self.throttle_per_s

    def due_ns(self, writer: int, number: int) -> float:
        """When a writer's batch of this number (from 0) is due, from the start. Only with a throttle.

        The writers take turns, so that their batches do not all come at once.
        """
        return (number + writer / self.writers) * (self.batch_interval_ns or 0.0)

    def due_until(self, writer: int, elapsed_ns: int) -> int:
        """How many batches of a writer were due by then. Only with a throttle."""
        if not self.batch_interval_ns:
            return 0
        return max(0, math.floor(elapsed_ns / self.batch_interval_ns - writer / self.writers) + 1)

    def partition_of_writer(self, writer: int) -> int:
        return writer % self.partitions

    def homes(self, reader: int) -> tuple[int, ...]:
        """Partitions that a reader of any group looks at first: together they serve all, and none but one of them."""
        if self.readers_per_group >= self.partitions:
            return (reader % self.partitions,)
        return tuple(range(reader, self.partitions, self.readers_per_group))

    def as_json(self) -> dict[str, int | bool]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        return cls(**{one.name: content[one.name] for one in fields(cls)})


def plan(given: Mapping[str, object], *, duration_s: int, warm_up_s: int = 0, drain_s: int = 30) -> Plan:
    """given: parameters by name; those that are missing have their default. Raises ParameterRefused."""
    if unknown := sorted(set(given) - set(PARAMETERS)):
        raise ParameterRefused(unknown[0], given[unknown[0]], f"is no parameter; known are {', '.join(PARAMETERS)}")
    values = {name: one.read(given.get(name, one.default)) for name, one in PARAMETERS.items()}
    for name, value, least in (("duration_s", duration_s, 1), ("warm_up_s", warm_up_s, 0), ("drain_s", drain_s, 0)):
        if value < least:
            raise ParameterRefused(name, value, f"must be at least {least} s")
    values["throttle_per_s"] = values["throttle_per_s"] or 0
    made = Plan(**values, duration_s=duration_s, warm_up_s=warm_up_s, drain_s=drain_s)
    if made.write_batch * made.message_bytes > LARGEST_BATCH_BYTES:
        limit = f"{LARGEST_BATCH_BYTES // 1024**2} MiB"
        raise ParameterRefused("write_batch", made.write_batch, f"messages of this size are more than {limit} at once")
    if made.back_off and made.back_off_cap_ms < made.poll_interval_ms:
        raise ParameterRefused("back_off_cap_ms", made.back_off_cap_ms, "is shorter than poll_interval_ms")
    return made


def sessions(given: Mapping[str, object]) -> int:
    """Of writers and readers. Raises ParameterRefused for parameters that do not go together."""
    return plan(given, duration_s=1).sessions


def dealt(all_of_them: Sequence[_Card], hands: int) -> list[list[_Card]]:
    """Dealt out like cards, so that neighbours, such as the readers of one group, are in different hands."""
    return [list(all_of_them[hand::hands]) for hand in range(hands)]
