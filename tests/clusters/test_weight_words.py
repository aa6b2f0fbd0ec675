"""Weights are told as shares of new sessions, with the names of the backends."""

import pytest

from apps.clusters.queries.weight_words import change_text, integers_text, shares_text

NAMES = {0: "pg1", 1: "pg2", 2: "pg3"}
EVEN = {"0": 0, "1": 500, "2": 500}
SKEWED = {"0": 0, "1": 1, "2": 3}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (EVEN, SKEWED, "pg1 0 %, pg2 50 %, pg3 50 % → 0 %, 25 %, 75 %"),
        (EVEN, {"0": 0, "1": 1, "2": 1}, "pg1 0 %, pg2 50 %, pg3 50 %, as before"),  # other integers, same shares
        ({}, SKEWED, "pg1 0 %, pg2 25 %, pg3 75 %"),  # nobody knows what was there
        ({"0": 0, "1": 0, "2": 0}, SKEWED, "all weights 0 → 0 %, 25 %, 75 %"),
        ({"0": 1, "1": 1}, SKEWED, "pg1 50 %, pg2 50 % → pg1 0 %, pg2 25 %, pg3 75 %"),  # a backend came
    ],
)
def test_a_change_names_the_backends_once(before: dict[str, float], after: dict[str, float], told: str) -> None:
    everywhere = change_text({"a": before, "b": before}, {"a": after, "b": after}, NAMES)

    assert everywhere == told


def test_a_change_is_told_per_pgpool_where_it_differs() -> None:
    told = change_text({"a": EVEN, "b": SKEWED}, {"a": SKEWED, "b": SKEWED}, NAMES)

    assert told == "a: pg1 0 %, pg2 50 %, pg3 50 % → 0 %, 25 %, 75 %; b: pg1 0 %, pg2 25 %, pg3 75 %, as before"


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ({"1": 1, "2": 2}, "pg2 33.3 %, pg3 66.7 %"),
        ({"1": 1, "2": 1_000_000}, "pg2 <0.1 %, pg3 100 %"),  # a weight above 0 is not told as 0
        ({"7": 1}, "backend 7 100 %"),  # no longer registered
    ],
)
def test_shares_are_told_in_tenths_of_a_percent(weights: dict[str, float], told: str) -> None:
    assert shares_text({"a": weights}, NAMES) == told


def test_integers_are_told_as_they_stand_in_the_file() -> None:
    assert integers_text({"a": EVEN, "b": EVEN}) == "0 / 500 / 500"
    assert integers_text({"a": EVEN, "b": SKEWED}) == "a: 0 / 500 / 500; b: 0 / 1 / 3"
