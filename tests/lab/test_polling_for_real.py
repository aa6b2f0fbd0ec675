"""A watched shard against real pgpools and backends: figures that mean something, and faults seen for what they are."""

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from apps.clusters.history.series import series
from apps.clusters.history.windows import window_counts
from apps.clusters.models import (
    BackendLatest,
    BackendSample,
    Cluster,
    ClusterEvent,
    InstanceLatest,
    InstanceSample,
    NodeLatest,
)
from deploy.lab import Lab
from tests.clusters.polling_scene import watching
from tests.lab.registered import register_lab

pytestmark = pytest.mark.django_db(transaction=True)

Wait = Callable[..., None]
SESSIONS = 30


@pytest.fixture
def orders(restored_lab: Lab, settings: Any, transactional_db: None) -> Iterator[Cluster]:
    cluster, _ = register_lab(restored_lab, settings)
    with watching():
        yield cluster


def states(cluster: Cluster) -> dict[str, str]:
    latest = InstanceLatest.objects.filter(instance__cluster=cluster)
    return dict(latest.values_list("instance__name", "state"))


def backend(cluster: Cluster, name: str) -> BackendLatest:
    return BackendLatest.objects.get(backend__cluster=cluster, backend__application_name=name)


def is_settled(cluster: Cluster) -> bool:
    """Every pgpool answers, every weight and every lag is known."""
    lags = BackendLatest.objects.filter(backend__cluster=cluster, replay_lag_bytes__isnull=False)
    weights = NodeLatest.objects.filter(instance__cluster=cluster, lb_weight__isnull=False)
    return set(states(cluster).values()) == {"answering"} and weights.count() == 9 and lags.count() == 2


def samples(cluster: Cluster, name: str) -> int:
    instance = cluster.instances.get(name=name)
    return InstanceSample.objects.filter(instance_id=instance.pk, is_answering=True).count()


def read_once(lab: Lab, number: int) -> None:
    """A short session: two reads, each of its own text, so that the query cache answers none."""
    pgpool, app = lab.plan.pgpools[0], lab.addresses["app"]
    with psycopg.connect(
        host=pgpool.host, port=pgpool.port, user=app["username"], password=app["password"], dbname=app["database"],
        autocommit=True, prepare_threshold=None, sslmode="disable", connect_timeout=20,
    ) as connection:  # fmt: skip
        for turn in range(2):
            connection.execute(b"SELECT balance + %d FROM accounts WHERE id = 7" % (number * 10 + turn))


def test_a_real_cluster_is_seen_as_it_is(restored_lab: Lab, orders: Cluster, wait_until: Wait) -> None:
    wait_until(lambda: is_settled(orders), "the cluster is seen whole")

    weights = NodeLatest.objects.filter(instance__cluster=orders, instance__name="pgpool-2").order_by("node_id")
    assert list(weights.values_list("lb_weight", "status", "role")) == [
        (0, "up", "primary"),
        (0.5, "up", "standby"),
        (0.5, "up", "standby"),
    ]
    primary, standby = backend(orders, "pg1"), backend(orders, "pg2")
    assert (primary.is_in_recovery, primary.replay_lag_bytes, primary.reason) == (False, None, "")
    assert (standby.is_in_recovery, standby.replication_state, standby.lag_reason) == (True, "streaming", "")
    assert primary.lsn_bytes is not None
    assert primary.probe_ms is not None
    instance = InstanceLatest.objects.select_related("instance").get(
        instance__cluster=orders, instance__name="pgpool-1"
    )
    assert instance.probe_ms is not None
    assert instance.children_total == restored_lab.num_init_children
    assert instance.children_used == 0
    assert instance.instance.version
    assert not ClusterEvent.objects.filter(cluster=orders).exists()


def test_reads_and_sessions_of_clients_are_counted_and_ours_are_not(
    restored_lab: Lab, orders: Cluster, wait_until: Wait
) -> None:
    wait_until(lambda: is_settled(orders), "the cluster is seen whole")
    start = dt.datetime.now(dt.UTC)
    for number in range(SESSIONS):
        read_once(restored_lab, number)

    def counted() -> tuple[int, int | None]:
        window = window_counts(cluster=orders, start=start, end=dt.datetime.now(dt.UTC))[0]
        return sum(window.select_counts.values()), window.sessions

    # A session that has just ended may be seen as open and as ended for a moment.
    wait_until(lambda: counted() == (2 * SESSIONS, SESSIONS), "all reads and all sessions are counted, no more")
    others = window_counts(cluster=orders, start=start, end=dt.datetime.now(dt.UTC))[1]
    assert (sum(others.select_counts.values()), others.sessions) == (0, 0)
    shares = series(cluster=orders, metric="read_share", start=start, end=dt.datetime.now(dt.UTC), points=100)
    known = [sum(values) for values in zip(*(values_of(one) for one in shares["series"]), strict=True)]
    assert known
    assert known == pytest.approx([1.0] * len(known), abs=1e-4)


def values_of(one: Any) -> list[float]:
    return [value for _, value in one["points"] if value is not None]


