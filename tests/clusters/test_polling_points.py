"""The points that are pushed agree with the series that a page asks for: same metrics, same keys, same values."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace

import pytest

from apps.clusters.domain.show_rows import PoolCache
from apps.clusters.history.metrics import METRICS
from apps.clusters.history.series import series
from apps.clusters.models import InstanceSample
from apps.clusters.polling.lags import lsn_bytes
from apps.clusters.polling.lease import take
from apps.clusters.polling.memory import ClusterMemory, remembered
from apps.clusters.polling.points import points_of
from apps.clusters.polling.readings import InstanceReading, NodeReading, Tick
from apps.clusters.polling.registry import WatchedCluster, watched_clusters
from apps.clusters.polling.shows import size_bytes
from apps.clusters.polling.store import store
from tests.clusters.polling_scene import Scene, scene

pytestmark = pytest.mark.django_db(transaction=True)

START = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)


@pytest.fixture
def pair() -> Iterator[Scene]:
    with scene(pgpools=2) as made:
        yield made


def watched(made: Scene) -> WatchedCluster:
    [cluster] = watched_clusters(shard=0, shards=1, now=START)
    assert cluster.cluster_id == made.cluster.pk
    return cluster


def reading(instance_id: int, reads: tuple[int, int, int], hits: int, misses: int) -> InstanceReading:
    return InstanceReading(
        instance_id=instance_id,
        state="answering",
        probe_ms=1.5,
        children_used=4,
        children_total=32,
        session_count=9,
        cache=PoolCache(hits, misses, 131072, 1, 1, 219, 67108645, 0),
        nodes=tuple(NodeReading(node_id, "up", "standby", count) for node_id, count in enumerate(reads)),
        weights={0: 0.0, 1: 0.25, 2: 0.75},
    )


def ticks(cluster: WatchedCluster) -> list[Tick]:
    """Three ticks, two seconds apart; the second pgpool restarts before the third."""
    first, second = (one.instance_id for one in cluster.instances)
    counted = [
        ((0, 100, 100), (0, 10, 10), 0, 0),
        ((0, 110, 130), (2, 20, 30), 30, 10),
        ((0, 120, 160), (0, 3, 1), 50, 20),
    ]
    return [
        Tick(
            at=START + dt.timedelta(seconds=2 * number),
            number=number + 1,
            instances=(reading(first, one, hits, misses), reading(second, other, 5, 5)),
            backends=(),
        )
        for number, (one, other, hits, misses) in enumerate(counted)
    ]


def test_pushed_points_are_the_latest_points_of_the_series(pair: Scene) -> None:
    cluster = watched(pair)
    lease = take(shard=0, holder="test")
    assert lease is not None
    stored, pushed = ClusterMemory(), ClusterMemory()
    points = {}
    for tick in ticks(cluster):
        store(cluster=cluster, tick=tick, memory=stored, lease=lease)
        points = points_of(cluster=cluster, memory=pushed, tick=tick, lags={})

    answered = {
        metric: {
            (one.get("node_id"), one.get("instance")): one["points"][-1]
            for one in series(
                cluster=pair.cluster, metric=metric, start=START - dt.timedelta(seconds=1),
                end=START + dt.timedelta(seconds=5), points=100,
            )["series"]
        }
        for metric in METRICS
    }  # fmt: skip
    known = {
        metric: {(one["node_id"], one["instance"]): one["point"] for one in found if one["point"][1] is not None}
        for metric, found in points.items()
    }
    for metric, found in known.items():
        assert found == {key: pytest.approx(point, abs=1e-5) for key, point in answered[metric].items() if key in found}
        assert found.keys() == answered[metric].keys() & found.keys()
    # 10 + 10 of 10 + 10 + 30 + 20 + 2, then 10 + 3 of 10 + 30 + 3 + 1: pg2 has (20 + 13) of (72 + 44)
    assert known["read_share"][1, None][1] == pytest.approx(33 / 116, abs=1e-6)
    # the first pgpool alone: nobody knows how long ago the second restarted
    assert known["reads_per_s_total"][None, None][1] == (10 + 30) / 2
    assert known["cache_hit_ratio"][None, None][1] == pytest.approx(50 / 70, abs=1e-6)
    assert known["weight_share"][2, None][1] == 0.75


def counted_since(made: Scene, name: str) -> list[float | None]:
    """Of each sample, in seconds after START."""
    rows = InstanceSample.objects.filter(instance_id=made.instance(name).pk).order_by("at")
    return [None if one.counted_since is None else (one.counted_since - START).total_seconds() for one in rows]


def test_a_count_goes_on_unbroken_until_pgpool_restarts(pair: Scene) -> None:
    cluster = watched(pair)
    lease = take(shard=0, holder="test")
    assert lease is not None
    first, second, third = ticks(cluster)
    store(cluster=cluster, tick=first, memory=remembered(cluster.cluster_id), lease=lease)
    # Another worker goes on with what the rows hold.
    memory = remembered(cluster.cluster_id)
    for tick in (second, third):
        store(cluster=cluster, tick=tick, memory=memory, lease=lease)

    assert counted_since(pair, "pgpool-1") == [0, 0, 0]
    assert counted_since(pair, "pgpool-2") == [0, 0, 4]  # it restarted before the third tick


@pytest.mark.parametrize(("pause_s", "since_s"), [(60, 0), (61, 61)])
def test_a_count_is_broken_when_nobody_looked_for_more_than_a_minute(
    pair: Scene, pause_s: float, since_s: float
) -> None:
    cluster = watched(pair)
    lease = take(shard=0, holder="test")
    assert lease is not None
    first = ticks(cluster)[0]
    later = replace(first, at=START + dt.timedelta(seconds=pause_s), number=2)
    memory = ClusterMemory()
    for tick in (first, later):
        store(cluster=cluster, tick=tick, memory=memory, lease=lease)

    assert counted_since(pair, "pgpool-1") == [0, since_s]


def test_a_pgpool_that_does_not_answer_has_counted_nothing(pair: Scene) -> None:
    cluster = watched(pair)
    lease = take(shard=0, holder="test")
    assert lease is not None
    first, _, third = ticks(cluster)
    silent = InstanceReading(cluster.instances[0].instance_id, "unreachable", "away")
    away = Tick(START + dt.timedelta(seconds=2), 2, (silent,), ())
    memory = ClusterMemory()
    for tick in (first, away, third):
        store(cluster=cluster, tick=tick, memory=memory, lease=lease)

    assert counted_since(pair, "pgpool-1") == [0, None, 0]


def test_a_backend_that_joins_begins_a_new_count(pair: Scene) -> None:
    cluster = watched(pair)
    lease = take(shard=0, holder="test")
    assert lease is not None
    first, second, _ = ticks(cluster)
    fewer = replace(first, instances=tuple(replace(one, nodes=one.nodes[:2]) for one in first.instances))
    memory = ClusterMemory()
    for tick in (fewer, second):
        store(cluster=cluster, tick=tick, memory=memory, lease=lease)

    assert counted_since(pair, "pgpool-1") == [0, 2]


def test_a_silent_pgpool_has_points_without_a_value(pair: Scene) -> None:
    cluster = watched(pair)
    first = cluster.instances[0].instance_id
    tick = Tick(START, 1, (InstanceReading(first, "unreachable", "away"),), ())

    points = points_of(cluster=cluster, memory=ClusterMemory(), tick=tick, lags={})

    assert points["probe_ms"] == [{"node_id": None, "instance": "pgpool-1", "point": (START.timestamp(), None)}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("1001B", 1001), ("10kB", 10240), ("2MB", 2097152), ("1GB", 1 << 30), ("2 seconds", None), (None, None)],
)
def test_sizes_are_read_as_pgpool_prints_them(text: str | None, expected: int | None) -> None:
    assert size_bytes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("0/0", 0), ("0/3000148", 0x3000148), ("16/B374D848", 0x16B374D848), (None, None)]
)
def test_a_wal_position_is_a_number_of_bytes(text: str | None, expected: int | None) -> None:
    assert lsn_bytes(text) == expected
