"""What a watch tells as a change from outside, when the registry that it read is some seconds old."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest

from apps.accounts.models import Organisation
from apps.clusters.domain.show_rows import PoolNode
from apps.clusters.models import (
    Cluster,
    ClusterEvent,
    ConfigRevision,
    InstanceLatest,
    PgpoolInstance,
    RestartStep,
    RevisionFile,
    RollingRestart,
    Rollout,
    RolloutStep,
)
from apps.clusters.polling.changes import Change, changes
from apps.clusters.polling.memory import ClusterMemory, remembered
from apps.clusters.polling.readings import InstanceReading, NodeReading, State, Tick
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


def looked(cluster: Cluster, memory: ClusterMemory, *, after_s: float, state: State = "unreachable") -> list[Change]:
    """One look, so many seconds after the order to restart."""
    [instance] = cluster.instances.all()
    [watched] = watched_clusters(shard=0, shards=1, now=NOW)
    reading = InstanceReading(instance.pk, state, reason="Check that pgpool runs.")
    tick = Tick(at=NOW + dt.timedelta(seconds=after_s), number=1, instances=(reading,), backends=())
    return changes(cluster=watched, memory=memory, tick=tick)


def restart_of(cluster: Cluster, **step: Any) -> RollingRestart:
    [instance] = cluster.instances.all()
    restart = RollingRestart.objects.create(cluster=cluster)
    RestartStep.objects.create(
        restart=restart, position=0, instance=instance, instance_name=instance.name,
        **{"way": "command", "state": "ordered", "ordered_at": NOW, **step},
    )  # fmt: skip
    return restart


def told_as(found: list[Change]) -> list[tuple[str, bool]]:
    return [(one.title, one.is_problem) for one in found]


def test_a_pgpool_that_is_away_for_our_own_restart_is_no_alarm(cluster: Cluster) -> None:
    restart, memory = restart_of(cluster), ClusterMemory()

    assert looked(cluster, memory, after_s=1) == []
    assert told_as(looked(cluster, memory, after_s=3)) == [(f"pgpool-1 is away for restart #{restart.pk}", False)]
    assert looked(cluster, memory, after_s=5) == []
    assert told_as(looked(cluster, memory, after_s=7, state="answering")) == [("pgpool-1 answers again", False)]


@pytest.mark.parametrize(
    ("step", "patience_s"),
    [
        ({"ended_at": NOW, "silent_at": NOW}, 360),
        ({"state": "restarted", "returned_at": NOW}, 360),
        ({"way": "hand", "silent_at": NOW}, 360),  # and not the hours within which a person may begin
    ],
)
def test_one_that_stays_away_longer_than_its_restart_may_take_is_an_alarm(
    cluster: Cluster, step: dict[str, Any], patience_s: float
) -> None:
    restart_of(cluster, **step)
    memory = ClusterMemory()
    for after_s in (1, 3, patience_s - 1):
        assert not any(one.is_problem for one in looked(cluster, memory, after_s=after_s))

    assert told_as(looked(cluster, memory, after_s=patience_s)) == [("pgpool-1 does not answer", True)]
    assert looked(cluster, memory, after_s=patience_s + 2) == []


def test_a_restart_that_failed_leaves_an_alarm(cluster: Cluster) -> None:
    restart, memory = restart_of(cluster), ClusterMemory()
    for after_s in (1, 3):
        looked(cluster, memory, after_s=after_s)
    RollingRestart.objects.filter(pk=restart.pk).update(state="failed")

    assert told_as(looked(cluster, memory, after_s=5)) == [("pgpool-1 does not answer", True)]


def test_another_poller_goes_on_waiting_for_it_and_tells_when_it_stays_away(cluster: Cluster) -> None:
    restart_of(cluster, ended_at=NOW, silent_at=NOW)
    InstanceLatest.objects.create(instance=cluster.instances.get(), polled_at=NOW, state="unreachable", state_since=NOW)
    memory = remembered(cluster.pk)

    for after_s in (1, 3):
        assert looked(cluster, memory, after_s=after_s) == []
    assert told_as(looked(cluster, memory, after_s=361)) == [("pgpool-1 does not answer", True)]


@pytest.fixture
def away(cluster: Cluster) -> RollingRestart:
    """Away since its restart, which failed right after the latest look."""
    restart = restart_of(cluster)
    RollingRestart.objects.filter(pk=restart.pk).update(state="failed")
    InstanceLatest.objects.create(instance=cluster.instances.get(), polled_at=NOW, state="unreachable", state_since=NOW)
    return restart


def was_told(cluster: Cluster, title: str, *, is_problem: bool = False) -> None:
    ClusterEvent.objects.create(
        cluster=cluster, at=NOW, kind="instance", title=title, is_problem=is_problem, instance_name="pgpool-1"
    )


@pytest.mark.parametrize("is_away_told", [True, False])
def test_a_restart_that_failed_between_two_pollers_leaves_an_alarm_too(
    cluster: Cluster, away: RollingRestart, is_away_told: bool
) -> None:
    if is_away_told:
        was_told(cluster, f"pgpool-1 is away for restart #{away.pk}")
    memory = remembered(cluster.pk)

    assert looked(cluster, memory, after_s=1) == []
    assert told_as(looked(cluster, memory, after_s=3)) == [("pgpool-1 does not answer", True)]
    was_told(cluster, "pgpool-1 does not answer", is_problem=True)
    memory = remembered(cluster.pk)  # of a third poller
    for after_s in (5, 7):
        assert looked(cluster, memory, after_s=after_s) == []
    assert told_as(looked(cluster, memory, after_s=9, state="answering")) == [("pgpool-1 answers again", False)]


def test_one_that_was_told_to_be_away_is_told_to_be_back_by_the_next_poller(
    cluster: Cluster, away: RollingRestart
) -> None:
    was_told(cluster, f"pgpool-1 is away for restart #{away.pk}")

    found = looked(cluster, remembered(cluster.pk), after_s=1, state="answering")

    assert told_as(found) == [("pgpool-1 answers again", False)]


def test_one_that_was_silent_before_its_restart_is_told_once(cluster: Cluster) -> None:
    was_told(cluster, "pgpool-1 hangs", is_problem=True)
    restart_of(cluster)
    InstanceLatest.objects.create(instance=cluster.instances.get(), polled_at=NOW, state="hanging", state_since=NOW)
    memory = remembered(cluster.pk)

    for after_s in (1, 3, 10_000):
        assert looked(cluster, memory, after_s=after_s) == []
