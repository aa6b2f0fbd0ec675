"""How long a cache takes until it pays: by hand, against real draws, and against what was measured."""

import math
import random
import statistics
from collections.abc import Callable

import pytest

from apps.query_cache.domain.break_even import BreakEven, break_even
from apps.query_cache.domain.cache_fit import CachePoint
from apps.query_cache.domain.forecast import MOST_POINTS, Load
from tests.query_cache.domain.test_break_even import made

TEN_THOUSAND = Load(keys=10_000, per_s=100)
# A miss takes 1.5 times as long as a read without a cache, a hit 0.3 times: it pays from 0.5 / 1.2 hits.
DEAR_MISS = break_even([CachePoint(*one) for one in made(1.5, 0.3)])
PAYS_FROM = 0.5 / 1.2
# Of a mean of so many draws; further off than this about one seed in 16,000 would be.
STANDARD_ERRORS = 4


def test_by_hand() -> None:
    assert TEN_THOUSAND.reaches_after_s(0.5) == pytest.approx(69.31, abs=0.01)  # ln 2 · 10,000 keys / 100 a second
    assert TEN_THOUSAND.reaches_after_s(0.99) == pytest.approx(460.5, abs=0.1)  # ln 100 · 100 s
    # After one read a key: 1 − (1 − 1/e) = 1/e of all reads were hits, and 1 − 1/e of the latest are.
    assert TEN_THOUSAND.shown_after_s(1 / math.e) == pytest.approx(100, abs=0.02)
    assert TEN_THOUSAND.at(100).operating_hit_ratio == pytest.approx(1 - 1 / math.e, abs=1e-4)
    assert TEN_THOUSAND.at(100).misses == pytest.approx(6321, abs=1)


@pytest.mark.parametrize("ratio", [0.02, 0.4, 0.9, 0.999])
@pytest.mark.parametrize("keys", [1, 2, 50_000, 10**12])
def test_a_moment_that_is_reached_has_the_ratio(keys: int, ratio: float) -> None:
    load = Load(keys=keys, per_s=420)
    shown_s = load.shown_after_s(ratio)

    assert shown_s is not None
    assert load.at(shown_s).cumulative_hit_ratio == pytest.approx(ratio, abs=1e-9)
    if keys > 2:  # of fewer the first hit is already above
        assert load.at(load.reaches_after_s(ratio) or 0).operating_hit_ratio == pytest.approx(ratio)


def test_all_hits_are_never_reached() -> None:
    assert (TEN_THOUSAND.reaches_after_s(1), TEN_THOUSAND.shown_after_s(1), TEN_THOUSAND.random_writes_from_s(1)) == (
        None, None, None,
    )  # fmt: skip


def test_a_course_ends_when_it_is_warm_or_where_the_break_even_is_shown_a_little_later() -> None:
    usual, later, never = (TEN_THOUSAND.course(shown_s) for shown_s in (None, 900.0, 50_000.0))

    assert [len(one) for one in (usual, later, never)] == [MOST_POINTS] * 3
    assert (usual[0].at_s, usual[0].operating_hit_ratio, usual[0].cumulative_hit_ratio) == (0, 0, 0)
    assert usual[-1].operating_hit_ratio == pytest.approx(0.99)
    assert later[-1].at_s == pytest.approx(945)
    assert never[-1].at_s == usual[-1].at_s
    assert all(one.cumulative_hit_ratio <= one.operating_hit_ratio for one in later)


def test_what_is_lost_until_it_pays() -> None:
    found = TEN_THOUSAND.lost(DEAR_MISS)

    # It pays after −ln(1 − 0.41667) = 0.5390 reads a key, of which 0.41667 were misses: 22.7 % hits in the mean,
    # so that a read took 1.5 − 1.2 · 0.227 = 1.2277 times as long; 5,390 reads that took 22.77 % longer: 1,227.
    assert found is not None
    assert found.mean_cost == pytest.approx(1.2277, abs=1e-3)
    assert found.reads == pytest.approx(1227, abs=2)
    assert TEN_THOUSAND.lost(break_even([])) is None


