"""The latest rows keep what they must, and samples lie in partitions that come and go."""

import datetime as dt
from zoneinfo import ZoneInfo

import psycopg
import pytest
from django.db import connection

from apps.clusters.history import partitions
from apps.clusters.history.latest import InstanceNow, NodeNow, PoolNodeNow, rewrite
from apps.clusters.models import BackendLatest, Cluster, InstanceLatest, NodeLatest
from tests.clusters.sampled_cluster import START, after, backend_now, count_reads, instance_ids, registered

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(db: None) -> Cluster:
    return registered()


def instance_now(instance_id: int, at: dt.datetime, state: str, *, answered: bool = True) -> InstanceNow:
    return InstanceNow(
        instance_id, at, at if answered else None, state, "", 1.0, 3, 32 if answered else None, 7, "", 1, 2, 1, 1
    )  # fmt: skip


def test_what_stays_as_it_is_keeps_its_since(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    rewrite(
        instances=[instance_now(first, after(0), "answering")], nodes=[NodeNow(first, 1, after(0), "up", "standby", 5)]
    )
    rewrite(pool_nodes=[PoolNodeNow(first, 1, after(0), "up", "standby", 0.5, 0, None, "streaming", "async")])
    rewrite(
        instances=[instance_now(first, after(2), "answering")], nodes=[NodeNow(first, 1, after(2), "up", "standby", 6)]
    )
    rewrite(pool_nodes=[PoolNodeNow(first, 1, after(2), "up", "standby", 0.5, 0, None, "streaming", "async")])

    latest = InstanceLatest.objects.get(pk=first)
    node = NodeLatest.objects.get(instance_id=first, node_id=1)
    assert (latest.state_since, latest.answered_at) == (after(0), after(2))
    assert (node.status_since, node.weight_since, node.seen_at) == (after(0), after(0), after(2))
    assert (node.select_count, node.lb_weight, node.replication_state) == (6, 0.5, "streaming")


def test_a_failed_poll_keeps_the_time_of_the_latest_answer_and_forgets_no_counter(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    rewrite(instances=[instance_now(first, after(0), "answering")])
    failed = instance_now(first, after(2), "unreachable", answered=False)
    rewrite(instances=[failed._replace(probe_ms=None, session_count=None)])

    latest = InstanceLatest.objects.get(pk=first)
    assert (latest.state, latest.state_since) == ("unreachable", after(2))
    assert (latest.polled_at, latest.answered_at) == (after(2), after(0))
    assert (latest.probe_ms, latest.session_count, latest.children_total) == (None, 7, 32)


def test_a_changed_weight_starts_a_new_since(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    rewrite(nodes=[NodeNow(first, 1, after(0), "up", "standby", 5)])
    for at_s, weight in ((0, 0.5), (2, 0.25)):
        rewrite(pool_nodes=[PoolNodeNow(first, 1, after(at_s), "up", "standby", weight, 0, None, "", "")])

    assert NodeLatest.objects.get(instance_id=first, node_id=1).weight_since == after(2)


def test_a_backend_that_fails_keeps_its_version(cluster: Cluster) -> None:
    backend = cluster.backends.order_by("node_id")[0]
    rewrite(backends=[backend_now(backend, is_in_recovery=False)])
    rewrite(
        backends=[backend_now(backend, is_in_recovery=False)._replace(answered_at=None, server_version="", reason="x")]
    )

    latest = BackendLatest.objects.get(pk=backend.pk)
    assert (latest.server_version, latest.reason, latest.answered_at) == ("15.18", "x", START)


def test_partitions_are_made_ahead_and_old_ones_dropped(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    made = partitions.ensure_partitions(now=START)
    count_reads(first, [(0, 1, 1)])

    assert "clusters_node_sample_20260301" in made
    assert "clusters_node_sample_20260303" in made
    assert partitions.ensure_partitions(now=START) == []
    assert rows_in("clusters_node_sample_20260301") == 3
    assert partitions.drop_old_samples(now=START + dt.timedelta(days=30)) == []
    assert "clusters_node_sample_20260301" in partitions.drop_old_samples(now=START + dt.timedelta(days=31))


def test_days_are_those_of_utc_wherever_the_clock_is(cluster: Cluster) -> None:
    # A quarter past eight in the evening in New York, on the day its clocks go forward; in UTC it is past midnight.
    evening = dt.datetime(2026, 3, 8, 20, 15, tzinfo=ZoneInfo("America/New_York"))

    made = [name for name in partitions.ensure_partitions(now=evening) if "node" in name]

    assert made == [f"clusters_node_sample_202603{day:02}" for day in (9, 10, 11)]


@pytest.mark.django_db(transaction=True)
def test_a_partition_that_somebody_reads_is_dropped_later(cluster: Cluster) -> None:
    long_after = START + dt.timedelta(days=40)
    partitions.ensure_partitions(now=START)
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": None}) as reader:
        reader.execute("SELECT FROM clusters_node_sample_20260301")

        dropped = partitions.drop_old_samples(now=long_after)

    assert "clusters_node_sample_20260301" not in dropped
    assert "clusters_node_sample_20260302" in dropped  # the others need not wait for it
    assert partitions.drop_old_samples(now=long_after) == ["clusters_node_sample_20260301"]


def test_a_day_that_lies_in_the_default_partition_stays_there(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    count_reads(first, [(0, 1, 1)])

    made = partitions.ensure_partitions(now=START)

    assert "clusters_node_sample_20260301" not in made
    assert "clusters_node_sample_20260302" in made
    assert rows_in("clusters_node_sample_default") == 3
    partitions.drop_old_samples(now=START + dt.timedelta(days=40))
    assert rows_in("clusters_node_sample_default") == 0


def rows_in(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")  # noqa: S608  a name of ours
        return int(cursor.fetchone()[0])
