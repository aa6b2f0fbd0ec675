"""From which hit ratio the cache pays: real pairs, pairs of a known truth, and figures that no cache can have made."""

import math
import random
from collections.abc import Sequence

import pytest

from apps.query_cache.domain.break_even import BreakEven, State, break_even
from apps.query_cache.domain.cache_fit import CachePoint, fit

# Measured on Pgpool-II 4.3.5, shared memory, pgbench -c 4 -M simple: each run with the cache between two without it.
KEY_LOOK_UP = [
    (0.0, 10401, 15555), (0.149, 12029, 16161), (0.298, 13478, 17097), (0.45, 18915, 18783),
    (0.599, 21948, 13305), (0.801, 30945, 14225), (0.95, 36655, 16202), (1.0, 60454, 17896),
]  # fmt: skip
AGGREGATE = [
    (0.0, 691, 682), (0.151, 1210, 1038), (0.309, 1740, 1222), (0.437, 2124, 1328),
    (0.601, 2369, 1198), (0.794, 5852, 1378), (0.951, 20163, 1434), (1.0, 61579, 1347),
]  # fmt: skip
# The same aggregate with one baseline for all, measured minutes before, while the machine was slower.
UNPAIRED_SHMEM = [(0.202, 664.6), (0.397, 1098), (0.604, 1660.3), (0.802, 2068.1), (0.898, 2237.2), (1.0, 36514)]
UNPAIRED_MEMCACHED = [
    (0.0, 1047.9), (0.208, 1239.5), (0.398, 1463.6), (0.607, 2518.2), (0.797, 5552.6), (0.899, 10120.7), (1.0, 34780.7),
]  # fmt: skip


def judged(pairs: Sequence[tuple[float, float, float]]) -> BreakEven:
    return break_even([CachePoint(*one) for one in pairs])


def made(miss: float, hit: float, *, noise: float = 0.0, seed: int = 1) -> list[tuple[float, float, float]]:
    """Three blocks of a truth: costs against a read without a cache of 1 ms."""
    random_ = random.Random(seed)
    found = []
    for ratio in [0, 0.2, 0.4, 0.6, 0.8, 0.95] * 3:
        cost = ratio * hit + (1 - ratio) * miss
        on, off = (math.exp(random_.gauss(0, noise)) for _ in range(2))
        found.append((ratio, 1000 * on / cost, 1000 * off))
    return found


def test_a_key_look_up_pays_from_four_in_ten_hits() -> None:
    found = judged(KEY_LOOK_UP)

    assert found.state is State.PAYS_ABOVE
    assert found.ratio == pytest.approx(0.42, abs=0.03)  # the least squares of the experiment, without weights
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.42 < found.high
    assert found.miss_cost is not None
    assert found.miss_cost.middle == pytest.approx(1.5, abs=0.1)
    assert found.sentence == "The cache pays from 40 % hits (95 % interval 22 to 51 %)."


def test_an_aggregate_pays_nearly_at_once_and_says_that_it_may_at_any_ratio() -> None:
    found = judged(AGGREGATE)

    assert found.state is State.PAYS_ABOVE
    assert found.ratio is not None
    assert 0 < found.ratio < 0.1
    assert found.low == 0
    assert "it may pay at any ratio" in found.sentence


@pytest.mark.parametrize(("miss", "hit"), [(1.5, 0.3), (1.05, 0.02), (3.0, 0.9), (1.2, 0.5)])
def test_pairs_without_noise_give_the_truth(miss: float, hit: float) -> None:
    found = judged(made(miss, hit))

    truth = (miss - 1) / (miss - hit)
    assert found.ratio == pytest.approx(truth)
    assert (found.low, found.high) == (pytest.approx(truth, abs=1e-3), pytest.approx(truth, abs=1e-3))
    gain = found.gain(0.5)
    assert gain is not None
    assert gain.middle == pytest.approx(2 / (miss + hit))


def test_the_interval_holds_the_truth_in_95_of_100() -> None:
    """`python -m deploy.bench.break_even` looks at many more."""
    truth, held = 0.5 / 1.2, 0
    for seed in range(1000):
        crossing = fit([CachePoint(*one) for one in made(1.5, 0.3, noise=0.05, seed=seed)]).crossing()
        assert crossing is not None
        held += crossing.low <= truth <= crossing.high

    assert 930 <= held <= 970


def test_a_cache_whose_misses_cost_nothing_always_pays() -> None:
    found = judged(made(0.99, 0.2, noise=0.01))

    assert found.state is State.ALWAYS_PAYS
    assert (found.ratio, found.low) == (None, None)
    assert "pays at any hit ratio" in found.sentence


@pytest.mark.parametrize(("miss", "hit"), [(2.0, 1.3), (1.5, 1.5)])
def test_a_cache_whose_hits_cost_more_than_reads_never_pays(miss: float, hit: float) -> None:
    found = judged(made(miss, hit, noise=0.01))

    assert found.state is State.NEVER_PAYS


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (made(1.5, 0.3)[:3], "at least 4 pairs of runs, these are 3"),
        ([(0.1, 10, 12), (0.11, 10, 12), (0.9, 10, 12), (0.91, 10, 12)], "at least 3 hit ratios that differ"),
        ([(0.1, 10, 12), (0.15, 10, 12), (0.2, 10, 12), (0.25, 10, 12)], "within 15 % of one another"),
        ([(ratio, tps, 719) for ratio, tps in UNPAIRED_SHMEM], "were not measured under the same conditions"),
        ([(ratio, tps, 719) for ratio, tps in UNPAIRED_MEMCACHED], "a miss would be faster than a read without"),
        (made(1.5, -0.5), "a hit would take less than no time"),
        (made(1.2, 2.0, noise=0.01), "hits take longer"),
        (made(1.0, 1.0, noise=0.02), "no difference that can be told from noise"),
    ],
)
def test_what_no_cache_can_have_made_is_a_sentence_and_no_curve(
    pairs: list[tuple[float, float, float]], said: str
) -> None:
    pairs = [(min(ratio, 0.74), tps, other) if tps < 0 else (ratio, tps, other) for ratio, tps, other in pairs]

    found = judged([one for one in pairs if one[1] > 0])

    assert found.state is State.NOT_A_FIT
    assert said in found.sentence
    assert found.gain(0.5) is None


def test_too_noisy_for_an_answer() -> None:
    few = made(1.1, 0.75, noise=0.12, seed=3)[:6]

    found = judged(few)

    assert found.state is State.NOT_A_FIT
    assert found.ratio is None


def test_rates_that_differ_by_too_much_for_a_line_are_a_sentence() -> None:
    points = [(0, 1, 1), (0.25, 1e-6, 1e-6), (0.1, 1e12, 1e-6), (1, 1, 1e-6)]

    found = break_even([CachePoint(*one) for one in points])

    assert found.state is State.NOT_A_FIT


def test_what_the_interval_does_not_hold_is_said_to_be_of_these_pairs_alone() -> None:
    noise = (1.03, 0.97, 1.02, 0.98, 1.01, 0.99, 1.0)
    never = [
        CachePoint(h, 1000 / (1.5 - 0.495 * h) * e, 1000)
        for h, e in zip((0, 0.2, 0.4, 0.6, 0.8, 0.9, 1), noise, strict=True)
    ]

    found = break_even(never)

    assert found.state is State.NEVER_PAYS
    assert "as far as these pairs tell" in found.sentence
