"""The mean of a rate meanwhile: by hand, and on seconds that resemble their neighbours."""

import numpy as np
import pytest

from apps.benchmarks.domain.connecting import tps_with_connecting
from apps.benchmarks.domain.running_mean import running_means

TRUTH = 100.0


def test_each_mean_is_of_all_until_then() -> None:
    assert [one.mean for one in running_means([10, 20, 60])] == [10, 15, 30]


def test_there_is_no_interval_before_two_values_a_stretch() -> None:
    found = running_means([50.0] * 20)

    assert found[18].low is None
    assert found[18].high is None
    assert (found[19].low, found[19].high) == (50, 50)


def test_the_interval_is_of_the_means_of_ten_stretches() -> None:
    # Ten stretches of two, their means 1 and 3 by turns: s = sqrt(10 / 9), half = 2.262157 × s / sqrt(10) = 0.754052
    found = running_means([1.0, 1.0, 3.0, 3.0] * 5)[-1]

    assert found.mean == 2
    assert found.low == pytest.approx(2 - 0.754052, abs=1e-6)
    assert found.high == pytest.approx(2 + 0.754052, abs=1e-6)


def test_no_rate_is_below_0() -> None:
    found = running_means([0.0] * 18 + [100.0, 100.0])[-1]

    assert found.low == 0


def alike(chance: np.random.Generator, seconds: int) -> list[float]:
    """Each second keeps half of how far the one before it was off."""
    off, found = 0.0, []
    for noise in chance.normal(0, 10, seconds):
        off = 0.5 * off + float(noise)
        found.append(TRUTH + off)
    return found


def holds(low: float | None, high: float | None) -> bool:
    assert low is not None
    assert high is not None
    return low <= TRUTH <= high


def test_the_interval_holds_the_truth_although_seconds_resemble_their_neighbours() -> None:
    chance = np.random.default_rng(20261123)
    runs = [alike(chance, 600) for _ in range(400)]

    ends = [running_means(run)[-1] for run in runs]
    held = sum(holds(end.low, end.high) for end in ends)
    # As if every second stood alone: mean ± 1.96 s / sqrt(n).
    halves = [1.96 * float(np.std(run, ddof=1)) / 600**0.5 for run in runs]
    naive = sum(abs(end.mean - TRUTH) <= half for end, half in zip(ends, halves, strict=True))

    assert 0.92 * 400 <= held <= 0.98 * 400
    assert naive < 0.80 * 400


@pytest.mark.parametrize(
    ("tps", "transactions", "connect_ms", "expected"),
    [
        (100.0, 6000, 0.0, 100.0),
        (100.0, 6000, 15_000.0, 80.0),  # 6000 / (60 + 15)
        (None, 6000, 100.0, None),
        (100.0, 0, 100.0, None),
        (100.0, 6000, None, None),
    ],
)
def test_the_rate_with_the_time_to_connect(
    tps: float | None, transactions: int, connect_ms: float | None, expected: float | None
) -> None:
    assert tps_with_connecting(tps=tps, transactions=transactions, connect_ms=connect_ms) == expected
