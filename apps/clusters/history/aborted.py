"""How many reads each standby cancelled in a window of time."""

import datetime as dt
from collections.abc import Collection

from django.db import connection

from apps.clusters.domain.guards import Aborted

# What a primary counts are deadlocks of writers, which no rollout moves. The first step may begin before the window.
_GROWN = """
SELECT backend_id, sum(aborted_count - earlier)::bigint, sum(extract(epoch FROM at - earlier_at))::float8,
       bool_or(aborted_count < earlier)
FROM (
    SELECT backend_id, at, aborted_count,
           lag(aborted_count) OVER series AS earlier, lag(at) OVER series AS earlier_at
    FROM clusters_backend_sample
    WHERE backend_id = ANY(%(ids)s) AND at > %(start)s - interval '10 s' AND at <= %(end)s
      AND is_in_recovery AND aborted_count IS NOT NULL
    WINDOW series AS (PARTITION BY backend_id ORDER BY at)
) AS told
WHERE at > %(start)s AND earlier IS NOT NULL
GROUP BY backend_id
"""


def aborted(*, backend_ids: Collection[int], start: dt.datetime, end: dt.datetime) -> dict[int, Aborted]:
    """Backend id -> the reads that it cancelled in (start, end]; one that did not tell twice is missing."""
    with connection.cursor() as cursor:
        cursor.execute(_GROWN, {"ids": list(backend_ids), "start": start, "end": end})
        return {
            backend_id: Aborted(None if is_set_back else count, seconds, is_set_back)
            for backend_id, count, seconds, is_set_back in cursor.fetchall()
        }
