"""Up to how many writes per second a cache pays, from pairs of slices."""

import math

import numpy as np
import pytest

from apps.query_cache.domain.write_limit import WritePair, WriteState, write_limit

RATES = (3, 9, 30, 95, 300)


def pairs(gains: dict[int, tuple[float, ...]]) -> list[WritePair]:
    """gains: rate -> gain of each pair, with 1,000 reads per second without a cache."""
    return [
        WritePair(rate, float(rate), 900, 100, 1000 * gain, 1000, 2.0, 1.5) for rate, of in gains.items() for gain in of
    ]


def test_where_the_gain_falls_to_1_is_read_off_between_the_rates() -> None:
    found = write_limit(pairs({10: (2.01, 1.99), 100: (0.505, 0.495)}))

    # 2 at 10 per s and 1/2 at 100: 1 lies in the middle of the logarithms, at 31.6.
    assert found.state is WriteState.PAYS_UP_TO
    assert found.per_s == pytest.approx(10**1.5, rel=0.01)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 10**1.5 < found.high
    assert found.sentence.startswith("The cache pays up to about 32 writes per second to its table (95 % interval ")


def test_each_rate_has_its_figures() -> None:
    found = write_limit(
        [
            WritePair(0, 0.0, 950, 50, 4000, 1000),
            WritePair(0, 0.0, 950, 50, 4100, 1000),
            WritePair(10, 9.0, 500, 500, 1000, 1000, 2.0, 1.0),
            WritePair(10, 11.0, 300, 700, 4000, 1000, 4.0, 2.0),
            WritePair(100, 100.0, 100, 900, 900, 1000),
            WritePair(100, 100.0, 100, 900, 900, 1000),
        ]
    )

    calm, ten, hundred = found.rates
    assert (calm.writes_per_s, calm.hit_ratio, calm.write_latency_ms) == (0.0, 0.95, None)
    assert (ten.writes_per_s, ten.hit_ratio) == (10.0, 0.4)  # 800 of 2,000
    assert (ten.tps, ten.gain) == (pytest.approx(2000), pytest.approx(2))  # geometric means
    assert (ten.write_latency_ms, ten.no_cache_write_latency_ms) == (3.0, 1.5)
    assert hundred.gain == pytest.approx(0.9)
    # Scatter: of the logarithms, 0.0123 around the first mean, 0.693 around the second: sqrt(2·(0.0123² + 0.693²) / 3).
    half = 3.182 * math.sqrt(2 * ((math.log(4.1 / 4) / 2) ** 2 + (math.log(4) / 2) ** 2) / 3) / math.sqrt(2)
    assert ten.gain_low == pytest.approx(2 * math.exp(-half), rel=1e-3)


@pytest.mark.parametrize(
    ("gains", "state", "words"),
    [
        ({3: (3, 3.1), 300: (1.5, 1.52)}, WriteState.PAYS_AT_ALL, "still pays at 300 writes per second to its table"),
        ({3: (0.8, 0.81), 300: (0.5, 0.51)}, WriteState.PAYS_AT_NONE, "With 3.0 writes per second to its table"),
        ({3: (1.1, 0.9), 300: (1.2, 0.95)}, WriteState.UNSURE, "cannot be told from noise"),
        ({3: (2,), 300: (0.5,)}, WriteState.UNSURE, "One block of pairs tells nothing of its noise"),
        ({3: (2, 2.1)}, WriteState.UNSURE, "One rate makes no curve"),
        ({0: (2, 2.1)}, WriteState.UNSURE, "One rate makes no curve"),
        # Twice across: nobody knows which is meant.
        ({3: (2, 2.1), 30: (0.5, 0.51), 300: (2, 2.1), 900: (0.5, 0.51)}, WriteState.UNSURE, "cannot be told"),
    ],
)
def test_without_one_crossing_it_says_what_there_is(
    gains: dict[int, tuple[float, ...]], state: WriteState, words: str
) -> None:
    found = write_limit(pairs(gains))

    assert found.state is state
    assert words in found.sentence
    assert found.per_s is None


def test_an_end_beyond_the_measured_rates_is_told_as_open() -> None:
    found = write_limit(pairs({10: (2.0, 2.02), 30: (1.3, 1.29), 100: (0.9, 1.05)}))

    assert (found.state, found.high) == (WriteState.PAYS_UP_TO, None)
    assert "to more than the 100 that were made" in found.sentence


def test_rates_that_a_slow_primary_did_not_reach_stand_at_those_that_were_made() -> None:
    slow = [WritePair(wanted, made, 9, 1, 1000 * gain, 1000) for wanted, made, gain in [
        (30, 30.0, 2.0), (30, 30.0, 2.02), (95, 62.0, 0.7), (95, 62.0, 0.71), (300, 60.0, 0.8), (300, 60.0, 0.81),
    ]]  # fmt: skip

    found = write_limit(slow)

    assert found.per_s is not None
    assert 30 < found.per_s < 60


def test_the_interval_holds_the_truth() -> None:
    """Simulated: the gain falls by half with each factor of three, and is 1 at 50 writes per second."""
    random = np.random.default_rng(11)
    held, told = 0, 0
    for _ in range(600):
        drawn = {rate: tuple(_gain(rate) * random.lognormal(0, 0.15) for _ in range(3)) for rate in RATES}
        found = write_limit(pairs(drawn))
        if found.per_s is not None:
            told += 1
            held += (found.low or 0) <= 50 <= (found.high or math.inf)

    assert told > 590
    assert 0.93 <= held / told <= 0.975


def _gain(rate: float) -> float:
    return float((rate / 50) ** (-math.log(2) / math.log(3)))
