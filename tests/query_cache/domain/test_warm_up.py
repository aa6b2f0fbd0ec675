"""How a cache fills: the formulas against counting, and at their ends."""

import random

import pytest

from apps.query_cache.domain import warm_up


def test_as_published_with_the_formula() -> None:
    found = warm_up.after(keys=50_000, queries=120_000)

    assert found.operating_hit_ratio == pytest.approx(1 - (1 - 1 / 50_000) ** 120_000)
    assert found.expected_misses == pytest.approx(50_000 * found.operating_hit_ratio)
    assert found.cumulative_hit_ratio == pytest.approx(1 - found.expected_misses / 120_000)


def test_counting_gives_the_same() -> None:
    random_, misses, late = random.Random(5), 0, 0
    for _ in range(200):
        known: set[int] = set()
        for number in range(300):
            key = random_.randrange(100)
            misses += key not in known
            late += number == 299 and key in known
            known.add(key)

    assert warm_up.after(keys=100, queries=300).expected_misses == pytest.approx(misses / 200, rel=0.01)
    assert warm_up.after(keys=100, queries=299).operating_hit_ratio == pytest.approx(late / 200, abs=0.05)


@pytest.mark.parametrize(
    ("keys", "queries", "operating", "cumulative"),
    [(10, 0, 0, 0), (1, 1, 1, 0), (1, 10, 1, 0.9), (10**12, 10**15, 1, 0.999), (10**12, 10, 1e-11, 0)],
)
def test_at_its_ends(keys: int, queries: int, operating: float, cumulative: float) -> None:
    found = warm_up.after(keys=keys, queries=queries)

    assert found.operating_hit_ratio == pytest.approx(operating, rel=1e-3)
    assert found.cumulative_hit_ratio == pytest.approx(cumulative, abs=1e-9)


@pytest.mark.parametrize("ratio", [0, 0.01, 0.5, 0.99])
def test_reads_until_a_ratio_bring_that_ratio(ratio: float) -> None:
    until = warm_up.queries_until(keys=5_000, operating_hit_ratio=ratio)

    assert warm_up.after(keys=5_000, queries=until).operating_hit_ratio == pytest.approx(ratio)


@pytest.mark.parametrize("reads_per_key", [0.01, 0.5, 1.6, 2.4, 9.9])
def test_the_ratio_since_the_start_tells_the_operating_one(reads_per_key: float) -> None:
    found = warm_up.after(keys=10**6, queries=reads_per_key * 10**6)

    assert warm_up.operating_at(cumulative_hit_ratio=found.cumulative_hit_ratio) == pytest.approx(
        found.operating_hit_ratio, abs=1e-5
    )
