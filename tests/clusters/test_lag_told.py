"""A standby that falls behind delay_threshold is told once, and told again when it has caught up."""

import datetime as dt

import pytest

from apps.accounts.models import Organisation
from apps.clusters.domain.show_rows import PoolNode
from apps.clusters.history.append import BackendSampleRow, append
from apps.clusters.models import BackendLatest, Cluster, ClusterEvent
from apps.clusters.polling.lag_changes import lag_changes
from apps.clusters.polling.lags import KnownLag
from apps.clusters.polling.lease import take
from apps.clusters.polling.memory import ClusterMemory, remembered
from apps.clusters.polling.readings import BackendReading, InstanceReading, PoolSettings, Tick
from apps.clusters.polling.registry import WatchedCluster, watched_clusters
from apps.clusters.polling.shows import duration_s
from apps.clusters.polling.store import store
from apps.clusters.queries.distribution import distribution
from apps.fleet.queries import fleet
from tests.clusters.seen_cluster import NOW, ago, cluster_health, count, poll, register

pytestmark = pytest.mark.django_db

OVER, UNDER, UNKNOWN = KnownLag(True, 5000, 8.1), KnownLag(True, 900, 0.3), KnownLag(True, reason="no row")


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    """Its delay_threshold is 1000 bytes."""
    found = register(organisation)
    poll(found)
    return found


def watched() -> WatchedCluster:
    [found] = watched_clusters(shard=0, shards=1, now=NOW)
    return found


class Watch:
    """Ticks of pg3's lag, at seconds after NOW."""

    def __init__(self) -> None:
        self.cluster = watched()
        self.memory = ClusterMemory(primary=0)
        self.pg3 = self.cluster.backends[2].backend_id

    def told(self, after_s: float, lag: KnownLag | None, *, pool_nodes: tuple[PoolNode, ...] = ()) -> list[str]:
        seen = tuple(
            InstanceReading(one.instance_id, "answering", pool_nodes=pool_nodes) for one in self.cluster.instances
        )
        tick = Tick(at=ago(-after_s), number=1, instances=seen, backends=())
        lags = {} if lag is None else {self.pg3: lag}
        found = lag_changes(cluster=self.cluster, memory=self.memory, tick=tick, lags=lags)
        self.details = [one.detail for one in found]
        self.problems = [one.is_problem for one in found]
        return [one.title for one in found]


def test_a_standby_that_falls_behind_is_told_once_and_when_it_has_caught_up(cluster: Cluster) -> None:
    watch = Watch()

    assert watch.told(0, UNDER) == []
    assert watch.told(2, OVER) == ["pg3 lags too far behind"]
    assert watch.problems == [True]
    assert " ".join(watch.details) == (
        "Its replay is 5,000 bytes and 8.1 s behind; delay_threshold is 1,000 bytes. "
        "pgpool sends its reads elsewhere meanwhile."
    )
    assert watch.told(4, OVER) == []
    assert watch.told(15, UNDER) == ["pg3 has caught up"]
    assert watch.problems == [False]
    assert watch.told(17, UNDER) == []


def test_a_lag_that_swings_around_the_threshold_is_told_once(cluster: Cluster) -> None:
    watch = Watch()
    watch.told(0, OVER)

    assert [watch.told(at, UNDER if at % 4 else OVER) for at in range(2, 30, 2)] == [[]] * 14


def test_a_lag_that_is_not_known_is_neither(cluster: Cluster) -> None:
    watch = Watch()

    assert watch.told(0, UNKNOWN) == []
    watch.told(2, OVER)
    assert watch.told(60, UNKNOWN) == []
    assert watch.told(62, None) == []
    assert watch.told(64, UNDER) == ["pg3 has caught up"]


def pool_node(delay_bytes: int) -> PoolNode:
    return PoolNode(
        2, "db2.example", 5002, "up", "up", 0.75, "standby", "standby", 0, False, delay_bytes, None, None, None, None
    )  # fmt: skip


def test_where_the_primary_says_nothing_the_worst_that_a_pgpool_saw_counts(cluster: Cluster) -> None:
    assert Watch().told(0, UNKNOWN, pool_nodes=(pool_node(1001),)) == ["pg3 lags too far behind"]
    assert Watch().told(0, UNKNOWN, pool_nodes=(pool_node(1000),)) == []


def test_with_a_threshold_in_seconds_bytes_do_not_count(cluster: Cluster) -> None:
    Cluster.objects.update(delay_threshold_s=5.0)
    watch = Watch()

    assert watch.told(0, KnownLag(True, 10**9, 4.9)) == []
    assert watch.told(2, KnownLag(True, 10, 5.1)) == ["pg3 lags too far behind"]
    assert "delay_threshold_by_time is 5 s" in watch.details[0]


