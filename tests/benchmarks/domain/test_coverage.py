"""On simulated sessions whose truth is known, intervals and smallest detectable differences keep what they promise."""

from statistics import NormalDist

import numpy as np
import pytest

from apps.benchmarks.domain import intervals
from deploy.bench import statistics

TIMES = 1000
# Of 1,000 comparisons so many percent more or less are chance, once in 10,000: 3.9 * sqrt(0.95 * 0.05 / 1000).
CHANCE = NormalDist().inv_cdf(0.99995) * (0.95 * 0.05 / TIMES) ** 0.5


@pytest.mark.parametrize("session", statistics.SESSIONS, ids=lambda session: session.name)
@pytest.mark.parametrize("pairs", [6, 10])
def test_95_percent_intervals_hold_the_truth_in_93_to_97(session: statistics.Session, pairs: int) -> None:
    held = statistics.coverage(session, pairs, times=TIMES, rng=np.random.default_rng(7))

    assert 0.93 - CHANCE / 2 <= held <= 0.97 + CHANCE / 2


@pytest.mark.parametrize("session", statistics.SESSIONS, ids=lambda session: session.name)
@pytest.mark.parametrize("pairs", [3, (3, 5)])
def test_few_runs_promise_no_more_than_they_keep(session: statistics.Session, pairs: int | tuple[int, int]) -> None:
    held = statistics.coverage(session, pairs, times=TIMES, rng=np.random.default_rng(8))

    assert held >= 0.93 - CHANCE / 2


@pytest.mark.parametrize("noise_digits", [0.15, 0.5, 1.0])
@pytest.mark.parametrize(("count", "paired"), [(10, True), (20, True), (10, False), (20, False)])
def test_values_rounded_to_about_their_noise_hold_the_truth(noise_digits: float, count: int, paired: bool) -> None:
    held = statistics.coverage_of_rounded(noise_digits, count, paired=paired, times=300, rng=np.random.default_rng(11))

    # Too wide is no fault here: nobody can tell what was rounded off. Without it 20 of each side held 81 to 91 %.
    assert held >= 0.93


@pytest.mark.parametrize("session", statistics.SESSIONS[:5], ids=lambda session: session.name)
@pytest.mark.parametrize("pairs", [4, 8])
def test_the_smallest_detectable_difference_is_found_in_4_of_5(session: statistics.Session, pairs: int) -> None:
    found, _ = statistics.found_at_its_own(session, pairs, times=TIMES, rng=np.random.default_rng(9))

    assert 0.76 <= found <= 0.92


def test_what_slower_runs_are_claimed_to_be_found_is_what_is_found() -> None:
    found, claimed = statistics.found_and_claimed(
        statistics.SESSIONS[0], 8, 0.03, times=TIMES, rng=np.random.default_rng(10)
    )

    assert abs(found - claimed) < 0.08
    assert statistics.chance(0.05, 100 * (1 / 0.95 - 1), df=5) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("pairs", "cut"),
    # From the tables of the signed-rank test, two-sided, at most 4 %: 2 * P(W <= 0) = 2/64; 2/128 * 2; 2 * 5/256 ...
    [(2, None), (5, None), (6, 0), (7, 1), (8, 3)],
)
def test_as_many_averages_are_left_out_as_the_signed_rank_test_allows(pairs: int, cut: int | None) -> None:
    assert intervals.signed_rank_cut(pairs) == cut


@pytest.mark.parametrize(
    ("first", "second", "cut"),
    # P(U <= 0) = 1/20 of 3 and 3; 1/70 of 4 and 4; P(U <= 2) = 4/252 of 5 and 5
    [(2, 2, None), (3, 3, None), (4, 4, 0), (5, 5, 2)],
)
def test_as_many_differences_are_left_out_as_the_mann_whitney_test_allows(
    first: int, second: int, cut: int | None
) -> None:
    assert intervals.rank_sum_cut(first, second) == intervals.rank_sum_cut(second, first) == cut


def test_exact_and_approximate_counts_meet() -> None:
    few, many = (intervals.signed_rank_cut(pairs) for pairs in (60, 61))
    assert few is not None
    assert many is not None
    assert 15 <= many - few <= 30  # 61 more averages, of which a good third lies on either side of nothing
    exact, rough = intervals.rank_sum_cut(50, 50), intervals.rank_sum_cut(50, 51)
    assert exact is not None
    assert rough is not None
    assert 10 <= rough - exact <= 30
