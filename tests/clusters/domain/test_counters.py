"""Two samples of a counter: increases, restarts, gaps."""

import pytest

from apps.clusters.domain.counters import Increase, hit_ratio, increase, increases, rate_per_s


@pytest.mark.parametrize(
    ("earlier", "later", "expected"),
    [
        (100, 130, Increase(30, is_restart=False)),
        (100, 100, Increase(0, is_restart=False)),
        (None, 130, None),
        (100, None, None),
    ],
)
def test_an_increase_needs_two_samples(earlier: int | None, later: int | None, expected: Increase | None) -> None:
    assert increase(earlier, later) == expected


def test_a_counter_that_falls_is_a_restart_and_counts_from_zero() -> None:
    assert increase(100, 7) == Increase(7, is_restart=True)


def test_counters_of_one_pgpool_restart_together() -> None:
    grown = increases({0: 5, 1: 900, 2: None}, {0: 9, 1: 20, 2: 4})

    # Backend 0 has passed its earlier 5 again, but backend 1 tells that pgpool restarted.
    assert grown == {0: Increase(9, is_restart=True), 1: Increase(20, is_restart=True), 2: None}


def test_a_new_backend_has_no_increase_yet() -> None:
    assert increases({0: 5}, {0: 9, 1: 3}) == {0: Increase(4, is_restart=False), 1: None}


@pytest.mark.parametrize(
    ("grown", "elapsed_s", "expected"),
    [
        (Increase(30, is_restart=False), 2.0, 15.0),
        (Increase(30, is_restart=True), 2.0, None),
        (None, 2.0, None),
        (Increase(30, is_restart=False), 0.0, None),
    ],
)
def test_a_rate_needs_an_increase_and_time(grown: Increase | None, elapsed_s: float, expected: float | None) -> None:
    assert rate_per_s(grown, elapsed_s) == expected


def test_the_hit_ratio_is_hits_among_all_selects() -> None:
    assert hit_ratio(Increase(3, is_restart=False), Increase(1, is_restart=False)) == 0.75


def test_without_a_select_there_is_no_hit_ratio() -> None:
    assert hit_ratio(Increase(0, is_restart=False), Increase(0, is_restart=False)) is None
    assert hit_ratio(None, Increase(1, is_restart=False)) is None
