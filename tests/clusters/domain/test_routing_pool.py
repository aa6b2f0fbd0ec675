"""The verdict on several pgpools: judged together, and the one named that deviates."""

from apps.clusters.domain.routing import InstanceReading, RoutingState, pooled_verdict, verdict
from tests.clusters.domain.verdicts import NAMES, THIRDS, reading


def test_pgpools_are_judged_together() -> None:
    found = pooled_verdict(
        [reading("pgpool-1", {1: 340, 2: 660}), reading("pgpool-2", {1: 328, 2: 672})],
        statement_level=False,
        names=NAMES,
    )

    assert found.sentence == "Reads follow the weights: 33.4 / 66.6 vs 33 / 67."
    assert found.sessions == 4000
    assert found.reads == 2000


def test_a_pgpool_that_deviates_alone_is_named() -> None:
    found = pooled_verdict(
        [reading("pgpool-1", {1: 3000, 2: 6000}), reading("pgpool-2", {1: 500, 2: 500})],
        statement_level=False,
        names=NAMES,
    )

    assert found.state is RoutingState.OFF
    assert found.sentence == (
        "Off at pgpool-2: pg3 gets 17 points less than its weight; over all pgpools 35.0 / 65.0 vs 33 / 67."
    )


def test_the_pgpool_that_is_most_off_is_named_when_all_are() -> None:
    found = pooled_verdict(
        [reading("pgpool-1", {1: 500, 2: 500}), reading("pgpool-2", {1: 900, 2: 100})],
        statement_level=False,
        names=NAMES,
    )

    assert found.sentence.startswith("Off: pg3 gets 37 points less than its weight")  # 600 / 2000 - 2 / 3
    assert found.sentence.endswith(", most of all at pgpool-2.")


def test_none_is_named_when_all_pgpools_are_off_alike() -> None:
    found = pooled_verdict(
        [reading("pgpool-1", {1: 500, 2: 500}), reading("pgpool-2", {1: 510, 2: 490})],
        statement_level=False,
        names=NAMES,
    )

    assert found.sentence == "Off: pg3 gets 17 points less than its weight."


def test_different_weights_are_wanted_as_a_mixture() -> None:
    mixed = [
        InstanceReading("pgpool-1", {0: 1, 1: 0}, {0: 1000, 1: 0}, 500),
        InstanceReading("pgpool-2", {0: 0, 1: 1}, {0: 0, 1: 3000}, 1500),
    ]

    found = pooled_verdict(mixed, statement_level=False)

    assert found.state is RoutingState.FOLLOWS
    assert [node.effective_share for node in found.nodes] == [0.25, 0.75]


def test_a_pgpool_without_counted_sessions_is_left_out_and_named() -> None:
    found = pooled_verdict(
        [reading("pgpool-1", {1: 334, 2: 666}), reading("pgpool-2", {1: 900, 2: 100}, sessions=None)],
        statement_level=False,
    )

    assert found.sentence == ("Reads follow the weights: 33.4 / 66.6 vs 33 / 67. Sessions of pgpool-2 are not counted.")


def test_one_of_several_pgpools_is_called_off_only_when_it_stands_out() -> None:
    counts = {1: 2900, 2: 7100}  # 4.3 points off; 1.96 * sqrt(2 / 9 / 500) allows 4.1, 99 % of three allow 6.2
    alone = verdict(weights=THIRDS, select_counts=counts, sessions=500, statement_level=False)
    beside = verdict(weights=THIRDS, select_counts=counts, sessions=500, statement_level=False, comparisons=3)

    assert alone.state is RoutingState.OFF
    assert beside.state is RoutingState.WITHIN_NOISE


def test_no_reading_at_all_is_too_little() -> None:
    assert pooled_verdict([], statement_level=False).state is RoutingState.TOO_LITTLE_TRAFFIC
