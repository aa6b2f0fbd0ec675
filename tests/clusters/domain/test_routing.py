"""The verdict on one pgpool: its bands, its states and its sentences."""

from datetime import UTC, datetime

import pytest

from apps.clusters.domain.routing import Condition, RoutingState
from tests.clusters.domain.verdicts import HALVES, judged


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
