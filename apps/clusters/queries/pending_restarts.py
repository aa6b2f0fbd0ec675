"""What waits for a restart of a pgpool: in its file, but not in use."""

from collections.abc import Collection
from datetime import datetime
from typing import TypedDict

from apps.clusters.models import Cluster, PendingRestart


class PendingRestartAnswer(TypedDict):
    """file: the value in pgpool.conf; running: what pgpool uses until it is restarted."""

    instance: str
    parameter: str
    file: str
    running: str
    since: datetime
    rollout: int | None


def pending_restarts(*, cluster: Cluster) -> list[PendingRestartAnswer]:
    return pending_by_cluster([cluster.pk]).get(cluster.pk, [])


def pending_by_cluster(cluster_ids: Collection[int]) -> dict[int, list[PendingRestartAnswer]]:
    rows = PendingRestart.objects.filter(instance__cluster__in=cluster_ids).select_related("instance")
    found: dict[int, list[PendingRestartAnswer]] = {}
    for row in rows.defer("instance__pcp_password").order_by("instance__name", "name"):
        found.setdefault(row.instance.cluster_id, []).append(
            {
                "instance": row.instance.name,
                "parameter": row.name,
                "file": row.wanted,
                "running": row.running,
                "since": row.since,
                "rollout": row.rollout_id,
            }
        )
    return found
