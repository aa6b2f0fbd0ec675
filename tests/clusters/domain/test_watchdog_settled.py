"""What the watchdogs agree on, and what is told when that changes."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from apps.clusters.domain.watchdog import Watchdog
from apps.clusters.domain.watchdog_settled import Settled, changes, settled
from tests.clusters.domain.test_watchdog import NAMES, NODE_NAMES, told

ONE, TWO, THREE = (NODE_NAMES[name] for name in NAMES)
ALL_UP = Settled(ONE, has_quorum=True)


def trio(scene: str, *pgpools: str) -> list[Watchdog]:
    return [told(scene, pgpool) for pgpool in pgpools or NAMES]


def titles(before: Settled, seen: Sequence[Watchdog]) -> list[str]:
    now = settled(seen, before)
    assert now is not None
    names = {node: name for name, node in NODE_NAMES.items()}
    return [each.title for each in changes(before, now, seen, lambda node: names.get(node, node))]


def test_a_trio_that_agrees_is_settled() -> None:
    assert settled(trio("all-up"), None) == ALL_UP
    assert settled([], None) is None
    assert titles(ALL_UP, trio("all-up")) == []


@pytest.mark.parametrize(
    ("scene", "pgpools", "told_of_it"),
    [
        ("one-frozen", ("pgpool-1", "pgpool-3"), ["The watchdog lost pgpool-2"]),
        ("one-stopped", ("pgpool-1", "pgpool-2"), ["pgpool-3 left the watchdog"]),
        ("leader-killed", ("pgpool-2", "pgpool-3"), ["The watchdog lost pgpool-1", "pgpool-2 leads the watchdog"]),
        (
            "two-killed",
            ("pgpool-3",),
            [
                "The watchdog lost pgpool-1",
                "The watchdog lost pgpool-2",
                "pgpool-3 leads the watchdog",
                "The watchdog lost its quorum",
            ],
        ),
    ],
)
def test_what_real_watchdogs_tell_is_told_once_and_its_end_too(
    scene: str, pgpools: Sequence[str], told_of_it: list[str]
) -> None:
    seen = trio(scene, *pgpools)
    after = settled(seen, ALL_UP)
    assert after is not None

    assert titles(ALL_UP, seen) == told_of_it
    assert titles(after, seen) == []
    back = titles(after, trio("all-up"))
    assert ("The watchdog has a quorum again" in back) == ("The watchdog lost its quorum" in told_of_it)
    assert sum(each.endswith(" again") for each in back) == sum("lost" in each or "left" in each for each in told_of_it)


def test_the_details_say_who_holds_it_for_what() -> None:
    seen = trio("two-killed", "pgpool-3")
    now = settled(seen, ALL_UP)
    assert now is not None
    names = {node: name for name, node in NODE_NAMES.items()}

    lost, _, leads, quorum = changes(ALL_UP, now, seen, lambda node: names[node])

    assert lost.detail == "Held for lost by pgpool-3. It has no part in failovers, and learns of none."
    assert (lost.node, lost.is_problem, leads.is_problem) == (ONE, True, False)
    assert leads.detail == "Before, pgpool-1 did."
    assert quorum.detail.startswith("1 of 3 pgpools is alive, 2 make a quorum. No failover is carried out")


def test_nothing_is_told_while_the_watchdog_settles() -> None:
    assert settled(trio("electing", "pgpool-2", "pgpool-3"), ALL_UP) == ALL_UP
    late = [*trio("leader-killed", "pgpool-2"), *trio("all-up", "pgpool-3")]
    assert settled(late, ALL_UP) == ALL_UP


def test_one_that_is_cut_off_does_not_speak_for_those_who_have_the_quorum() -> None:
    [one, *_] = trio("all-up")
    lost = tuple(replace(node, state="lost") for node in one.nodes[1:])
    cut_off = replace(one, quorum="absent", nodes=(one.own, *lost))

    assert titles(ALL_UP, [cut_off, *trio("leader-killed", "pgpool-2", "pgpool-3")]) == [
        "The watchdog lost pgpool-1",
        "pgpool-2 leads the watchdog",
    ]


def test_one_that_was_taken_from_the_list_is_not_told_to_be_back() -> None:
    before = replace(ALL_UP, gone=frozenset({"gone:9999 Linux gone"}))

    assert titles(before, trio("all-up")) == []


def test_a_leader_that_is_not_known_for_a_moment_is_no_change() -> None:
    nobody = [replace(each, leader_name="", quorum="no leader") for each in trio("all-up")]

    assert titles(ALL_UP, nobody) == ["The watchdog lost its quorum"]
    assert settled(nobody, ALL_UP) == replace(ALL_UP, has_quorum=False)
