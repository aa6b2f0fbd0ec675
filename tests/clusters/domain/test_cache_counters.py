"""Hits, misses and reads of the query cache: an answered SELECT is no miss, however often pgpool counts it."""

import pytest

from apps.clusters.domain.cache_counters import CacheCounts, counted, together

# Captured from Pgpool-II 4.3.5 around pgbench with two clients: by how much each counter grew in that time.
SIMPLE_HOT = {"hits": 57_969, "selects": 103, "reads": 103}
EXTENDED_HOT = {"hits": 12_259, "selects": 12_360, "reads": 101}
PREPARED_HOT = {"hits": 20_390, "selects": 20_390, "reads": 0}
EXTENDED_WIDE = {"hits": 2_140, "selects": 21_192, "reads": 19_052}


@pytest.mark.parametrize(
    ("grown", "ratio", "as_counted"),
    [
        (SIMPLE_HOT, 0.998, 0.998),
        (EXTENDED_HOT, 0.992, 0.498),
        (PREPARED_HOT, 1.0, 0.5),
        (EXTENDED_WIDE, 0.101, 0.092),
    ],
)
def test_an_answered_select_of_the_extended_protocol_is_no_miss(
    grown: dict[str, int], ratio: float, as_counted: float
) -> None:
    found = counted(**grown)

    assert found.operating_ratio == pytest.approx(ratio, abs=0.001)
    assert found.counted_ratio == pytest.approx(as_counted, abs=0.001)
    assert found.misses <= grown["reads"]


def test_all_that_backends_read_counts_in_the_share_that_was_absorbed() -> None:
    # 300 cacheable reads, 200 of them answered; 800 more in the same time were not cacheable
    found = counted(hits=200, selects=100, reads=900)

    assert found.operating_ratio == pytest.approx(2 / 3)
    assert found.absorbed_share == pytest.approx(200 / 1100)
    assert found.counted_twice == 0


def test_counters_read_some_milliseconds_apart_are_no_proof() -> None:
    assert counted(hits=5_000, selects=4_000, reads=3_990).counted_twice == 0
    assert counted(hits=50, selects=60, reads=0).counted_twice == 0


def test_without_reads_nothing_is_corrected() -> None:
    found = counted(hits=12_259, selects=12_360, reads=None)

    assert found.counted_twice == 0
    assert found.absorbed_share is None


def test_a_pgpool_that_answered_nothing_has_no_ratio() -> None:
    found = counted(hits=0, selects=0, reads=0)

    assert found.operating_ratio is None
    assert found.counted_ratio is None
    assert found.absorbed_share is None


def test_of_several_each_is_corrected_alone() -> None:
    found = together([counted(**SIMPLE_HOT), counted(**EXTENDED_HOT)])

    assert found == CacheCounts(70_228, 12_463, 204, 12_259)
    assert found.misses == 204


def test_reads_that_one_did_not_count_are_not_known_of_all() -> None:
    found = together([counted(**SIMPLE_HOT), counted(hits=1, selects=1, reads=None)])

    assert found is not None
    assert found.reads is None
    assert found.absorbed_share is None


def test_of_none_there_is_nothing() -> None:
    assert together([]) is None
