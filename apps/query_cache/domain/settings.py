"""How the query caches of a cluster are set, as every pgpool shows it (PGPOOL SHOW ALL)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apps.clusters.domain.memcached import Place, is_caching, place_of

SHMEM = "shmem"


@dataclass(frozen=True)
class CacheSettings:
    """Of one pgpool. is_on: None while nobody has read its settings. expire_s: 0 for never.

    total_size: as pgpool prints it, as 64MB. max_entries: None where it is not shown. unsafe_tables, safe_tables: as
    they are listed. memcached: where results are kept, None in shared memory; memcached_host: as named, used or not.
    balances: whether reads go to standbys, too.
    """

    is_on: bool | None
    method: str = SHMEM
    total_size: str = ""
    max_entries: int | None = None
    expire_s: int = 0
    invalidates: bool = True
    unsafe_tables: tuple[str, ...] = ()
    safe_tables: tuple[str, ...] = ()
    memcached: Place | None = None
    memcached_host: str = ""
    balances: bool = False

    @property
    def memcached_place(self) -> str:
        """As localhost:11211; "" where results stay in shared memory."""
        return str(self.memcached) if self.memcached is not None else ""


def settings_of(running: Mapping[str, str]) -> CacheSettings:
    """running: name -> value as PGPOOL SHOW ALL prints them; empty while nobody has read them."""
    is_on = is_caching(running)
    if is_on is None:
        return CacheSettings(None)
    entries = running.get("memqcache_max_num_cache", "")
    return CacheSettings(
        is_on=is_on,
        method=running.get("memqcache_method", SHMEM),
        total_size=running.get("memqcache_total_size", ""),
        max_entries=int(entries) if entries.isdecimal() else None,
        expire_s=_seconds(running.get("memqcache_expire", "0")),
        invalidates=running.get("memqcache_auto_cache_invalidation", "on") == "on",
        unsafe_tables=_names(running, "cache_unsafe_memqcache_table_list", "black_memqcache_table_list"),
        safe_tables=_names(running, "cache_safe_memqcache_table_list", "white_memqcache_table_list"),
        memcached=place_of(running),
        memcached_host=running.get("memqcache_memcached_host", ""),
        balances=running.get("load_balance_mode") == "on",
    )


def _names(running: Mapping[str, str], *known_as: str) -> tuple[str, ...]:
    """Until 4.1 the lists had other names."""
    listed = next((running[name] for name in known_as if name in running), "")
    return tuple(name.strip() for name in listed.split(",") if name.strip())


_UNITS = {"": 1, "s": 1, "min": 60, "h": 3600, "d": 86400}


def _seconds(shown: str) -> int:
    """As 0, 30s or 5min; 0 for what cannot be read."""
    number = shown.rstrip("smindh").strip()
    unit = shown[len(number) :].strip()
    return int(number) * _UNITS[unit] if number.isdecimal() and unit in _UNITS else 0
