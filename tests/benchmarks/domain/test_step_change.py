"""A campaign tells a step from a noisy night, and only what was measured twice."""

from itertools import pairwise

import numpy as np
import pytest

from apps.benchmarks.domain.step_change import Change, judge, walk
from deploy.bench.nights import Nights, false_alarms, found_within_two

QUIET = [1000.0, 1004.0, 998.0, 1002.0, 996.0, 1001.0, 1003.0, 999.0]


def test_before_seven_rounds_it_is_too_early() -> None:
    assert judge(QUIET[:6], [500.0], margin_percent=5).change is Change.TOO_EARLY
    assert judge(QUIET[:7], [500.0], margin_percent=5).change is Change.SUSPECTED


def test_a_round_outside_is_suspected_and_confirmed_by_another() -> None:
    first = judge(QUIET, [950.0], margin_percent=5)
    assert (first.change, round(first.change_percent or 0, 1)) == (Change.SUSPECTED, -5.0)
    assert judge(QUIET, [950.0, 948.0], margin_percent=5).change is Change.CONFIRMED
    assert judge(QUIET, [950.0, 1001.0], margin_percent=5).change is Change.NONE
    assert judge(QUIET, [950.0, 1050.0], margin_percent=5).change is Change.NONE  # outside, but on the other side
    assert judge(QUIET, [1050.0, 1052.0], margin_percent=5).change is Change.CONFIRMED  # faster is a step, too


def test_what_is_smaller_than_half_of_what_matters_is_none() -> None:
    assert judge(QUIET, [980.0], margin_percent=5).change is Change.NONE
    assert judge(QUIET, [980.0], margin_percent=1).change is Change.SUSPECTED


def test_one_bad_round_among_the_quiet_ones_hides_nothing() -> None:
    assert judge([*QUIET, 600.0], [950.0], margin_percent=5).change is Change.SUSPECTED


def test_noisier_rounds_need_a_larger_step() -> None:
    limits = [
        judge([1000 * (1 + factor * (rate / 1000 - 1)) for rate in QUIET], [1000.0], margin_percent=1).limit_percent
        for factor in (1, 5, 10)
    ]
    assert all(low is not None and high is not None and low < high for low, high in pairwise(limits))


def test_after_a_confirmed_step_rounds_are_held_against_the_new_level() -> None:
    rounds = [*((False, rate) for rate in QUIET), (False, 900.0), (True, 902.0), (False, 901.0)]

    judged = walk(rounds, margin_percent=5)

    changes = [one.change for one in judged if one is not None]
    assert changes[-3:] == [Change.SUSPECTED, Change.CONFIRMED, Change.TOO_EARLY]
    assert judged[-1] is not None
    assert judged[-1].before == 2


def test_the_next_round_confirms_where_nothing_was_measured_again() -> None:
    rounds = [*((False, rate) for rate in QUIET), (False, None), (False, 900.0), (False, None), (False, 902.0)]

    judged = walk(rounds, margin_percent=5)

    assert [None if one is None else one.change for one in judged[-4:]] == [
        None,
        Change.SUSPECTED,
        None,
        Change.CONFIRMED,
    ]


def test_a_suspicion_that_is_not_confirmed_is_forgotten() -> None:
    rounds = [*((False, rate) for rate in QUIET), (False, 900.0), (True, 1000.0), (False, 1002.0)]

    assert [one.change for one in walk(rounds, margin_percent=5)[-3:] if one] == [
        Change.SUSPECTED,
        Change.NONE,
        Change.NONE,
    ]


@pytest.mark.parametrize("spread", [0.003, 0.006, 0.010])
@pytest.mark.parametrize("before", [7, 14])
def test_a_quiet_night_in_a_hundred_is_told_at_most_and_5_percent_within_two_nights(spread: float, before: int) -> None:
    rng, nights = np.random.default_rng(11), Nights(spread)

    assert false_alarms(nights, before, times=1000, rng=rng) <= 0.01 + 0.005  # and its chance
    assert found_within_two(nights, before, -0.05, times=300, rng=rng) >= 0.88