def test_without_a_threshold_and_for_a_primary_there_is_nothing_to_tell(cluster: Cluster) -> None:
    promoted = Watch()
    promoted.told(0, OVER)
    assert promoted.told(20, KnownLag(is_standby=False)) == []
    assert promoted.memory.lag_over_at == {}

    Cluster.objects.update(delay_threshold_bytes=0)
    assert Watch().told(0, OVER) == []


def test_the_next_watch_goes_on_from_the_rows(cluster: Cluster) -> None:
    seen = watched()
    lease = take(shard=0, holder="first")
    assert lease is not None
    memory = ClusterMemory(primary=0, lag_over_at={2: ago(5)})
    tick = Tick(NOW, 1, (), (BackendReading(seen.backends[2].backend_id, None, "refused"),))

    store(cluster=seen, tick=tick, memory=memory, lease=lease)

    assert BackendLatest.objects.get(backend__node_id=2).lag_over_at == ago(5)
    assert remembered(cluster.pk).lag_over_at == {2: ago(5)}
    assert not ClusterEvent.objects.exists()


def test_a_threshold_in_seconds_is_noted_as_pgpool_shows_it(cluster: Cluster) -> None:
    seen = watched()
    lease = take(shard=0, holder="first")
    assert lease is not None
    shown = PoolSettings("4.6.1", 32, False, 1000, 10.0)
    reading = InstanceReading(seen.instances[0].instance_id, "answering", settings=shown)

    store(cluster=seen, tick=Tick(NOW, 1, (reading,), ()), memory=ClusterMemory(), lease=lease)

    cluster.refresh_from_db()
    assert (cluster.delay_threshold_bytes, cluster.delay_threshold_s) == (1000, 10.0)


@pytest.mark.parametrize(
    ("text", "seconds"), [("10s", 10), ("1500ms", 1.5), ("2min", 120), ("0", 0), ("soon", None), (None, None)]
)
def test_durations_as_pgpool_prints_them(text: str | None, seconds: float | None) -> None:
    assert duration_s(text) == seconds


def test_a_standby_over_its_seconds_is_a_warning(cluster: Cluster) -> None:
    Cluster.objects.update(delay_threshold_s=5.0)
    BackendLatest.objects.filter(backend__node_id=2).update(replay_lag_bytes=10, replay_lag_s=6.0)
    BackendLatest.objects.filter(backend__node_id=1).update(replay_lag_bytes=10**9, replay_lag_s=1.0)
    cluster.refresh_from_db()

    found = cluster_health(cluster=cluster, now=NOW)

    assert found["reasons"] == ["The replay lag of pg3 (6.0 s) is over delay_threshold."]


def lagged(cluster: Cluster, at: dt.datetime, *, lag_bytes: int = 5000, lag_s: float = 8.1) -> None:
    backend = cluster.backends.get(node_id=2)
    append(
        backends=[
            BackendSampleRow(backend.pk, at, True, True, 0.4, 1, lag_s, lag_bytes),
            BackendSampleRow(backend.pk, at + dt.timedelta(seconds=2), True, True, 0.4, 1, 0.1, 100),
        ]
    )


def off(cluster: Cluster) -> None:
    """pg3 has 75 % of the weight and gets 45 % of the reads."""
    for instance in cluster.instances.all():
        count(instance, {0: 300, 1: 250, 2: 450})


def test_a_lag_that_is_over_explains_the_window_it_lies_in(cluster: Cluster) -> None:
    off(cluster)
    lagged(cluster, ago(120))

    sentence = distribution(cluster=cluster, window_s=300, now=NOW)["verdict"]["sentence"]

    # 14:32 less two minutes
    expected = "Off: pg3 gets 30 points less than its weight; its replay lag was over delay_threshold until 14:30."
    assert sentence == expected
    assert fleet(organisation=cluster.organisation, now=NOW)["rows"][0]["sentence"] == expected


def test_a_lag_from_before_the_window_or_under_the_threshold_explains_nothing(cluster: Cluster) -> None:
    off(cluster)
    lagged(cluster, ago(400))
    lagged(cluster, ago(100), lag_bytes=1000)

    sentence = distribution(cluster=cluster, window_s=300, now=NOW)["verdict"]["sentence"]

    assert sentence == "Off: pg3 gets 30 points less than its weight."


def test_with_a_threshold_in_seconds_the_seconds_of_the_window_count(cluster: Cluster) -> None:
    off(cluster)
    lagged(cluster, ago(120), lag_bytes=10, lag_s=5.5)
    Cluster.objects.update(delay_threshold_s=5.0)
    cluster.refresh_from_db()

    sentence = distribution(cluster=cluster, window_s=300, now=NOW)["verdict"]["sentence"]

    assert sentence.endswith("; its replay lag was over delay_threshold until 14:30.")
