"""Ended sessions counted from what the children of a pgpool say of themselves."""

from apps.clusters.domain.show_rows import PoolProcess
from apps.clusters.polling.session_count import SessionCounter


def child(pid: int, count: int | None, started: str = "2026-11-20 17:10:00") -> PoolProcess:
    return PoolProcess(pid, started, count, "", "", "Wait for connection", is_in_use=False)


def test_the_first_look_counts_nothing() -> None:
    assert SessionCounter().count([child(1, 40)], own_ended=0) == 0


def test_a_later_watch_goes_on_from_what_was_counted() -> None:
    counter = SessionCounter(total=7)
    counter.count([child(1, 40)], own_ended=0)

    assert counter.count([child(1, 43)], own_ended=0) == 10


def test_a_recycled_child_takes_nothing_away() -> None:
    counter = SessionCounter()
    counter.count([child(1, 40), child(2, 5)], own_ended=0)

    # 2 more at the one, and 3 at the child that took the place of the other
    assert counter.count([child(1, 42), child(3, 3)], own_ended=0) == 5


def test_a_child_with_a_number_used_before_is_a_new_one() -> None:
    counter = SessionCounter()
    counter.count([child(1, 40)], own_ended=0)

    assert counter.count([child(1, 41, started="2026-11-20 18:00:00")], own_ended=0) == 41


def test_our_own_sessions_are_subtracted_also_when_they_are_counted_late() -> None:
    counter = SessionCounter()
    counter.count([child(1, 0)], own_ended=0)

    assert counter.count([child(1, 0)], own_ended=2) == 0
    assert counter.count([child(1, 5)], own_ended=0) == 3  # 5 ended, 2 of them ours


def test_a_pgpool_that_does_not_count_is_unknown_and_not_zero() -> None:
    assert SessionCounter().count([child(1, None)], own_ended=0) is None
