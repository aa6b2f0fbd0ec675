"""What a cache may answer wrongly: by its settings, and by the version of its pgpool."""

import pytest

from apps.query_cache.domain.risks import is_exposed, risks
from apps.query_cache.domain.settings import CacheSettings, settings_of

ON = CacheSettings(is_on=True, expire_s=30)


def keys(*settings: CacheSettings, version: str = "4.6.1") -> list[str]:
    return [one.key for one in risks(list(settings), [version])]


def test_a_single_cache_whose_rows_expire_has_the_risk_of_all() -> None:
    assert keys(ON) == ["row_security"]


def test_several_caches_in_shared_memory_do_not_see_one_anothers_writes() -> None:
    memcached = CacheSettings(is_on=True, method="memcached", expire_s=30)

    assert keys(ON, ON) == ["several_caches", "row_security"]
    assert keys(memcached, memcached) == ["row_security"]
    assert keys(ON, CacheSettings(is_on=False)) == ["row_security"]


def test_what_stays_for_ever() -> None:
    assert "writes_elsewhere" in keys(CacheSettings(is_on=True))
    assert "not_invalidated" in keys(CacheSettings(is_on=True, invalidates=False, expire_s=5))


def test_a_cache_that_is_off_has_none() -> None:
    assert keys(CacheSettings(is_on=False), CacheSettings(is_on=None)) == []


@pytest.mark.parametrize(
    ("version", "exposed"),
    [
        ("3.7.5", True), ("4.0.25", True), ("4.1.21", True), ("4.1.22", False), ("4.2.18", True), ("4.2.19", False),
        ("4.3.5", True), ("4.3.11", True), ("4.3.12", False), ("4.4.8", True), ("4.4.9", False), ("4.5.3", True),
        ("4.5.4", False), ("4.5", True), ("4.6.0", False), ("4.7.1", False), ("5.0", False), ("", False),
    ],
)  # fmt: skip
def test_releases_that_answer_who_may_not_read(version: str, exposed: bool) -> None:
    assert is_exposed(version) is exposed
    assert ("cve_2024_45624" in keys(ON, version=version)) is exposed


def test_settings_as_pgpool_shows_them() -> None:
    found = settings_of(
        {
            "memory_cache_enabled": "on", "memqcache_method": "memcached", "memqcache_expire": "5min",
            "memqcache_total_size": "64MB", "memqcache_memcached_host": "cache-1", "memqcache_memcached_port": "11211",
            "black_memqcache_table_list": "audit, log", "memqcache_auto_cache_invalidation": "off",
        }
    )  # fmt: skip

    assert (found.is_on, found.memcached_place, found.expire_s) == (True, "cache-1:11211", 300)
    assert (found.unsafe_tables, found.invalidates) == (("audit", "log"), False)
    assert settings_of({}).is_on is None
    assert settings_of({"memory_cache_enabled": "off"}).memcached_place == ""


@pytest.mark.parametrize(("shown", "seconds"), [("0", 0), ("30s", 30), ("30", 30), ("2h", 7200), ("soon", 0)])
def test_durations_as_pgpool_shows_them(shown: str, seconds: int) -> None:
    assert settings_of({"memory_cache_enabled": "on", "memqcache_expire": shown}).expire_s == seconds
