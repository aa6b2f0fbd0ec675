"""What readers received against what the database says: lost, twice, out of order, and what nobody can know."""

from typing import Any

import pytest

from apps.benchmarks.domain.pubsub_accounting import Delivery, account, is_exactly_once

NOTHING_WRONG = {
    "lost": 0, "twice": 0, "out_of_order": 0, "unconfirmed": 0, "behind": 0, "undone": 0,
}  # fmt: skip


def received(first: int, upto: int, at_ns: int, *, committed: bool = True, partition: int = 0) -> Delivery:
    return Delivery(0, partition, first, upto, at_ns, committed)


@pytest.mark.parametrize(
    ("deliveries", "end", "position", "expected"),
    [
        # All of 1 to 10 in order.
        ([received(1, 6, 1), received(6, 11, 2)], 11, 11, {}),
        # 6 and 7 were claimed and committed, and nobody has them.
        ([received(1, 6, 1), received(8, 11, 2)], 11, 11, {"lost": 2}),
        # 4 and 5 came again, after 5 had come.
        ([received(1, 6, 1), received(4, 11, 2)], 11, 11, {"twice": 2, "out_of_order": 2}),
        # 1 to 5 after 6 to 10.
        ([received(6, 11, 1), received(1, 6, 2)], 11, 11, {"out_of_order": 5}),
        # Not yet read.
        ([received(1, 6, 1)], 11, 6, {"behind": 5}),
        # A reader was killed, and the database took its transaction back: another had the same once more.
        ([received(1, 6, 1, committed=False), received(1, 11, 2)], 11, 11, {}),
        # A reader was killed after its commit and before it heard of it.
        ([received(1, 6, 1, committed=False), received(6, 11, 2)], 11, 11, {"unconfirmed": 5}),
        # A reader was killed, and nobody has come to its messages again.
        ([received(1, 6, 1, committed=False)], 11, 1, {"behind": 10}),
        # The database forgot a commit, as after a failover: 6 to 10 are unread again.
        ([received(1, 6, 1), received(6, 11, 2)], 11, 6, {"undone": 5, "behind": 5}),
    ],
)
def test_each_message_is_counted_for_what_became_of_it(
    deliveries: list[Delivery], end: int, position: int, expected: dict[str, int]
) -> None:
    [found] = account(deliveries, ends={0: end}, positions={(0, 0): position})

    assert {key: dict(found)[key] for key in NOTHING_WRONG} == {**NOTHING_WRONG, **expected}
    assert found["published"] == end - 1
    wrong = {"lost", "twice", "out_of_order", "undone"} & set(expected)
    assert is_exactly_once([found]) == (not wrong)


def test_partitions_of_a_group_add_up_and_groups_stand_apart() -> None:
    positions: dict[tuple[int, int], int] = {(0, 0): 4, (0, 1): 3, (1, 0): 1, (1, 1): 1}
    deliveries = [received(1, 4, 5), received(1, 3, 1, partition=1)]

    first, second = account(deliveries, ends={0: 4, 1: 3}, positions=positions)

    assert (first["group"], first["published"], first["received"], first["behind"]) == (0, 5, 5, 0)
    assert (second["group"], second["published"], second["received"], second["behind"]) == (1, 5, 0, 5)


def test_order_is_of_each_partition_alone() -> None:
    positions: dict[tuple[int, int], int] = {(0, 0): 4, (0, 1): 4}
    deliveries: list[Any] = [received(3, 4, 9), received(1, 4, 5, partition=1), received(1, 3, 1)]

    [found] = account(deliveries, ends={0: 4, 1: 4}, positions=positions)

    assert is_exactly_once([found])
