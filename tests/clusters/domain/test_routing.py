"""The verdict: its bands, its states and its sentences."""

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np
import pytest

from apps.clusters.domain.routing import (
    Condition,
    InstanceReading,
    RoutingState,
    Verdict,
    effective_sessions,
    pooled_verdict,
    verdict,
)

NAMES = {0: "pg1", 1: "pg2", 2: "pg3"}
THIRDS = {0: 0.0, 1: 1.0, 2: 2.0}
HALVES = {0: 0.0, 1: 0.5, 2: 0.5}


def judged(
    select_counts: Mapping[int, int],
    *,
    weights: Mapping[int, float] = THIRDS,
    sessions: float | None = 5000,
    statement_level: bool = False,
    conditions: Mapping[int, Condition] | None = None,
    off_since: datetime | None = None,
    window_s: float | None = 300,
) -> Verdict:
    return verdict(
        weights=weights,
        select_counts=select_counts,
        sessions=sessions,
        statement_level=statement_level,
        names=NAMES,
        conditions=conditions,
        window_s=window_s,
        off_since=off_since,
    )


def test_reads_inside_the_tolerance_follow_the_weights() -> None:
    found = judged({0: 0, 1: 334, 2: 666})

    assert found.state is RoutingState.FOLLOWS
    assert found.sentence == "Reads follow the weights: 33.4 / 66.6 vs 33 / 67."


def test_few_sessions_allow_a_wide_band() -> None:
    found = judged({0: 0, 1: 3800, 2: 6200}, sessions=41)

    assert found.state is RoutingState.WITHIN_NOISE
    # 1.96 * sqrt(1/3 * 2/3 / 41) = 0.144
    assert found.sentence == "Within noise: 38 / 62 vs 33 / 67, 41 sessions in 5 min allow ±14."
    assert found.nodes[1].low == pytest.approx(1 / 3 - 0.1443, abs=1e-4)
    assert found.nodes[1].high == pytest.approx(1 / 3 + 0.1443, abs=1e-4)


def test_six_sessions_are_too_few_whatever_they_read() -> None:
    found = judged({0: 0, 1: 90000, 2: 10}, sessions=6)

    assert found.state is RoutingState.TOO_LITTLE_TRAFFIC
    assert found.sentence == "Too little traffic to tell: 6 sessions in 5 min."


def test_ten_sessions_are_enough() -> None:
    assert judged({0: 0, 1: 30, 2: 70}, sessions=10).state is RoutingState.WITHIN_NOISE


def test_sessions_without_reads_are_no_traffic() -> None:
    found = judged({0: 0, 1: 0, 2: 0}, sessions=400)

    assert found.sentence == "Too little traffic to tell: no sessions in 5 min."
    assert [node.observed_share for node in found.nodes] == [None, None, None]


def test_a_lagging_standby_is_named_as_the_cause() -> None:
    found = judged(
        {0: 120, 1: 213, 2: 667},
        conditions={1: Condition(is_lagging=True)},
        off_since=datetime(2026, 3, 17, 14, 2, tzinfo=UTC),
    )

    assert found.state is RoutingState.OFF
    # 213 / 1000 - 1 / 3 = -0.120; the primary gets those 12 points, but the lag explains them.
    assert found.sentence == (
        "Off: pg2 gets 12 points less than its weight since 14:02; its replay lag is over delay_threshold."
    )


def test_the_lag_is_printed_when_it_is_known() -> None:
    found = judged({0: 120, 1: 213, 2: 667}, conditions={1: Condition(is_lagging=True, lag_text="8.1 s")})

    assert found.sentence.endswith("; its replay lag (8.1 s) is over delay_threshold.")


def test_a_lag_that_is_over_is_told_with_its_end() -> None:
    past = {1: Condition(lagged_until=datetime(2026, 3, 17, 14, 2, tzinfo=UTC))}

    found = judged({0: 120, 1: 213, 2: 667}, conditions=past)

    assert found.sentence == (
        "Off: pg2 gets 12 points less than its weight; its replay lag was over delay_threshold until 14:02."
    )


def test_a_lagging_standby_that_gets_its_reads_is_no_trouble() -> None:
    assert judged({0: 0, 1: 334, 2: 666}, conditions={1: Condition(is_lagging=True)}).state is RoutingState.FOLLOWS


def test_a_backend_of_weight_zero_is_off_above_one_percent() -> None:
    assert judged({0: 10, 1: 330, 2: 660}).state is RoutingState.FOLLOWS

    found = judged({0: 50, 1: 317, 2: 633}, conditions={0: Condition(is_primary=True)})

    assert found.state is RoutingState.OFF
    assert found.sentence == (
        "Off: pg1 gets 5 % of the reads at weight 0; the primary also takes the reads that cannot be balanced."
    )


def test_a_backend_that_is_down_leaves_its_share_to_the_others() -> None:
    found = judged({0: 0, 1: 1000, 2: 0}, conditions={2: Condition(is_up=False)})

    assert found.state is RoutingState.FOLLOWS
    assert found.sentence == "Reads follow the weights: 100 vs 100; pg3 is down."
    assert found.nodes[1].weight_share == pytest.approx(1 / 3)
    assert found.nodes[1].effective_share == 1
    assert found.nodes[2].effective_share == 0
    assert found.nodes[2].state is RoutingState.DOWN


