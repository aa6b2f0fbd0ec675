"""What rounds were measured under, and what moved from one to another."""

from typing import Any

import pytest

from apps.benchmarks.domain.trend_conditions import Conditions, carried, moved, of_runs
from tests.benchmarks.comparison_scene import replicated


def at(*places: tuple[str, int], pooled: bool = False, **more: Any) -> dict[str, Any]:
    servers = [{"name": host, "host": host, "port": port} for host, port in places]
    pgpools = [{"name": "pgpool-1", "version": "4.6.1"}, {"name": "pgpool-2", "version": "4.5.2"}]
    topology = {"servers": servers, "is_through_pgpool": pooled}
    return {"topology": topology, "pgpools": pgpools, "postgresql": "15.8", **more}


def test_what_the_runs_of_a_round_tell() -> None:
    told = of_runs([at(("b", 2), ("a", 1), pooled=True, **replicated("asynchronous", level="local"))] * 2)

    assert told == Conditions("a:1, b:2", "asynchronous", "local", "15.8", "4.5.2 and 4.6.1")


def test_runs_that_differ_among_themselves_tell_all() -> None:
    assert of_runs([at(("b", 1)), at(("a", 1)), {}]).address == "a:1 and b:1"


@pytest.mark.parametrize("environments", [[], [{}], [{"topology": {}}]])
def test_runs_that_tell_nothing_tell_nothing(environments: list[dict[str, Any]]) -> None:
    assert of_runs(environments) == Conditions()


def test_an_arm_that_goes_past_the_pgpools_has_none_of_their_versions() -> None:
    assert of_runs([at(("a", 1))]).pgpool == ""


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (Conditions("a:1", "asynchronous", "on", "15.8", "4.6.1"), []),
        (Conditions(), []),  # nobody knows
        (Conditions(address="a:2"), ["measured at a:2 instead of a:1"]),
        (
            Conditions("a:1", "1 synchronous", "local", "16.1", "4.6.2"),
            [
                "replicated as 1 synchronous instead of asynchronous",
                "with synchronous_commit = local instead of on",
                "with PostgreSQL 16.1 instead of 15.8",
                "with Pgpool-II 4.6.2 instead of 4.6.1",
            ],
        ),
    ],
)
def test_what_moved_is_told_with_both(now: Conditions, words: list[str]) -> None:
    assert moved(Conditions("a:1", "asynchronous", "on", "15.8", "4.6.1"), now) == words


def test_what_a_round_does_not_tell_is_as_it_was() -> None:
    first, second, third = Conditions("a:1", postgresql="15.8"), Conditions(postgresql="16.1"), Conditions("a:2")

    assert carried([first, second, third]) == [
        first, Conditions("a:1", postgresql="16.1"), Conditions("a:2", postgresql="16.1"),
    ]  # fmt: skip
