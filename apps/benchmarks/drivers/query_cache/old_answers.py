"""Whether a cache still answers with rows that were written over: hot keys, asked for once the writes are over."""

from __future__ import annotations

import psycopg

from apps.benchmarks.domain.cache_calibration import Plan
from apps.benchmarks.domain.cache_writes import MOST_ASKED
from apps.benchmarks.drivers.query_cache.scratch import ScratchPgpool

# pgpool sends a SELECT that begins so to the primary.
_AT_THE_PRIMARY = "/*NO LOAD BALANCE*/ "


def count(cached: ScratchPgpool, uncached: ScratchPgpool, plan: Plan) -> tuple[int, int]:
    """(answers that it kept, old ones among them). uncached: the side without a cache, which asks the primary.

    The primary is asked before and after, so that what others write meanwhile is called old by nobody.
    """
    keys = range(1, min(plan.hot_keys, MOST_ASKED) + 1)
    before = _rows(uncached, [_AT_THE_PRIMARY + plan.hot_select(key) for key in keys])
    hits = cached.show_cache().hit_count
    answers = _rows(cached, [plan.hot_select(key) for key in keys])
    kept = cached.show_cache().hit_count - hits
    after = _rows(uncached, [_AT_THE_PRIMARY + plan.hot_select(key) for key in keys])
    old = sum(one not in truths for one, *truths in zip(answers, before, after, strict=True))
    # What it did not keep may come from a standby that is behind, which is no old answer: so at least these are.
    return kept, max(0, old - (len(keys) - kept))


def _rows(pgpool: ScratchPgpool, statements: list[str]) -> list[list[str]]:
    """Of each its rows as text, in an order of their own: a SELECT need not have any."""
    with pgpool.session() as session, session.cursor() as cursor:
        return [sorted(map(repr, _asked(cursor, statement))) for statement in statements]


def _asked(cursor: psycopg.Cursor[tuple[object, ...]], statement: str) -> list[tuple[object, ...]]:
    # In the simple protocol, as pgbench does: only the same text in the same protocol finds what is kept.
    return cursor.execute(statement.encode()).fetchall()
