"""What the counters of the query cache and of the backends tell together of reads in some time.

Measured on Pgpool-II 4.3.5: in the simple protocol num_selects grows by one for a SELECT that the cache did not answer.
In the extended protocol it grows for an answered one as well, so that hits / (hits + num_selects) comes to about 0.50
however many were answered. select_cnt of the backends never counts what the cache answered. So of all that num_selects
counted, no more were misses than the backends got reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# Both counters are read some milliseconds apart, so a small excess says nothing.
_LEAST_EXCESS = 100
_LEAST_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """Of one pgpool, or of several together.

    hits: SELECTs that the cache answered. selects: by how much num_selects grew. reads: SELECTs that went to backends;
    None where nobody counted them. counted_twice: how many of `selects` were answered all the same.
    """

    hits: int
    selects: int
    reads: int | None
    counted_twice: int

    @property
    def misses(self) -> int:
        return self.selects - self.counted_twice

    @property
    def operating_ratio(self) -> float | None:
        """Share of cacheable SELECTs that the cache answered; None without any."""
        return _ratio(self.hits, self.misses)

    @property
    def counted_ratio(self) -> float | None:
        """The same as the counters have it, answered ones counted twice where they were."""
        return _ratio(self.hits, self.selects)

    @property
    def absorbed_share(self) -> float | None:
        """Share of all reads that no backend saw, cacheable or not; None where reads were not counted."""
        return None if self.reads is None else _ratio(self.hits, self.reads)


def counted(*, hits: int, selects: int, reads: int | None) -> CacheCounts:
    """Of one pgpool, by how much each counter grew in the same time."""
    excess = 0 if reads is None else min(hits, selects - reads)
    is_certain = excess >= _LEAST_EXCESS and excess >= _LEAST_SHARE * selects
    return CacheCounts(hits, selects, reads, excess if is_certain else 0)


def together(counts: Iterable[CacheCounts]) -> CacheCounts | None:
    """Of several pgpools; None without any."""
    known = list(counts)
    if not known:
        return None
    reads = [one.reads for one in known if one.reads is not None]
    return CacheCounts(
        sum(one.hits for one in known),
        sum(one.selects for one in known),
        sum(reads) if len(reads) == len(known) else None,
        sum(one.counted_twice for one in known),
    )


def _ratio(hits: int, others: int) -> float | None:
    return hits / (hits + others) if hits + others else None
