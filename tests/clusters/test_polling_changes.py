"""What a watch tells as a change from outside, when the registry that it read is some seconds old."""

import datetime as dt
from collections.abc import Mapping

import pytest

from apps.accounts.models import Organisation
from apps.clusters.domain.show_rows import PoolNode
from apps.clusters.models import Cluster, ConfigRevision, PgpoolInstance, RevisionFile, Rollout, RolloutStep
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
        ("verified", NOW - dt.timedelta(seconds=1), TOLD),
        ("cancelled", NOW - dt.timedelta(seconds=1), TOLD),
    ],
)
def test_a_rollout_that_is_under_way_since_the_registry_was_read_is_no_change_from_outside(
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


@pytest.fixture
def rolled_out(cluster: Cluster) -> Cluster:
    """Lifeguard wrote the weights 0, 1, 3 long ago."""
    [instance] = cluster.instances.all()
    revision = ConfigRevision.objects.create(cluster=cluster, number=1, origin="edit", weights={})
    rollout = Rollout.objects.create(
        cluster=cluster, revision=revision, state="verified", finished_at=NOW - dt.timedelta(hours=1)
    )
    lines = [f"backend_hostname{n} = 'db{n}'\nbackend_weight{n} = {weight}\n" for n, weight in enumerate((0, 1, 3))]
    file = RevisionFile.objects.create(
        revision=revision, instance=instance, instance_name=instance.name, text="".join(lines), sha256="2" * 64,
        base_text="", base_sha256="1" * 64,
    )  # fmt: skip
    RolloutStep.objects.create(
        rollout=rollout, position=0, instance=instance, instance_name=instance.name, file=file, state="verified"
    )
    return cluster


def test_a_pgpool_that_comes_back_with_the_weights_of_an_earlier_rollout_was_not_changed_from_outside(
    rolled_out: Cluster,
) -> None:
    [watched] = watched_clusters(shard=0, shards=1, now=NOW)
    memory = ClusterMemory()
    assert told(rolled_out, {0: 0.0, 1: 0.5, 2: 0.5}, memory, watched) == []  # before it was stopped

    assert told(rolled_out, {0: 0.0, 1: 0.25, 2: 0.75}, memory, watched) == []


def test_a_change_from_outside_is_told_and_so_is_its_end(rolled_out: Cluster) -> None:
    [watched] = watched_clusters(shard=0, shards=1, now=NOW)
    memory = ClusterMemory()
    written, other = {0: 0.0, 1: 0.25, 2: 0.75}, {0: 0.0, 1: 0.75, 2: 0.25}
    assert told(rolled_out, written, memory, watched) == []

    assert told(rolled_out, other, memory, watched) == TOLD
    assert told(rolled_out, written, memory, watched) == ["Weights are as Lifeguard wrote them again"]
    assert told(rolled_out, written, memory, watched) == []
