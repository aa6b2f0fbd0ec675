"""When a backend's replay lag was over a limit, for many backends in one statement."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.db import connection

# Each backend is read backwards from the end, and only as far as to the first sample that is over.
_LATEST_OVER = """
SELECT wanted.backend_id, found.at
FROM unnest(%s::bigint[], %s::timestamptz[], %s::bigint[], %s::float8[])
     AS wanted (backend_id, start, size_bytes, time_s)
CROSS JOIN LATERAL (
    SELECT at FROM clusters_backend_sample AS sample
    WHERE sample.backend_id = wanted.backend_id AND sample.at >= wanted.start AND sample.at BETWEEN %s AND %s
      AND (sample.replay_lag_bytes > wanted.size_bytes OR sample.replay_lag_s > wanted.time_s)
    ORDER BY at DESC LIMIT 1
) AS found
"""


class LagLimit(NamedTuple):
    """What is asked of one backend: size_bytes or time_s, the other is None; from start on."""

    backend_id: int
    start: dt.datetime
    size_bytes: int | None
    time_s: float | None


def latest_over(limits: Sequence[LagLimit], *, end: dt.datetime) -> Mapping[int, dt.datetime]:
    """backend_id -> its latest sample over the limit; those without any are left out."""
    if not limits:
        return {}
    earliest = min(one.start for one in limits)
    with connection.cursor() as cursor:
        cursor.execute(_LATEST_OVER, [*(list(column) for column in zip(*limits, strict=True)), earliest, end])
        return dict(cursor.fetchall())