def test_hits_have_earned_the_warm_up_back_when_show_pool_cache_shows_the_break_even() -> None:
    load = Load(keys=1_000, per_s=1)
    cost = of(DEAR_MISS)
    ahead, total = 0, 0.0
    while ahead == 0 or total > 0:  # read by read: by how much longer it took than without a cache
        total += cost(load.at(ahead).operating_hit_ratio) - 1
        ahead += 1

    assert ahead == pytest.approx(load.shown_after_s(PAYS_FROM), abs=2)


def of(measured: BreakEven) -> Callable[[float], float]:
    assert measured.found is not None
    line = measured.found
    return lambda ratio: line.cost(ratio).middle


def test_real_draws_agree() -> None:
    load, chance, repeats, reads = Load(keys=300, per_s=50), random.Random(11), 2_000, 400
    late_hits, ratios = 0, []
    for _ in range(repeats):
        known: set[int] = set()
        for _ in range(reads):
            known.add(chance.randrange(300))
        ratios.append(1 - len(known) / reads)
        late_hits += chance.randrange(300) in known

    found = load.at(reads / 50)
    one_draw = math.sqrt(found.operating_hit_ratio * (1 - found.operating_hit_ratio) / repeats)
    assert late_hits / repeats == pytest.approx(found.operating_hit_ratio, abs=STANDARD_ERRORS * one_draw)
    of_mean = statistics.stdev(ratios) / math.sqrt(repeats)
    assert statistics.mean(ratios) == pytest.approx(found.cumulative_hit_ratio, abs=STANDARD_ERRORS * of_mean)
    assert of_mean < 0.001


def test_a_table_that_is_written_at_even_times() -> None:
    found = TEN_THOUSAND.between_writes(100)

    assert found == pytest.approx(1 / math.e, abs=1e-4)  # one read a key between two writes
    assert TEN_THOUSAND.between_writes(0.001) == 0
    assert TEN_THOUSAND.between_writes(1e9) == pytest.approx(1)


def test_a_table_that_is_written_at_random_times_agrees_with_real_draws() -> None:
    # 200 reads between writes in the mean over 100 keys: 200 / (100 + 200).
    load, chance, gaps = Load(keys=100, per_s=20), random.Random(12), 4_000
    counts = []
    for _ in range(gaps):
        # Of reads and writes that both come at random, the next one is a write in one of 201.
        reads, known = 0, set()
        while chance.random() >= 1 / 201:
            reads += 1
            known.add(chance.randrange(100))
        counts.append((reads, reads - len(known)))

    found = load.between_random_writes(10)
    hits, reads = sum(hit for _, hit in counts), sum(read for read, _ in counts)
    # Of a ratio of sums: the residuals of each gap around it.
    spread = math.sqrt(sum((hit - found * read) ** 2 for read, hit in counts)) / reads
    assert found == pytest.approx(2 / 3)
    assert hits / reads == pytest.approx(found, abs=STANDARD_ERRORS * spread)
    assert spread < 0.005


def test_how_far_apart_writes_must_be() -> None:
    even, at_random = TEN_THOUSAND.shown_after_s(PAYS_FROM), TEN_THOUSAND.random_writes_from_s(PAYS_FROM)

    assert even is not None
    assert at_random == pytest.approx(100 * (0.5 / 0.7))  # keys / rate · h / (1 − h)
    assert TEN_THOUSAND.between_writes(even) == pytest.approx(PAYS_FROM)
    assert TEN_THOUSAND.between_random_writes(at_random or 0) == pytest.approx(PAYS_FROM)


def test_as_it_was_measured() -> None:
    """Pgpool-II 4.3.5, 42,900 SELECTs/s of 100 keys, a write to their table ten times a second: 97.9 % hits."""
    load = Load(keys=100, per_s=42_900)

    assert load.between_writes(0.1) == pytest.approx(0.979, abs=0.003)
    assert load.between_random_writes(0.1) == pytest.approx(0.979, abs=0.003)
