"""What the cluster does beside a load, taken from what polling stores meanwhile."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Max

from apps.benchmarks.domain import cluster_course
from apps.benchmarks.domain.cluster_course import ClusterPoint, Look
from apps.clusters.models import BackendLatest, Cluster, InstanceLatest, NodeLatest


class ClusterCourse:
    """Of one measurement. It asks nobody but Lifeguard's own database, and little of that while nothing is new."""

    def __init__(self, cluster: Cluster, *, duration_s: float) -> None:
        self._cluster = cluster
        self._gap_s = cluster_course.gap_s(duration_s)
        # What was polled before the load says nothing of it.
        self._polled_at = self._latest_poll()
        self._latest: Look | None = None
        self.points: list[ClusterPoint] = []

    def look(self, *, at_s: float) -> None:
        """Once a second. at_s: since the measurement began."""
        if self._latest is not None and at_s - self._latest.at_s < self._gap_s:
            return
        polled_at = self._latest_poll()
        if polled_at is None or polled_at == self._polled_at:
            return
        now = look_at(self._cluster, at_s=at_s)
        self.points.append(cluster_course.point(self._latest, now))
        self._polled_at, self._latest = polled_at, now

    def _latest_poll(self) -> datetime | None:
        found: datetime | None = InstanceLatest.objects.filter(instance__cluster=self._cluster).aggregate(
            latest=Max("polled_at")
        )["latest"]
        return found


def look_at(cluster: Cluster, *, at_s: float) -> Look:
    """What was stored latest."""
    selects: dict[str, dict[str, int]] = {}
    for node in NodeLatest.objects.filter(instance__cluster=cluster).select_related("instance"):
        if node.select_count is not None:
            selects.setdefault(node.instance.name, {})[str(node.node_id)] = node.select_count
    cache = {
        one.instance.name: (one.cache_hit_count, one.cache_miss_count)
        for one in InstanceLatest.objects.filter(instance__cluster=cluster).select_related("instance")
        if one.cache_hit_count is not None and one.cache_miss_count is not None
    }
    backends = list(BackendLatest.objects.filter(backend__cluster=cluster).select_related("backend"))
    primary = next((one for one in backends if one.is_in_recovery is False), None)
    written = None
    if primary is not None and primary.answered_at is not None and primary.lsn_bytes is not None:
        written = primary.answered_at.timestamp(), primary.lsn_bytes
    lags = {one.backend.shown_name: one.replay_lag_s for one in backends if one.is_in_recovery}
    return Look(at_s, selects, cache, lags, written)
