"""Since when reads do not follow the weights."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from apps.clusters.domain.routing import TOLERANCE, NodeVerdict, RoutingState, Verdict
from apps.clusters.history import series
from apps.clusters.models import Cluster

LOOK_BACK = timedelta(hours=1)
POINT = timedelta(minutes=1)


def off_since(
    *, cluster: Cluster, judged: Verdict, changed_at: datetime | None, start: datetime, now: datetime
) -> datetime | None:
    """The beginning of the unbroken time in which the share that is off lay on the same side of its weight.

    start: of the window that was judged, which lies in that time. changed_at: the latest change of weights or status,
    before which other rules held. None while it is not off, and when nobody saw it follow in the latest hour.
    """
    node = _furthest(judged)
    if judged.state is not RoutingState.OFF or node is None:
        return None
    is_recent = changed_at is not None and changed_at > now - LOOK_BACK
    earliest = changed_at if changed_at is not None and is_recent else now - LOOK_BACK
    if earliest < start:
        width = round((now - earliest) / POINT) or 1
        shares = series(cluster=cluster, metric="read_share", start=earliest, end=now, points=width)
        points = next((one["points"] for one in shares["series"] if one.get("node_id") == node.node_id), [])
        since = _since_it_followed(points, node)
        if since is not None:
            return min(since, start)
    return changed_at if is_recent else None


def _furthest(judged: Verdict) -> NodeVerdict | None:
    off = [node for node in judged.nodes if node.state is RoutingState.OFF and node.observed_share is not None]
    return max(off, key=lambda node: abs((node.observed_share or 0.0) - node.effective_share), default=None)


def _since_it_followed(points: Sequence[tuple[float, float | None]], node: NodeVerdict) -> datetime | None:
    """The first point after the latest one at which the share was not off to this side; None if there is none."""
    gets_less = (node.observed_share or 0.0) < node.effective_share
    since_s: float | None = None
    for at_s, share in reversed(points):
        if share is None:
            continue
        missing = node.effective_share - share if gets_less else share - node.effective_share
        if missing <= TOLERANCE:
            return None if since_s is None else datetime.fromtimestamp(since_s, UTC)
        since_s = at_s
    return None
