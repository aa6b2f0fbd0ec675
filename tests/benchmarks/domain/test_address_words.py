"""Runs that were asked to be the same, and what they tell of the servers that they found."""

from typing import Any

import pytest

from apps.benchmarks.domain import address_words


def at(*servers: tuple[str, int]) -> dict[str, Any]:
    """The environment of a run that was measured at them."""
    return {"topology": {"servers": [{"name": "any", "host": host, "port": port} for host, port in servers]}}


OLD, NEW = at(("127.0.0.1", 6432)), at(("10.9.9.9", 6432))


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (OLD, "127.0.0.1:6432"),
        (at(("10.0.0.2", 9999), ("10.0.0.1", 9999)), "10.0.0.1:9999, 10.0.0.2:9999"),
        ({"topology": {"key": "primary"}}, ""),
        ({}, ""),
    ],
)
def test_a_run_tells_its_address_whatever_the_order_of_its_servers(environment: dict[str, Any], expected: str) -> None:
    assert address_words.of_run(environment) == expected


def test_an_arm_that_moved_is_found_and_named_with_both_addresses() -> None:
    [found] = address_words.of_arm("bouncer-1", [OLD, OLD, {}, NEW])

    assert (found["check"], found["ok"]) == ("address_differs", False)
    assert found["sentence"] == (
        "The runs of bouncer-1 were measured at different addresses (2 runs: 127.0.0.1:6432; 1 run: 10.9.9.9:6432): "
        "that is a difference, too."
    )
    assert address_words.of_arm("bouncer-1", [OLD, {}, OLD]) == []


def test_the_address_is_a_condition_only_of_a_topology_that_moved() -> None:
    runs = [("endpoint:bouncer-1", OLD), ("primary", NEW), ("endpoint:bouncer-1", NEW), ("endpoint:bouncer-1", {})]

    assert address_words.conditions(runs) == [
        "127.0.0.1:6432", None, "10.9.9.9:6432", "an address that is not known"
    ]  # fmt: skip
    assert address_words.conditions([("primary", OLD), ("primary", {})]) == [None, None]
