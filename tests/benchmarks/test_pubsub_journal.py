"""What readers wrote down is read again, also what a killed one left."""

from pathlib import Path

from apps.benchmarks.domain.pubsub_accounting import Delivery
from apps.benchmarks.drivers.pubsub.journal import ENDING, Journal, deliveries, read


def test_what_was_committed_is_told_once_and_what_was_not_confirmed_is_marked(tmp_path: Path) -> None:
    first, second = (Journal(tmp_path / f"{number}{ENDING}") for number in (0, 1))
    for entry in ((1, 2, 10, 20, 5), (1, 2, 20, 25, 6)):
        first.received(*entry)
        first.committed(*entry)
    first.received(0, 255, 1, 3, 7)
    first.rolled_back(0, 255, 1, 3, 7)
    second.received(99, 0, 1, 2**40, 2**60)
    for journal in (first, second):
        journal.close()

    assert list(read(tmp_path)) == [
        Delivery(1, 2, 10, 20, 5, is_committed=True),
        Delivery(1, 2, 20, 25, 6, is_committed=True),
        Delivery(99, 0, 1, 2**40, 2**60, is_committed=False),
    ]


def test_an_entry_that_a_kill_has_cut_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / f"0{ENDING}"
    journal = Journal(path)
    journal.received(0, 0, 1, 2, 3)
    journal.committed(0, 0, 1, 2, 3)
    journal.close()

    assert list(deliveries(path.read_bytes()[:-1])) == [Delivery(0, 0, 1, 2, 3, is_committed=False)]
    assert list(deliveries(b"")) == []
