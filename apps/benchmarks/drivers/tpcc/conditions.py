"""Consistency conditions 1 to 4 of TPC-C, clause 3.3.2, asked of a primary that nobody loads any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import LiteralString

from apps.benchmarks.domain import tpcc
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.drivers import database

# By the number of the condition. Rows of each: a place, as two numbers by which it is ordered; whether it holds there;
# the place and its figures in words.
_LOOKS: dict[int, LiteralString] = {
    1: """
        SELECT w_id, 0, w_ytd = taken,
            format('warehouse %s (W_YTD %s, sum(D_YTD) %s)', w_id, w_ytd, coalesce(taken::text, 'nothing'))
        FROM lifeguard_tpcc.warehouse
        LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS taken FROM lifeguard_tpcc.district GROUP BY d_w_id) AS districts
            ON d_w_id = w_id
    """,
    # A district in which no order waits has no NO_O_ID to look at.
    2: """
        SELECT d_w_id, d_id, d_next_o_id - 1 = latest AND latest = coalesce(waiting, latest),
            format('district %s of warehouse %s (D_NEXT_O_ID %s, max(O_ID) %s, max(NO_O_ID) %s)', d_id, d_w_id,
                d_next_o_id, coalesce(latest::text, 'nothing'), coalesce(waiting::text, 'nothing'))
        FROM lifeguard_tpcc.district,
            LATERAL (SELECT max(o_id) FROM lifeguard_tpcc.orders WHERE o_w_id = d_w_id AND o_d_id = d_id)
                AS ordered (latest),
            LATERAL (SELECT max(no_o_id) FROM lifeguard_tpcc.new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)
                AS not_delivered (waiting)
    """,
    3: """
        SELECT d_w_id, d_id, waiting = 0 OR latest - oldest + 1 = waiting,
            format('district %s of warehouse %s (NO_O_ID %s to %s, count %s)', d_id, d_w_id, oldest, latest, waiting)
        FROM lifeguard_tpcc.district,
            LATERAL (
                SELECT min(no_o_id), max(no_o_id), count(*) FROM lifeguard_tpcc.new_order
                WHERE no_w_id = d_w_id AND no_d_id = d_id
            ) AS not_delivered (oldest, latest, waiting)
    """,
    4: """
        SELECT d_w_id, d_id, counted = there,
            format('district %s of warehouse %s (sum(O_OL_CNT) %s, lines %s)', d_id, d_w_id,
                coalesce(counted::text, 'nothing'), coalesce(there::text, 'nothing'))
        FROM lifeguard_tpcc.district
        LEFT JOIN (
            SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS counted FROM lifeguard_tpcc.orders GROUP BY o_w_id, o_d_id
        ) AS ordered ON o_w_id = d_w_id AND o_d_id = d_id
        LEFT JOIN (
            SELECT ol_w_id, ol_d_id, count(*) AS there FROM lifeguard_tpcc.order_line GROUP BY ol_w_id, ol_d_id
        ) AS lines ON ol_w_id = d_w_id AND ol_d_id = d_id
    """,
}
_COUNTED: LiteralString = """
    SELECT count(*), count(*) FILTER (WHERE holds IS NOT TRUE),
        coalesce((array_agg(told ORDER BY w, d) FILTER (WHERE holds IS NOT TRUE))[1], '')
    FROM ({}) AS looked (w, d, holds, told)
"""


def look(session: database.Session, *, watch: Callable[[], None]) -> list[RunFinding]:
    """A finding for each condition. watch: called meanwhile, as it may take minutes; may raise."""
    found = []
    for condition in tpcc.CONDITIONS:
        statement = _COUNTED.format(_LOOKS[condition.number])
        places, broken, first = database.watched(session, statement, watch).fetchone() or (0, 0, "")
        found.append(tpcc.of_condition(condition, tpcc.Looked(places, broken, first)))
    return found
