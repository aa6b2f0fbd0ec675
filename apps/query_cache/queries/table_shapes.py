"""What pages and REST tell of the tables whose writes empty a cache."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from apps.query_cache.queries.shapes import DraftWish


class TableAnswer(TypedDict):
    """One table; its partitions are counted for it. rows_written: since the statistics were reset.

    Rates are rows a second, null where not known. kept: whether pgpool keeps results of it: yes, off (no cache is on),
    left_out (by every pgpool whose cache is on, with and without its schema), or unlogged (pgpool keeps none unless it
    is told to).
    drafts: what leaves it out, behind what the list names already or you have drafted; empty where it is left out,
    cannot be named by an item, or the list of a pgpool is not known.
    """

    schema: str
    name: str
    is_unlogged: bool
    rows_written: int
    rows_per_s: float | None
    rows_per_s_since_reset: float | None
    kept: str
    drafts: list[DraftWish]


class TableReading(TypedDict):
    """Two samples of the primary, apart_s between them. reset_at: since when PostgreSQL counts, null if not told.

    tables: the 20 written most, those of the moment first, of table_count; written_count: those that were written.
    """

    database: str
    backend: str
    first_at: datetime
    second_at: datetime
    apart_s: float
    reset_at: datetime | None
    table_count: int
    written_count: int
    tables: list[TableAnswer]


class TableSurveyAnswer(TypedDict):
    """state: pending, running (until its second sample), done or failed. error: why it failed."""

    id: int
    database: str
    state: str
    requested_by: str
    requested_at: datetime
    finished_at: datetime | None
    backend: str
    error: str


class TablesAnswer(TypedDict):
    """latest: the newest survey; reading: what the newest one found that was done. Of one database, if asked so.

    databases: those that were read, latest first. sentence: what was found, or why nothing was.
    """

    latest: TableSurveyAnswer | None
    reading: TableReading | None
    databases: list[str]
    sentence: str
