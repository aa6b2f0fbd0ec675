"""What a query cache may answer that is no longer, or was never, for the one who asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from apps.query_cache.domain.settings import SHMEM, CacheSettings

# A cached result was given to users who may not read the table (CVE-2024-45624): the first release of each branch that
# no longer does. Branches before these are not maintained any more; those after never did.
_GUARDED_SINCE = {(4, 1): 22, (4, 2): 19, (4, 3): 12, (4, 4): 9, (4, 5): 4}
_NEWEST_TOUCHED = (4, 5)


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
    exposed = sorted({version for version in versions if is_exposed(version)})
    if exposed:
        found.append(Risk("cve_2024_45624", _exposed(exposed)))
    found.append(
        Risk(
            "row_security",
            "A result is kept by its text, user and database. Tables whose rows depend on more, as row-level security "
            "over a setting of the session does, belong on cache_unsafe_memqcache_table_list.",
        )
    )
    return found


def is_exposed(version: str) -> bool:
    """Whether this release answers users from the cache who may not read the table. A number that is unreadable: no."""
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    if match is None:
        return False
    branch, patch = (int(match[1]), int(match[2])), int(match[3] or 0)
    if branch > _NEWEST_TOUCHED:
        return False
    return branch not in _GUARDED_SINCE or patch < _GUARDED_SINCE[branch]


def _several(count: int) -> str:
    caches = "each pgpool keeps" if count > 1 else "one pgpool keeps"
    return (
        f"Of several pgpools {caches} a cache of its own in shared memory: a write through one leaves the others "
        "answering the old rows. memcached is one for all."
    )


def _exposed(versions: Sequence[str]) -> str:
    fixed = ", ".join(f"{major}.{minor}.{patch}" for (major, minor), patch in sorted(_GUARDED_SINCE.items()))
    return (
        f"Pgpool-II {', '.join(versions)} may answer from the cache a user who may not read the table "
        f"(CVE-2024-45624), unless your distribution has mended it. Releases that do not: {fixed} and later of each "
        "branch, and 4.6."
    )
