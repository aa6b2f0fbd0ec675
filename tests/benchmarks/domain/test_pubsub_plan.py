"""Pub/sub runs as asked for: who serves what, when batches are due, how long readers wait."""

from typing import Any

import pytest

from apps.benchmarks.domain.pubsub_plan import NS_PER_S, Plan, dealt, plan
from apps.benchmarks.domain.pubsub_waits import Waits
from apps.benchmarks.domain.workload_parameters import ParameterRefused


def planned(**given: Any) -> Plan:
    return plan(given, duration_s=10)


def test_what_is_not_asked_for_has_its_default() -> None:
    found = planned(throttle_per_s=None)

    assert (found.writers, found.groups, found.readers_per_group, found.partitions) == (4, 5, 4, 4)
    assert (found.throttle_per_s, found.back_off) == (0, False)
    assert found.sessions == 4 + 5 * 4
    assert Plan.from_json(found.as_json()) == found


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"writers": 0}, "writers"),
        ({"writers": True}, "writers"),
        ({"message_bytes": 0}, "message_bytes"),
        ({"back_off": 1}, "back_off"),
        ({"throttle_per_s": 0}, "throttle_per_s"),
        ({"write_batch": 10_000, "message_bytes": 1024 * 1024}, "write_batch"),  # 10 GB at once
        ({"back_off": True, "poll_interval_ms": 500, "back_off_cap_ms": 100}, "back_off_cap_ms"),
        ({"speed": 3}, "speed"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given: dict[str, Any], path: str) -> None:
    with pytest.raises(ParameterRefused) as refused:
        planned(**given)

    assert refused.value.path == path


def test_a_run_without_time_is_refused() -> None:
    with pytest.raises(ParameterRefused):
        plan({}, duration_s=0)


@pytest.mark.parametrize(("partitions", "readers"), [(1, 1), (4, 4), (4, 2), (5, 3), (2, 7), (256, 3)])
def test_the_readers_of_a_group_look_at_all_partitions_first_and_at_none_twice_unless_they_are_more(
    partitions: int, readers: int
) -> None:
    found = planned(partitions=partitions, readers_per_group=readers)

    homes = [home for reader in range(readers) for home in found.homes(reader)]

    assert set(homes) == set(range(partitions))
    assert len(homes) == max(partitions, readers)


def test_batches_of_all_writers_together_come_at_the_throttle() -> None:
    found = planned(writers=3, write_batch=10, throttle_per_s=600)  # 60 batches per second: one each 16.7 ms

    due = sorted(found.due_ns(writer, number) for writer in range(3) for number in range(20))

    assert [round(at / NS_PER_S * 60, 6) for at in due] == list(range(60))


@pytest.mark.parametrize("elapsed_s", [0, 0.01, 0.5, 1.0, 2.0])
def test_what_was_due_by_a_moment_is_what_is_due_until_then(elapsed_s: float) -> None:
    found = planned(writers=3, write_batch=10, throttle_per_s=600)
    elapsed_ns = int(elapsed_s * NS_PER_S) + 1

    for writer in range(3):
        count = found.due_until(writer, elapsed_ns)
        assert found.due_ns(writer, count) > elapsed_ns
        assert count == 0 or found.due_ns(writer, count - 1) <= elapsed_ns
    assert found.due_until(0, -1) == 0


def test_without_a_throttle_nothing_is_due_by_itself() -> None:
    assert planned().batch_interval_ns is None
    assert planned().due_until(0, NS_PER_S) == 0


def test_dealt_like_cards_neighbours_are_in_different_hands() -> None:
    assert dealt(range(5), 2) == [[0, 2, 4], [1, 3]]


def test_a_full_batch_is_followed_at_once_and_a_plain_reader_waits_the_same_each_time() -> None:
    waits = Waits(planned(poll_interval_ms=20, read_batch=5))

    assert [waits.after(received) for received in (5, 3, 0, 0, 0)] == [0.0, 0.02, 0.02, 0.02, 0.02]
    assert waits.polls_saved == 0


def test_one_that_backs_off_waits_twice_as_long_after_each_empty_poll_up_to_the_cap() -> None:
    waits = Waits(planned(poll_interval_ms=10, back_off=True, back_off_cap_ms=50))

    assert [waits.after(0) for _ in range(5)] == [0.01, 0.02, 0.04, 0.05, 0.05]
    assert waits.polls_saved == 0 + 1 + 3 + 4 + 4  # in 20 ms a plain reader asks twice, and so on
    assert waits.after(1) == 0.01
    assert waits.after(0) == 0.01


def test_waiting_has_its_cap_however_long_nothing_comes() -> None:
    waits = Waits(planned(back_off=True, back_off_cap_ms=600_000))

    assert max(waits.after(0) for _ in range(5000)) == 600
