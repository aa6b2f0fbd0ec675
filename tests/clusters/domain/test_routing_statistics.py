"""How often the verdict is right: bands that hold what they promise, over thousands of windows."""

import numpy as np
import pytest

from apps.clusters.domain.draws import BLOCK_S, SPAN_S, draws_per_read
from apps.clusters.domain.routing import RoutingState, pooled_verdict
from tests.clusters.domain.verdicts import judged, reading

Blocks = list[dict[int, int]]
WINDOW_BLOCKS = 20  # five minutes


def half_hour(
    random: np.random.Generator, *, share: float, sigma: float, per_s: float, read_s: float
) -> tuple[Blocks, list[int]]:
    """The reads of backends 1 and 2 in each block, and how many sessions were open in each window of five minutes.

    Sessions come at random, per_s of them a second, and send a read every read_s seconds; their number of reads is
    lognormal with median 10. Backend 1 is drawn with probability share.
    """
    sessions = random.poisson(per_s * (SPAN_S + 200))
    begins = random.uniform(-200, SPAN_S, sessions)
    reads = np.ceil(random.lognormal(np.log(10), sigma, sessions)).astype(int)
    is_first = random.random(sessions) < share
    of_session = np.repeat(np.arange(sessions), reads)
    number = np.arange(reads.sum()) - np.repeat(np.cumsum(reads) - reads, reads)
    at = begins[of_session] + number * read_s
    is_seen = (at >= 0) & (at < SPAN_S)
    block, first = (at[is_seen] / BLOCK_S).astype(int), is_first[of_session[is_seen]]
    count = SPAN_S // BLOCK_S
    of_first, of_second = (np.bincount(block[which], minlength=count) for which in (first, ~first))
    ends, window_s = begins + reads * read_s, WINDOW_BLOCKS * BLOCK_S
    counted = [int(((ends > at) & (begins < at + window_s)).sum()) for at in range(0, SPAN_S, window_s)]
    return [{1: int(one), 2: int(two)} for one, two in zip(of_first, of_second, strict=True)], counted


@pytest.mark.waits  # for half a minute of arithmetic
@pytest.mark.parametrize("are_counted", [True, False])
@pytest.mark.parametrize(
    ("share", "sigma", "per_s", "read_s"),
    [(0.5, 0.5, 0.5, 0.1), (1 / 3, 1.0, 3, 0.1), (0.2, 1.2, 3, 0.1), (0.5, 1.0, 0.5, 1.0)],
)
def test_the_band_holds_95_of_100_windows_of_very_unequal_sessions(
    share: float, sigma: float, per_s: float, read_s: float, are_counted: bool
) -> None:
    random = np.random.default_rng(20261121)
    inside = windows = 0
    for _ in range(150):
        blocks, counted = half_hour(random, share=share, sigma=sigma, per_s=per_s, read_s=read_s)
        measured = draws_per_read(blocks)
        for number, sessions in enumerate(counted):
            window = blocks[number * WINDOW_BLOCKS : (number + 1) * WINDOW_BLOCKS]
            [node, _] = judged(
                {node_id: sum(block[node_id] for block in window) for node_id in (1, 2)},
                weights={1: share, 2: 1 - share},
                sessions=sessions if are_counted else None,
                draws_per_read=measured,
            ).nodes
            assert node.low is not None
            assert node.high is not None
            assert node.observed_share is not None
            inside += node.low <= node.observed_share <= node.high
            windows += 1

    assert 0.93 <= inside / windows <= 0.97


def test_one_busy_session_among_many_is_told_from_reads_that_are_off() -> None:
    random = np.random.default_rng(3)
    blocks, counted = half_hour(random, share=0.5, sigma=0.5, per_s=1, read_s=0.1)
    for number in (-3, -2, -1):  # 45 seconds, 5000 reads, all to one backend
        blocks[number][1] += 1667
    counts = {node_id: sum(block[node_id] for block in blocks[-WINDOW_BLOCKS:]) for node_id in (1, 2)}
    halves = {1: 0.5, 2: 0.5}

    believed = judged(counts, weights=halves, sessions=counted[-1] + 1)
    found = judged(counts, weights=halves, sessions=counted[-1] + 1, draws_per_read=draws_per_read(blocks))

    assert believed.state is RoutingState.OFF
    assert found.state in (RoutingState.WITHIN_NOISE, RoutingState.TOO_LITTLE_TRAFFIC)
    assert "that weigh like" in found.sentence


@pytest.mark.parametrize(
    "blocks",
    [
        [],
        [{1: 5, 2: 5}] * 19,
        [{}] * 120,
        [{1: 7, 2: 0}] * 120,  # one backend alone never varies
        [{1: 7, 2: 7}] * 120,  # nor does what is the same in every block
    ],
)
def test_blocks_that_do_not_tell_are_not_guessed_at(blocks: Blocks) -> None:
    assert draws_per_read(blocks) is None


def test_reads_that_are_each_drawn_are_one_draw_each() -> None:
    random = np.random.default_rng(5)
    first = random.binomial(400, 0.3, 120)
    found = draws_per_read([{1: int(one), 2: 400 - int(one)} for one in first])

    assert found is not None
    assert 0.5 < found <= 1


def test_three_pgpools_that_follow_raise_few_false_alarms() -> None:
    random = np.random.default_rng(7)
    windows, off, certain = 2000, 0, 0
    for _ in range(windows):
        readings = []
        for name in ("a", "b", "c"):
            first = int(random.binomial(300, 1 / 3))
            readings.append(reading(name, {1: first * 20, 2: (300 - first) * 20}, sessions=300))
        found = pooled_verdict(readings, statement_level=False)
        off += found.state is RoutingState.OFF
        certain += found.is_certain

    assert off / windows < 0.07  # together 5 %, and 1 % that one of the three stands out alone
    assert certain <= 2  # of 2000: once or twice in 10,000 are allowed


def test_what_is_far_off_is_certain_at_once() -> None:
    readings = [reading(name, {1: 5000, 2: 5000}, sessions=900) for name in ("a", "b", "c")]

    assert pooled_verdict(readings, statement_level=False).is_certain
