"""What a query cache may answer that is no longer, or was never, for the one who asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apps.clusters.domain.memcached import MEMCACHED
from apps.query_cache.domain.releases import DEFECTS
from apps.query_cache.domain.settings import SHMEM, CacheSettings


@dataclass(frozen=True)
class Risk:
    """key: as REST names it. sentence: what may happen, and what mends it."""

    key: str
    sentence: str


@dataclass(frozen=True)
class Kept:
    """What a calibration with writes found of one storage. kept: answers after the last write; old: of them."""

    run: int
    kept: int
    old: int


def risks(
    settings: Sequence[CacheSettings], versions: Sequence[str], *, measured: Mapping[str, Kept] | None = None
) -> list[Risk]:
    """Of all pgpools of a cluster, those with a cache. versions: as 4.3.5, of the pgpools with a cache.

    measured: by storage, of the latest calibration that wrote.
    """
    on = [one for one in settings if one.is_on]
    if not on:
        return []
    shared = [one for one in on if one.method == SHMEM]
    found = list(_measured(on, measured or {}))
    if len(on) > 1 and shared:
        found.append(Risk("several_caches", _several(len(shared))))
    if any(one.expire_s == 0 for one in on):
        found.append(
            Risk(
                "writes_elsewhere",
                "Writes that do not come through a pgpool leave its cache as it was: it answers the old rows until "
                "the table is written through it. memqcache_expire sets how many seconds that may last; now it is 0, "
                "for ever.",
            )
        )
    if any(one.balances for one in on):
        found.append(Risk("standby_lag", _STANDBY_LAG))
    if any(not one.invalidates for one in on):
        found.append(
            Risk(
                "not_invalidated",
                "memqcache_auto_cache_invalidation is off: a write empties nothing, rows stay old until they expire.",
            )
        )
    for defect in DEFECTS:
        having = sorted({version for version in versions if defect.is_in(version)})
        if having:
            found.append(Risk(defect.key, defect.sentence(having)))
    found.append(
        Risk(
            "row_security",
            "A result is kept by its text, user and database. Tables whose rows depend on more, as row-level security "
            "over a setting of the session does, belong on cache_unsafe_memqcache_table_list.",
        )
    )
    return found


def _measured(on: Sequence[CacheSettings], measured: Mapping[str, Kept]) -> Iterator[Risk]:
    for storage in sorted({one.method for one in on}, reverse=True):
        name = "shared memory" if storage == SHMEM else storage
        seen = measured.get(storage)
        if seen is not None and seen.old:
            yield Risk(
                "old_answers",
                f"Measured here, by calibration #{seen.run}: a second after the last write {seen.old} of the "
                f"{seen.kept} answers that {name} kept had old rows. The more a table is written, the more: leave it "
                "out of the cache where old rows do harm.",
            )
        elif seen is None and storage == MEMCACHED:
            yield Risk("memcached_under_writes", _MEMCACHED_UNDER_WRITES)


# Measured on Pgpool-II 4.3.5 and 4.6.1 with 100 hot keys and reads balanced to two standbys: docs/measurements.md.
_STANDBY_LAG = (
    "A standby that has not replayed a write yet may answer a read after the write has emptied the table, and these "
    "old rows are then kept: at a hundred writes a second that befell some hot keys in a hundred. memqcache_expire "
    "bounds how long it lasts."
)
_MEMCACHED_UNDER_WRITES = (
    "memcached kept old rows of most hot keys once their table was written a hundred times a second while they were "
    "read (measured on Pgpool-II 4.3.5 and 4.6.1). Calibrate with writes to see how yours does."
)


def _several(count: int) -> str:
    caches = "each pgpool keeps" if count > 1 else "one pgpool keeps"
    return (
        f"Of several pgpools {caches} a cache of its own in shared memory: a write through one leaves the others "
        "answering the old rows."
    )
