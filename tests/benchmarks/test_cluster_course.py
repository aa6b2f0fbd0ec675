"""What the cluster did beside a run, from rows that polling writes meanwhile."""

from datetime import timedelta

import pytest

from apps.benchmarks.control.cluster_course import ClusterCourse
from apps.clusters.models import Backend, BackendLatest, Cluster, InstanceLatest, NodeLatest, PgpoolInstance
from tests.benchmarks.scene import NOW

pytestmark = pytest.mark.django_db


def polled(cluster: Cluster, seconds: int, *, reads: tuple[int, int], written: int) -> None:
    """One poll of everything. reads: of nodes 0 and 1, at each pgpool."""
    at = NOW + timedelta(seconds=seconds)
    for instance in PgpoolInstance.objects.filter(cluster=cluster):
        InstanceLatest.objects.filter(instance=instance).update(polled_at=at, cache_hit_count=0, cache_miss_count=0)
        for node_id, count in enumerate(reads):
            NodeLatest.objects.update_or_create(
                instance=instance, node_id=node_id, create_defaults={
                    "seen_at": at, "status": "up", "status_since": at, "role": "standby", "weight_since": at,
                    "select_count": count,
                }, defaults={"select_count": count},
            )  # fmt: skip
    for backend in Backend.objects.filter(cluster=cluster):
        is_standby = backend.node_id > 0
        BackendLatest.objects.update_or_create(
            backend=backend,
            defaults={
                "polled_at": at, "answered_at": at, "is_in_recovery": is_standby, "lsn_bytes": written,
                "replay_lag_s": 0.25 * backend.node_id if is_standby else None,
            },
        )  # fmt: skip


def test_each_poll_during_the_load_is_a_point(cluster: Cluster) -> None:
    polled(cluster, 0, reads=(1000, 1000), written=10_000)
    course = ClusterCourse(cluster, duration_s=60)

    course.look(at_s=1)  # nothing was polled since
    polled(cluster, 5, reads=(1100, 1100), written=20_000)
    course.look(at_s=2)
    course.look(at_s=3)
    polled(cluster, 10, reads=(1130, 1190), written=70_000)
    course.look(at_s=7)

    first, second = course.points
    assert (first["at_s"], first["read_shares"], first["wal_bytes_per_s"]) == (2.0, None, None)
    assert sorted(first["replay_lag_s"].values(), key=str) == [0.25, 0.5]
    assert (second["at_s"], second["read_shares"]) == (7.0, {"0": 0.25, "1": 0.75})  # 30 and 90
    assert second["wal_bytes_per_s"] == 10_000.0
    assert second["cache_hit_share"] is None


def test_of_a_long_run_points_are_far_apart(cluster: Cluster) -> None:
    polled(cluster, 0, reads=(0, 0), written=0)
    course = ClusterCourse(cluster, duration_s=10_000)  # a point each 10 s

    for second in range(1, 31):
        polled(cluster, second, reads=(second, second), written=second)
        course.look(at_s=second)

    assert [one["at_s"] for one in course.points] == [1.0, 11.0, 21.0]


def test_nothing_is_told_of_what_nobody_polls(cluster: Cluster) -> None:
    InstanceLatest.objects.all().delete()
    course = ClusterCourse(cluster, duration_s=60)

    course.look(at_s=1)

    assert course.points == []
