"""Figures that only one kind of load has: their names end in their unit, and so they are told."""

import pytest

from apps.benchmarks.domain import own_words


@pytest.mark.parametrize(
    ("name", "value", "row"),
    [
        ("average_connection_ms", 1.25, ("average connection", "1.25 ms")),
        ("published_per_s", 5012.4, ("published", "5,012 per s")),
        ("published_mib_per_s", 4.894, ("published", "4.89 MiB/s")),
        ("message_bytes", 1024, ("message", "1,024 B")),
        ("drained_s", 0.5, ("drained", "0.50 s")),
        ("empty_share", 0.256, ("empty", "25.6 %")),
        ("is_exactly_once", True, ("exactly once", "yes")),
        ("unsent", 12345, ("unsent", "12,345")),
        ("clock", "CLOCK_MONOTONIC", ("clock", "CLOCK_MONOTONIC")),
    ],
)
def test_a_figure_is_told_in_its_unit(name: str, value: object, row: tuple[str, str]) -> None:
    [(what, said)] = own_words.rows({name: value})

    assert (what, said.replace("\u00a0", " ")) == row


def test_what_is_inside_has_the_unit_around_it_and_a_count_has_none() -> None:
    found = own_words.rows({"publish_ms": {"count": 500, "p95": 7.44, "p999": None}})

    assert [(what, said.replace("\u00a0", " ")) for what, said in found] == [
        ("publish: count", "500"),
        ("publish: p95", "7.44 ms"),
    ]


def test_each_of_several_is_told_with_its_number() -> None:
    found = own_words.rows({"groups": [{"lag_s": 1.0}, {"lag_s": 2.0}], "empty": [], "unknown": None})

    assert [(what, said.replace("\u00a0", " ")) for what, said in found] == [
        ("groups 1: lag", "1.00 s"),
        ("groups 2: lag", "2.00 s"),
    ]