def test_a_window_in_which_a_backend_went_down_is_judged_among_the_others() -> None:
    # Weights 1 : 1 : 2. Before the fall 100 / 100 / 200, after it 300 / 300 / 0.
    found = judged({0: 400, 1: 400, 2: 200}, weights={0: 1.0, 1: 1.0, 2: 2.0}, conditions={2: Condition(is_up=False)})

    assert found.state is RoutingState.FOLLOWS
    assert found.nodes[0].observed_share == pytest.approx(0.4)


def test_no_weight_that_is_up_is_off() -> None:
    found = judged({0: 1000, 1: 0, 2: 0}, conditions={1: Condition(is_up=False), 2: Condition(is_up=False)})

    assert found.state is RoutingState.OFF
    assert found.sentence == "Off: no backend with a weight above 0 is up; pg2 and pg3 are down."


def test_weights_that_are_all_zero_are_off() -> None:
    found = judged({0: 1000}, weights={0: 0.0, 1: 0.0, 2: 0.0})

    assert found.sentence == "Off: all weights are 0, so pgpool sends every read to one backend."


def test_uncounted_sessions_cannot_be_judged() -> None:
    found = judged({0: 2, 1: 112234, 2: 142076}, sessions=None)

    assert found.state is RoutingState.TOO_LITTLE_TRAFFIC
    assert found.sentence.startswith("Cannot tell: sessions are not counted")
    assert found.nodes[1].low is None
    assert found.nodes[1].observed_share == pytest.approx(112234 / 254312)


def test_at_statement_level_every_read_is_a_draw() -> None:
    found = judged({0: 2, 1: 112234, 2: 142076}, weights=HALVES, sessions=None, statement_level=True)

    assert found.state is RoutingState.OFF  # 5.9 points off with 254312 draws
    assert judged({0: 0, 1: 38, 2: 62}, sessions=None, statement_level=True).sentence == (
        "Within noise: 38 / 62 vs 33 / 67, 100 reads in 5 min allow ±9.2."
    )


def test_ten_sessions_of_a_real_benchmark_are_within_noise() -> None:
    found = judged({0: 2, 1: 112234, 2: 142076}, weights=HALVES, sessions=10, window_s=None)

    assert found.state is RoutingState.WITHIN_NOISE
    assert found.sentence == "Within noise: 44 / 56 vs 50 / 50, 10 sessions allow ±31."  # 1.96 * sqrt(0.25 / 10)


def test_a_small_share_does_not_read_as_nothing() -> None:
    found = judged({0: 4, 1: 400, 2: 596}, weights={0: 4.0, 1: 400.0, 2: 596.0})

    assert found.sentence == "Reads follow the weights: 0.4 / 40.0 / 59.6 vs 0.4 / 40.0 / 59.6."


def reading(name: str, select_counts: Mapping[int, int], sessions: float | None = 2000) -> InstanceReading:
    return InstanceReading(name, THIRDS, select_counts, sessions)


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


@pytest.mark.parametrize(
    ("reads", "effective"),
    [([5, 5, 5, 5], 4), ([1], 1), ([], 0), ([0, 0], 0), ([9, 1], 100 / 82)],
)
def test_unequal_sessions_count_for_less(reads: list[float], effective: float) -> None:
    assert effective_sessions(reads) == pytest.approx(effective)


@pytest.mark.parametrize(("share", "sigma", "sessions"), [(0.5, 0.5, 60), (1 / 3, 1.0, 200), (0.2, 1.2, 800)])
def test_the_band_holds_95_of_100_windows_of_very_unequal_sessions(share: float, sigma: float, sessions: int) -> None:
    random = np.random.default_rng(20261121)
    windows = 4000
    inside = 0
    for _ in range(windows):
        reads = np.ceil(random.lognormal(5, sigma, sessions))
        first = reads[random.random(sessions) < share].sum()
        found = judged(
            {1: int(first), 2: int(reads.sum() - first)},
            weights={1: share, 2: 1 - share},
            sessions=effective_sessions(reads.tolist()),
        )
        node = found.nodes[0]
        assert node.low is not None
        assert node.high is not None
        assert node.observed_share is not None
        inside += node.low <= node.observed_share <= node.high

    assert 0.93 <= inside / windows <= 0.97


def test_three_pgpools_that_follow_raise_few_false_alarms() -> None:
    random = np.random.default_rng(7)
    windows, off = 2000, 0
    for _ in range(windows):
        readings = []
        for name in ("a", "b", "c"):
            first = int(random.binomial(300, 1 / 3))
            readings.append(reading(name, {1: first * 20, 2: (300 - first) * 20}, sessions=300))
        off += pooled_verdict(readings, statement_level=False).state is RoutingState.OFF

    assert off / windows < 0.07  # together 5 %, and 1 % that one of the three stands out alone