def test_a_frozen_pgpool_is_seen_and_the_others_go_on(restored_lab: Lab, orders: Cluster, wait_until: Wait) -> None:
    wait_until(lambda: is_settled(orders), "the cluster is seen whole")
    restored_lab.freeze("pgpool-2")
    wait_until(lambda: states(orders)["pgpool-2"] in ("hanging", "unreachable"), "it is seen not to answer")
    before = samples(orders, "pgpool-1"), samples(orders, "pgpool-3")
    wait_until(lambda: samples(orders, "pgpool-1") > before[0] + 2, "pgpool-1 goes on")
    wait_until(lambda: samples(orders, "pgpool-3") > before[1] + 2, "pgpool-3 goes on")

    restored_lab.resume("pgpool-2")

    wait_until(lambda: states(orders)["pgpool-2"] == "answering", "it is seen to answer again")


def test_a_killed_pgpool_is_unreachable_until_it_is_started(
    restored_lab: Lab, orders: Cluster, wait_until: Wait
) -> None:
    wait_until(lambda: is_settled(orders), "the cluster is seen whole")
    restored_lab.stop("pgpool-3")
    wait_until(lambda: states(orders)["pgpool-3"] == "unreachable", "it is seen to be away")
    # Told at the second look that failed.
    wait_until(lambda: "pgpool-3 does not answer" in titles(orders), "that it is away is told")

    restored_lab.start("pgpool-3")

    wait_until(lambda: states(orders)["pgpool-3"] == "answering", "it is seen to be back")
    wait_until(lambda: "pgpool-3 answers again" in titles(orders), "that it is back is told")


def test_a_standby_whose_replay_is_paused_lags(restored_lab: Lab, orders: Cluster, wait_until: Wait) -> None:
    wait_until(lambda: is_settled(orders), "the cluster is seen whole")
    restored_lab.pause_replay("pg3")
    with restored_lab.backends.connect(restored_lab.plan.backends[0], "shop") as connection:
        connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id <= 2000")

    wait_until(lambda: (backend(orders, "pg3").replay_lag_bytes or 0) > 0, "its lag is seen in bytes")
    wait_until(lambda: (backend(orders, "pg3").replay_lag_s or 0) > 0, "its lag is seen in seconds")
    assert "pg3 lags too far behind" not in titles(orders)
    with restored_lab.backends.connect(restored_lab.plan.backends[0], "shop") as connection:
        # More WAL than the lab's delay_threshold of 2 MiB.
        connection.execute("SELECT pg_logical_emit_message(true, 'lag', repeat('x', 3 << 20))")
    wait_until(lambda: "pg3 lags too far behind" in titles(orders), "that it is over delay_threshold is told")

    restored_lab.resume_replay("pg3")

    wait_until(lambda: backend(orders, "pg3").replay_lag_bytes == 0, "it has caught up")
    wait_until(lambda: "pg3 has caught up" in titles(orders), "that is told too")
    assert titles(orders).count("pg3 lags too far behind") == 1


def test_reads_that_a_standby_cancels_are_counted(restored_lab: Lab, orders: Cluster, wait_until: Wait) -> None:
    def cancelled(name: str) -> int:
        told = BackendSample.objects.filter(backend_id=backend(orders, name).pk, aborted_count__isnull=False)
        return told.latest("at").aborted_count or 0

    wait_until(lambda: is_settled(orders), "the cluster is seen whole")
    primary, _, pg3 = restored_lab.plan.backends
    before = cancelled("pg3")
    with restored_lab.backends.connect(pg3, "shop") as standby:
        standby.execute("ALTER SYSTEM SET max_standby_streaming_delay = 0")
        standby.execute("SELECT pg_reload_conf()")
        try:
            reader = restored_lab.backends.connect(pg3, "shop")
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM accounts")
            with restored_lab.backends.connect(primary, "shop") as writer, writer.transaction():
                writer.execute("LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE")

            wait_until(lambda: cancelled("pg3") > before, "the cancelled read is counted")
            reader.close()
        finally:
            standby.execute("ALTER SYSTEM RESET max_standby_streaming_delay")
            standby.execute("SELECT pg_reload_conf()")


def test_a_killed_standby_is_seen_directly_and_told_when_pgpool_drops_it(
    restored_lab: Lab, orders: Cluster, wait_until: Wait
) -> None:
    wait_until(lambda: is_settled(orders), "the cluster is seen whole")
    restored_lab.kill("pg2")
    wait_until(lambda: backend(orders, "pg2").reason, "it is seen not to answer")
    wait_until(lambda: "pg2 went down" in titles(orders), "pgpool has dropped it")
    killed = backend(orders, "pg2")
    assert killed.replay_lag_bytes is None
    assert killed.lag_reason

    restored_lab.start("pg2")

    wait_until(lambda: is_settled(orders), "all is well again")
    wait_until(lambda: "pg2 is up again" in titles(orders), "its return is told")
    assert titles(orders).count("pg2 went down") == 1


def titles(cluster: Cluster) -> list[str]:
    return list(ClusterEvent.objects.filter(cluster=cluster).order_by("at", "pk").values_list("title", flat=True))
