"""Which backends were over delay_threshold in a window: what explains reads that went elsewhere meanwhile."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from apps.clusters.history.lagging import LagLimit, latest_over
from apps.clusters.queries.sight import Sight


def lagged_until(windows: Iterable[tuple[Sight, datetime]], *, end: datetime) -> Mapping[int, datetime]:
    """windows: clusters, each with the start of its own. Returns backend id -> when its lag was over latest."""
    limits = [
        LagLimit(one.backend.pk, start, threshold.effective_bytes, threshold.effective_s)
        for sight, start in windows
        if (threshold := sight.cluster.delay_threshold).is_set
        for one in sight.backends
        if one.role != "primary"
    ]
    return latest_over(limits, end=end)
