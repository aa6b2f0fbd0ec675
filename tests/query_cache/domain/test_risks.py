"""What a cache may answer wrongly: by its settings, and by the version of its pgpool."""

import pytest

from apps.query_cache.domain.releases import DEFECTS
from apps.query_cache.domain.risks import Kept, risks
from apps.query_cache.domain.settings import CacheSettings, settings_of

ON = CacheSettings(is_on=True, expire_s=30)


def keys(*settings: CacheSettings, version: str = "4.7.2") -> list[str]:
    return [one.key for one in risks(list(settings), [version])]


def test_a_single_cache_whose_rows_expire_has_the_risk_of_all() -> None:
    assert keys(ON) == ["row_security"]


def test_several_caches_in_shared_memory_do_not_see_one_anothers_writes() -> None:
    memcached = CacheSettings(is_on=True, method="memcached", expire_s=30)

    assert keys(ON, ON) == ["several_caches", "row_security"]
    assert keys(memcached, memcached) == ["memcached_under_writes", "row_security"]
    assert keys(ON, CacheSettings(is_on=False)) == ["row_security"]


def test_old_answers_that_were_measured_come_first_and_only_of_what_is_used() -> None:
    measured = {"shmem": Kept(run=4, kept=821, old=32), "memcached": Kept(run=4, kept=1257, old=486)}

    [old, *_] = risks([ON], ["4.7.2"], measured=measured)

    assert old.key == "old_answers"
    assert "by calibration #4: a second after the last write 32 of the 821 answers that shared memory" in old.sentence


def test_a_memcached_that_was_measured_to_keep_none_is_not_suspected() -> None:
    memcached = CacheSettings(is_on=True, method="memcached", expire_s=30)

    found = risks([memcached], ["4.7.2"], measured={"memcached": Kept(run=4, kept=500, old=0)})

    assert [one.key for one in found] == ["row_security"]


def test_reads_that_standbys_answer_may_be_kept_too_late() -> None:
    assert keys(CacheSettings(is_on=True, expire_s=30, balances=True)) == ["standby_lag", "row_security"]
    assert settings_of({"memory_cache_enabled": "on", "load_balance_mode": "on"}).balances
    assert not settings_of({"memory_cache_enabled": "on", "load_balance_mode": "off"}).balances


def test_what_stays_for_ever() -> None:
    assert "writes_elsewhere" in keys(CacheSettings(is_on=True))
    assert "not_invalidated" in keys(CacheSettings(is_on=True, invalidates=False, expire_s=5))


def test_a_cache_that_is_off_has_none() -> None:
    assert keys(CacheSettings(is_on=False), CacheSettings(is_on=None)) == []


@pytest.mark.parametrize(
    ("key", "having", "without"),
    [
        ("cve_2024_45624",
         "3.7.5 4.0.25 4.1.21 4.2.18 4.3.5 4.3.11 4.4.7 4.4.8 4.5 4.5.2 4.5.3",
         "4.1.22 4.2.19 4.3.12 4.4.9 4.5.4 4.6.0 4.7.1 5.0"),
        ("extended_not_invalidated",
         "4.2.21 4.3.14 4.4.11 4.5.6 4.6 4.6.0",
         "3.7.5 4.1.22 4.2.20 4.2.22 4.3.5 4.3.13 4.3.15 4.4.10 4.4.12 4.5.5 4.5.7 4.6.1 4.7.0"),
        ("merge_not_invalidated", "4.4.0 4.4.12 4.5.10 4.6.5 4.7.0 4.7.1", "4.3.15 4.2.1 4.7.2 4.8.0"),
        ("cte_not_invalidated", "3.7.14 4.0.9 4.1.2", "3.7.15 4.0.10 4.1.3 4.2.0 4.3.5"),
        ("current_date_cached", "3.7.19 4.0.14 4.1.7 4.2.3", "3.7.20 4.0.15 4.1.8 4.2.4 4.3.0"),
    ],
)  # fmt: skip
def test_releases_that_answer_wrongly_and_those_that_no_longer_do(key: str, having: str, without: str) -> None:
    [defect] = [one for one in DEFECTS if one.key == key]

    assert [version for version in having.split() if not defect.is_in(version)] == []
    assert [version for version in without.split() if defect.is_in(version)] == []
    assert key in keys(ON, version=having.split(maxsplit=1)[0])
    assert not defect.is_in("")


def test_a_defect_names_the_versions_that_have_it_once() -> None:
    found = risks([ON, ON], ["4.3.5", "4.3.5", "4.2.1", "4.7.2"])

    [cve] = [one for one in found if one.key == "cve_2024_45624"]
    assert cve.sentence.startswith("Pgpool-II 4.2.1, 4.3.5 may answer from the cache a user")


def test_settings_as_pgpool_shows_them() -> None:
    found = settings_of(
        {
            "memory_cache_enabled": "on", "memqcache_method": "memcached", "memqcache_expire": "5min",
            "memqcache_total_size": "64MB", "memqcache_memcached_host": "cache-1", "memqcache_memcached_port": "11211",
            "memqcache_max_num_cache": "1000000",
            "black_memqcache_table_list": "audit, log", "memqcache_auto_cache_invalidation": "off",
        }
    )  # fmt: skip

    assert (found.is_on, found.memcached_place, found.expire_s) == (True, "cache-1:11211", 300)
    assert (found.unsafe_tables, found.invalidates) == (("audit", "log"), False)
    assert (found.max_entries, settings_of({"memory_cache_enabled": "on"}).max_entries) == (1_000_000, None)
    assert settings_of({}).is_on is None
    assert settings_of({"memory_cache_enabled": "off"}).memcached_place == ""


@pytest.mark.parametrize(("shown", "seconds"), [("0", 0), ("30s", 30), ("30", 30), ("2h", 7200), ("soon", 0)])
def test_durations_as_pgpool_shows_them(shown: str, seconds: int) -> None:
    assert settings_of({"memory_cache_enabled": "on", "memqcache_expire": shown}).expire_s == seconds
