"""What to change: each advice with what brings it about, and what does not."""

from dataclasses import replace

import pytest

from apps.query_cache.domain.advice import (
    Advice,
    CacheSeen,
    Change,
    WrittenTable,
    advice,
    needs_restart,
    tables_to_leave_out,
)
from apps.query_cache.domain.cache_state import CacheState
from apps.query_cache.domain.risks import Kept
from apps.query_cache.domain.settings import CacheSettings

SETTINGS = CacheSettings(is_on=True, total_size="64MB", max_entries=1000, expire_s=30)
ALONE = CacheSeen("pgpool-1", "4.3.5", SETTINGS, filled=0.5, entries_filled=0.1)


def by_key(*pgpools: CacheSeen, state: CacheState = CacheState.PAYS) -> dict[str, Advice]:
    return {one.key: one for one in advice(state, pgpools)}


def changes(*values: str, parameter: str) -> tuple[Change, ...]:
    return tuple(Change(f"pgpool-{number}", parameter, value) for number, value in enumerate(values, start=1))


def test_a_single_cache_that_pays_and_has_room_needs_nothing() -> None:
    assert by_key(ALONE) == {}


def test_a_cache_that_is_off_or_not_known_gets_no_advice() -> None:
    off, unknown = (replace(ALONE, settings=CacheSettings(is_on=is_on), filled=0.99) for is_on in (False, None))

    assert by_key(off, unknown, state=CacheState.OFF) == {}


def test_a_cache_that_costs_is_turned_off_where_it_is_on() -> None:
    memcached = replace(SETTINGS, method="memcached", memcached_host="cache-1")
    off = CacheSeen("pgpool-3", "4.3.5", CacheSettings(is_on=False))

    found = by_key(
        replace(ALONE, settings=memcached), replace(ALONE, name="pgpool-2", settings=memcached), off,
        state=CacheState.COSTS,
    )  # fmt: skip

    assert found["turn_off"].changes == changes("off", "off", parameter="memory_cache_enabled")
    assert list(found) == ["turn_off"]
    assert needs_restart("memory_cache_enabled", "4.3.5")


@pytest.mark.parametrize(("filled", "is_full"), [(0.89, False), (0.9, True), (1.0, True), (None, False)])
def test_a_full_cache_gets_twice_the_memory(filled: float | None, is_full: bool) -> None:
    assert ("more_memory" in by_key(replace(ALONE, filled=filled))) is is_full


@pytest.mark.parametrize(
    ("version", "size", "doubled"),
    [
        ("4.3.5", "64MB", "128MB"), ("4.3.5", "16777216", "32MB"), ("4.3.5", "1.5GB", "3072MB"),
        ("4.1.2", "67108864", "134217728"),  # no units before 4.2
        ("4.3.5", "1000001", "2000002"),  # no whole MB
    ],
)  # fmt: skip
def test_the_size_is_written_as_the_version_reads_it(version: str, size: str, doubled: str) -> None:
    seen = replace(ALONE, version=version, settings=replace(SETTINGS, total_size=size), filled=0.93)

    found = by_key(seen)["more_memory"]

    assert found.changes == changes(doubled, parameter="memqcache_total_size")
    assert "pgpool-1 is 93 % full" in found.sentence


def test_a_size_that_is_not_known_is_not_doubled() -> None:
    unknown = replace(SETTINGS, total_size="", max_entries=None)

    assert by_key(replace(ALONE, settings=unknown, filled=0.99, entries_filled=0.99)) == {}


def test_places_for_entries_that_run_out_are_doubled() -> None:
    found = by_key(replace(ALONE, entries_filled=0.95))

    assert found["more_entries"].changes == changes("2000", parameter="memqcache_max_num_cache")
    assert list(found) == ["more_entries"]


def test_memcached_tells_no_sizes_and_gets_no_advice_on_them() -> None:
    memcached = replace(SETTINGS, method="memcached")

    assert by_key(replace(ALONE, settings=memcached, filled=1.0, entries_filled=1.0)) == {}


def test_a_cache_that_writes_do_not_empty() -> None:
    found = by_key(replace(ALONE, settings=replace(SETTINGS, invalidates=False, expire_s=0)))

    assert found["invalidate"].changes == changes("on", parameter="memqcache_auto_cache_invalidation")
    assert found["expire"].changes == changes("60", parameter="memqcache_expire")
    assert not needs_restart("memqcache_auto_cache_invalidation", "4.3.5")
    assert needs_restart("memqcache_expire", "4.3.5")


def test_several_caches_in_shared_memory_become_one_memcached_whose_host_a_person_names() -> None:
    forever = replace(SETTINGS, expire_s=0, memcached_host="localhost")
    two = replace(ALONE, settings=forever), replace(ALONE, name="pgpool-2", settings=forever)

    found = by_key(*two)

    assert found["memcached"].changes == changes("memcached", "memcached", parameter="memqcache_method")
    assert found["memcached"].asks == "memqcache_memcached_host"
    assert found["expire"].changes == changes("60", "60", parameter="memqcache_expire")
    named = [replace(one, settings=replace(forever, memcached_host="cache-1")) for one in two]
    assert by_key(*named)["memcached"].asks == ""


def test_a_memcached_that_was_measured_to_keep_old_rows_is_no_advice() -> None:
    two = ALONE, replace(ALONE, name="pgpool-2")

    def advised(measured: dict[str, Kept]) -> list[str]:
        return [one.sentence for one in advice(CacheState.PAYS, two, measured=measured) if one.key == "memcached"]

    assert advised({"memcached": Kept(run=4, kept=1257, old=486)}) == []
    assert "Calibrate it with writes first" not in advised({"memcached": Kept(run=4, kept=1257, old=0)})[0]
    assert "Calibrate it with writes first" in advised({})[0]


def test_results_that_stay_for_ever_in_the_only_cache_are_no_advice() -> None:
    assert by_key(replace(ALONE, settings=replace(SETTINGS, expire_s=0))) == {}


@pytest.mark.parametrize(
    ("state", "named"),
    [
        (CacheState.COSTS, ["public.stock", "public.orders", "public.log"]),
        (CacheState.CLOSE, ["public.stock", "public.orders", "public.log"]),
        (CacheState.PAYS, []), (CacheState.NOT_MEASURED, []),
    ],
)  # fmt: skip
def test_tables_that_are_written_often_are_left_out_where_the_cache_does_not_pay(
    state: CacheState, named: list[str]
) -> None:
    rates = {"log": 1.0, "stock": 41.2, "rare": 0.9, "orders": 6.8, "fourth": 1.0}

    chosen = tables_to_leave_out(state, [WrittenTable(f"public.{name}", rate) for name, rate in rates.items()])

    assert [one.name for one in chosen] == named


def test_leaving_out_says_how_often_each_is_written() -> None:
    change = Change("pgpool-1", "cache_unsafe_memqcache_table_list", "stock,public[.]stock")
    tables = [WrittenTable("public.stock", 1041.2)]

    [_, found] = advice(CacheState.COSTS, [ALONE], tables=tables, leaving_out=[change])

    assert (found.key, found.changes) == ("leave_out", (change,))
    assert "public.stock (1,041.2 rows a second)" in found.sentence
    assert advice(CacheState.CLOSE, [ALONE], tables=tables) == []
