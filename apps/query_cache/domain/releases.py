"""What is known to be wrong with the query cache of single releases of Pgpool-II, and from which release on no more."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Branch = tuple[int, int]


@dataclass(frozen=True)
class Defect:
    """key: as REST names it. happens: behind "Pgpool-II 4.3.5", with what mends it.

    until: branch -> the first patch that is not known to have it. since: branch -> the first patch that has it, 0
    where it is not named. Branches older than those of until have it in every release if is_old.
    """

    key: str
    happens: str
    until: Mapping[Branch, int]
    since: Mapping[Branch, int] = field(default_factory=dict)
    is_old: bool = False

    def is_in(self, version: str) -> bool:
        """version: as 4.3.5, or 4.3 for its first release. A number that cannot be read: no."""
        match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
        if match is None:
            return False
        branch, patch = (int(match[1]), int(match[2])), int(match[3] or 0)
        if branch in self.until:
            return self.since.get(branch, 0) <= patch < self.until[branch]
        return self.is_old and branch < min(self.until)

    def sentence(self, versions: Sequence[str]) -> str:
        return f"Pgpool-II {', '.join(versions)} {self.happens}"


DEFECTS = (
    # Release notes of 4.5.4, 4.4.9, 4.3.12, 4.2.19 and 4.1.22 (2024-09-09): all older versions are affected. Debian
    # mended it in 4.3.5-1+deb12u1 without another number.
    Defect(
        "cve_2024_45624",
        "may answer from the cache a user who may not read the table, after a REVOKE or a SET ROLE, or with rows that "
        "row-level security hides (CVE-2024-45624), unless your distribution has mended it. Releases that do not: "
        "4.1.22, 4.2.19, 4.3.12, 4.4.9, 4.5.4 and later of each branch, and 4.6.",
        {(4, 1): 22, (4, 2): 19, (4, 3): 12, (4, 4): 9, (4, 5): 4},
        is_old=True,
    ),
    # Release notes of 4.6.1 (2025-05-15): an execute message with a number of rows. It came with the correction of
    # another defect (2a99aa5d1, down to 4.2), after the releases of 2024-11-28, and went with those of 2025-05-15. The
    # "long standing bind bug" of the same notes is not told: 4.3.5 drops what prepared writes touch [measured].
    Defect(
        "extended_not_invalidated",
        "leaves old rows in the cache after a write whose driver asks for a number of rows, as some do in the extended "
        "protocol. Upgrade to 4.2.22, 4.3.15, 4.4.12, 4.5.7, 4.6.1 or later of your branch.",
        {(4, 2): 22, (4, 3): 15, (4, 4): 12, (4, 5): 7, (4, 6): 1},
        since={(4, 2): 21, (4, 3): 14, (4, 4): 11, (4, 5): 6},
    ),
    # Release notes of 4.7.2. MERGE is read since 4.4 (notes of 4.4.0). Of 4.4 to 4.6 these are the releases that are
    # older than 4.7.2 for sure; whether a later one of these branches has it, its own notes tell.
    Defect(
        "merge_not_invalidated",
        "leaves old rows in the cache after a MERGE: it drops nothing. 4.7.2 does, and so may later releases of older "
        "branches, as their notes tell. Until then a table that is merged into belongs on "
        "cache_unsafe_memqcache_table_list.",
        {(4, 4): 13, (4, 5): 11, (4, 6): 6, (4, 7): 2},
    ),
    # Release notes of 3.5.26, 3.6.22, 3.7.15, 4.0.10 and 4.1.3 (2020-08-20); 4.2.0 is younger.
    Defect(
        "cte_not_invalidated",
        "leaves old rows in the cache after EXPLAIN ANALYZE of a write, or a write within WITH: it takes them for "
        "reads. Upgrade to 3.7.15, 4.0.10, 4.1.3, 4.2 or later.",
        {(3, 5): 26, (3, 6): 22, (3, 7): 15, (4, 0): 10, (4, 1): 3},
        is_old=True,
    ),
    # Release notes of 3.7.20, 4.0.15, 4.1.8 and 4.2.4 (2021-08-05); 4.3.0 has all that 4.2.5 has.
    Defect(
        "current_date_cached",
        "keeps results of CURRENT_DATE, CURRENT_TIMESTAMP, CURRENT_USER and their like, and answers them later and to "
        "other roles of a session. Upgrade to 3.7.20, 4.0.15, 4.1.8, 4.2.4, 4.3 or later.",
        {(3, 7): 20, (4, 0): 15, (4, 1): 8, (4, 2): 4},
        is_old=True,
    ),
)
