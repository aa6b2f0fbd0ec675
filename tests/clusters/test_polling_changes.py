"""What a watch tells as a change from outside, when the registry that it read is some seconds old."""

import datetime as dt
from collections.abc import Mapping

import pytest

from apps.accounts.models import Organisation
from apps.clusters.domain.show_rows import PoolNode
from apps.clusters.models import Cluster, ConfigRevision, PgpoolInstance, Rollout
from apps.clusters.polling.changes import changes
from apps.clusters.polling.memory import ClusterMemory
from apps.clusters.polling.readings import InstanceReading, NodeReading, Tick
from apps.clusters.polling.registry import WatchedCluster, watched_clusters

pytestmark = pytest.mark.django_db

NOW = dt.datetime(2026, 11, 21, 14, 0, tzinfo=dt.UTC)
TOLD = ["Weights were changed outside Lifeguard"]


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    cluster = Cluster.objects.create(organisation=organisation, slug="orders", name="Orders")
    PgpoolInstance.objects.create(cluster=cluster, name="pgpool-1", host="127.0.0.1", port=1)
    return cluster


def pool_node(node_id: int, weight: float) -> PoolNode:
    return PoolNode(
        node_id=node_id,
        hostname="127.0.0.1",
        port=1,
        status="up",
        pg_status=None,
        lb_weight=weight,
        role="standby",
        pg_role=None,
        select_count=0,
        load_balance_node=False,
        replication_delay_bytes=None,
        replication_delay_s=None,
        replication_state=None,
        replication_sync_state=None,
        last_status_change=None,
    )


def told(cluster: Cluster, weights: Mapping[int, float], memory: ClusterMemory, watched: WatchedCluster) -> list[str]:
    [instance] = cluster.instances.all()
    rows = tuple(pool_node(node_id, weight) for node_id, weight in weights.items())
    nodes = tuple(NodeReading(row.node_id, row.status, row.role, row.select_count) for row in rows)
    reading = InstanceReading(instance.pk, "answering", nodes=nodes, pool_nodes=rows)
    tick = Tick(at=NOW, number=1, instances=(reading,), backends=())
    return [one.title for one in changes(cluster=watched, memory=memory, tick=tick)]


@pytest.mark.parametrize(
    ("state", "finished_at", "expected"),
    [
        ("pending", None, []),
        ("running", None, []),
        ("verified", NOW - dt.timedelta(seconds=1), []),
        ("verified", NOW - dt.timedelta(minutes=5), TOLD),
    ],
)
def test_a_rollout_that_began_since_the_registry_was_read_is_no_change_from_outside(
    cluster: Cluster, state: str, finished_at: dt.datetime | None, expected: list[str]
) -> None:
    [watched] = watched_clusters(shard=0, shards=1, now=NOW)
    memory = ClusterMemory()
    assert told(cluster, {0: 0.0, 1: 0.5, 2: 0.5}, memory, watched) == []
    revision = ConfigRevision.objects.create(cluster=cluster, number=1, origin="edit", weights={})
    Rollout.objects.create(cluster=cluster, revision=revision, state=state, finished_at=finished_at)

    now_told = told(cluster, {0: 0.0, 1: 0.25, 2: 0.75}, memory, watched)

    assert watched.has_rollout is False
    assert now_told == expected
