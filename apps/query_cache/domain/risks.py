"""What a query cache may answer that is no longer, or was never, for the one who asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.query_cache.domain.releases import DEFECTS
from apps.query_cache.domain.settings import SHMEM, CacheSettings


@dataclass(frozen=True)
class Risk:
    """key: as REST names it. sentence: what may happen, and what mends it."""

    key: str
    sentence: str


def risks(settings: Sequence[CacheSettings], versions: Sequence[str]) -> list[Risk]:
    """Of all pgpools of a cluster, those with a cache. versions: as 4.3.5, of the pgpools with a cache."""
    on = [one for one in settings if one.is_on]
    if not on:
        return []
    shared = [one for one in on if one.method == SHMEM]
    found = []
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


def _several(count: int) -> str:
    caches = "each pgpool keeps" if count > 1 else "one pgpool keeps"
    return (
        f"Of several pgpools {caches} a cache of its own in shared memory: a write through one leaves the others "
        "answering the old rows. memcached is one for all."
    )
