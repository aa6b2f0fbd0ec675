"""How often the verdict is right: bands that hold what they promise, over thousands of windows."""

import numpy as np
import pytest

from apps.clusters.domain.routing import RoutingState, effective_sessions, pooled_verdict
from tests.clusters.domain.verdicts import judged, reading


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
