"""How long a round trip through each pgpool took in a window of time."""

import datetime as dt
from collections.abc import Collection

from django.db import connection

from apps.clusters.domain.guards import RoundTrips

_MEDIANS = """
SELECT instance_id, count(probe_ms), percentile_cont(0.5) WITHIN GROUP (ORDER BY probe_ms)
FROM clusters_instance_sample
WHERE instance_id = ANY(%s) AND at > %s AND at <= %s AND probe_ms IS NOT NULL
GROUP BY instance_id
"""


def round_trips(*, instance_ids: Collection[int], start: dt.datetime, end: dt.datetime) -> dict[int, RoundTrips]:
    """Instance id -> the round trips in (start, end]; an instance without any is missing."""
    with connection.cursor() as cursor:
        cursor.execute(_MEDIANS, [list(instance_ids), start, end])
        return {instance_id: RoundTrips(count, median_ms) for instance_id, count, median_ms in cursor.fetchall()}
