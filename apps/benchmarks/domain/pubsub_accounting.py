"""Whether every message reached every group once and in order: what readers received, held against the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

# Of every partition.
FIRST_OFFSET = 1
Ranges = list[tuple[int, int]]


@dataclass(frozen=True)
class Delivery:
    """Messages of one partition with consecutive offsets, from first to before upto, that one reader received.

    at_ns: when, by the one clock of all readers, while the partition was still locked for this group.
    is_committed: whether the reader was told that its transaction had been committed. Where not (it was killed, or lost
    its session), the database alone knows.
    """

    group: int
    partition: int
    first: int
    upto: int
    at_ns: int
    is_committed: bool


class GroupAccount(TypedDict):
    """Messages of one group over all partitions.

    published: what the database holds. received: by readers that were told of their commit, repeats counted.
    lost: the group has moved past them and no reader received them. twice: received again after a commit.
    out_of_order: received after a later one of their partition. unconfirmed: received, and committed as the database
    says, by a reader that never heard so. behind: not yet read. undone: received and committed, and then taken back by
    the database, as after a failover that lost transactions.
    """

    group: int
    published: int
    received: int
    lost: int
    twice: int
    out_of_order: int
    unconfirmed: int
    behind: int
    undone: int


def account(
    deliveries: Iterable[Delivery], *, ends: Mapping[int, int], positions: Mapping[tuple[int, int], int]
) -> list[GroupAccount]:
    """ends: partition -> offset that its next message will have. positions: (group, partition) -> what is read next."""
    found: dict[tuple[int, int], list[Delivery]] = {key: [] for key in positions}
    for one in deliveries:
        found.setdefault((one.group, one.partition), []).append(one)
    groups: dict[int, GroupAccount] = {}
    for (group, partition), own in sorted(found.items()):
        total = groups.setdefault(group, _nothing(group))
        position = positions.get((group, partition), FIRST_OFFSET)
        _add(total, own, end=ends.get(partition, FIRST_OFFSET), position=position)
    return list(groups.values())


def is_exactly_once(accounts: Sequence[GroupAccount]) -> bool:
    """Nothing is said of what nobody has read yet."""
    return not any(one[key] for one in accounts for key in ("lost", "twice", "out_of_order", "undone"))


def _nothing(group: int) -> GroupAccount:
    return GroupAccount(
        group=group, published=0, received=0, lost=0, twice=0, out_of_order=0, unconfirmed=0, behind=0, undone=0
    )


def _add(total: GroupAccount, own: Sequence[Delivery], *, end: int, position: int) -> None:
    """What one partition brings to a group."""
    committed = [one for one in own if one.is_committed]
    sure = _merged((one.first, one.upto) for one in committed)
    seen = _merged((one.first, one.upto) for one in own)
    received = sum(one.upto - one.first for one in committed)
    until = (FIRST_OFFSET, position)
    total["published"] += end - FIRST_OFFSET
    total["received"] += received
    total["lost"] += max(0, position - FIRST_OFFSET) - _within(seen, until)
    total["twice"] += received - _length(sure)
    total["out_of_order"] += _out_of_order(committed)
    total["unconfirmed"] += _within(seen, until) - _within(sure, until)
    total["behind"] += max(0, end - position)
    total["undone"] += _length(sure) - _within(sure, until)


def _out_of_order(committed: Sequence[Delivery]) -> int:
    count = 0
    highest = FIRST_OFFSET
    for one in sorted(committed, key=lambda each: each.at_ns):
        count += max(0, min(one.upto, highest) - one.first)
        highest = max(highest, one.upto)
    return count


def _merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same offsets as ranges that neither touch nor overlap, ascending."""
    found: Ranges = []
    for first, upto in sorted(ranges):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], upto))
        else:
            found.append((first, upto))
    return found


def _length(ranges: Ranges) -> int:
    return sum(upto - first for first, upto in ranges)


def _within(ranges: Ranges, limits: tuple[int, int]) -> int:
    return sum(max(0, min(upto, limits[1]) - max(first, limits[0])) for first, upto in ranges)
