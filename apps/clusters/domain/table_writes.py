"""How often tables are written, from two samples of what PostgreSQL counts.

n_tup_ins, n_tup_upd and n_tup_del of pg_stat_user_tables count rows, not statements, and those of rolled back
transactions too; a TRUNCATE counts nothing. A session tells its counts about once a second, between transactions.
Source: PostgreSQL manual, "The Cumulative Statistics System".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TableCount:
    """One table at one moment; partitions count for the table that statements name. rows_written: since the reset."""

    oid: int
    schema: str
    name: str
    is_unlogged: bool
    rows_written: int


@dataclass(frozen=True)
class TableWrites:
    """rows_per_s: between the samples; None where the counters fell, or the table was made meanwhile.

    rows_per_s_since_reset: on average; None where PostgreSQL does not tell since when it counts.
    """

    schema: str
    name: str
    is_unlogged: bool
    rows_written: int
    rows_per_s: float | None
    rows_per_s_since_reset: float | None


def writes_of(
    before: Mapping[int, int], tables: Sequence[TableCount], *, apart_s: float, counted_s: float | None
) -> list[TableWrites]:
    """The tables of the second sample, those written most first. before: oid -> rows_written of the first sample.

    apart_s: between the samples, above 0. counted_s: from the reset to the second sample; None if it is not known.
    """
    found = [
        TableWrites(
            schema=one.schema,
            name=one.name,
            is_unlogged=one.is_unlogged,
            rows_written=one.rows_written,
            rows_per_s=_rate(before.get(one.oid), one.rows_written, apart_s),
            rows_per_s_since_reset=one.rows_written / counted_s if counted_s else None,
        )
        for one in tables
    ]
    return sorted(found, key=lambda one: (-(one.rows_per_s or 0), -one.rows_written, one.schema, one.name))


def _rate(before: int | None, after: int, apart_s: float) -> float | None:
    return None if before is None or after < before else (after - before) / apart_s
