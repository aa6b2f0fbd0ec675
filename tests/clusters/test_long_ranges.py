"""Ranges of many samples per point: read at the ends of each bucket where nothing broke the count, with the same result
as sample by sample. Figures are worked out by hand.
"""

import datetime as dt
import importlib
import random
from collections.abc import Callable, Sequence

import psycopg
import pytest
from django.db import connection
from rest_framework.test import APIClient

from apps.clusters.history.append import InstanceSampleRow, NodeSampleRow, append
from apps.clusters.history.metrics import METRICS
from apps.clusters.history.series import Point, RangeTooSlow, series
from apps.clusters.models import Cluster
from tests.clusters.sampled_cluster import START, after, instance_ids, registered

pytestmark = pytest.mark.django_db

# Seconds after START, reads of node 1, of node 2, cache hits, cache misses.
Count = tuple[float, int, int, int, int]


@pytest.fixture
def cluster(db: None) -> Cluster:
    return registered()


def lay_down(instance_id: int, counts: Sequence[Count], *, since_s: float | None) -> None:
    """since_s: since when, after START, the poller knows of no break; None: it does not say."""
    append(
        instances=[
            InstanceSampleRow(
                instance_id,
                after(at_s),
                True,
                cache_hit_count=hits,
                cache_miss_count=misses,
                counted_since=None if since_s is None else after(since_s),
            )
            for at_s, _, _, hits, misses in counts
        ],
        nodes=[
            NodeSampleRow(instance_id, node_id, after(at_s), count, 0.5, is_up=True)
            for at_s, first, second, _, _ in counts
            for node_id, count in ((1, first), (2, second))
        ],
    )


def answered(cluster: Cluster, metric: str, *, points: int = 10) -> dict[str, list[Point]]:
    """Over 600 s: buckets of 60 s unless told."""
    found = series(cluster=cluster, metric=metric, start=START, end=after(600), points=points)
    return {one["name"]: one["points"] for one in found["series"]}


def test_a_bucket_counts_from_the_end_of_the_one_before(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    # In between nothing may be read that the ends do not tell: the sample at 50 s is not needed.
    counts = [(-2, 100, 100, 10, 10), (50, 110, 150, 20, 15), (60, 130, 190, 40, 20), (118, 180, 240, 41, 59)]
    lay_down(first, counts, since_s=-100)

    # 30 and 90 in 62 s; then 50 and 50 in 58 s
    assert answered(cluster, "read_share")["pg2"] == [(after(60).timestamp(), 0.25), (after(118).timestamp(), 0.5)]
    rates = answered(cluster, "reads_per_s_total")["all"]
    assert [value for _, value in rates] == [pytest.approx(120 / 62, abs=1e-6), pytest.approx(100 / 58, abs=1e-6)]
    # 30 of 40, then 1 of 40
    assert [value for _, value in answered(cluster, "cache_hit_ratio")["all"]] == [0.75, 0.025]


def test_a_restart_inside_a_bucket_is_read_sample_by_sample(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    lay_down(first, [(-2, 100, 100, 0, 0), (20, 144, 122, 0, 0)], since_s=-100)
    # Both have passed what the bucket began with: only the sample at 30 s tells of the restart.
    lay_down(first, [(30, 10, 30, 0, 0), (50, 210, 130, 0, 0)], since_s=30)

    # node 1: 44 + 10 + 200, node 2: 22 + 30 + 100
    assert [value for _, value in answered(cluster, "read_share")["pg2"]] == [pytest.approx(254 / 406, abs=1e-6)]
    # the time since the restart is not known: 44 + 22 in 22 s, 200 + 100 in 20 s
    assert [value for _, value in answered(cluster, "reads_per_s_total")["all"]] == [pytest.approx(366 / 42, abs=1e-6)]


@pytest.mark.parametrize("points", [10, 300])
def test_what_was_counted_while_nobody_looked_belongs_to_a_gap(cluster: Cluster, points: int) -> None:
    first, _ = instance_ids(cluster)
    lay_down(first, [(2, 0, 0, 0, 0), (4, 10, 10, 5, 5)], since_s=2)
    # More than a minute later.
    lay_down(first, [(400, 9000, 1000, 9000, 1), (402, 9010, 1030, 9001, 4)], since_s=400)

    # 10 of 20, nothing, 10 of 40
    assert [value for _, value in answered(cluster, "read_share", points=points)["pg2"]] == [0.5, None, 0.25]
    assert [value for _, value in answered(cluster, "reads_per_s_total", points=points)["all"]] == [10, None, 20]
    assert [value for _, value in answered(cluster, "cache_hit_ratio", points=points)["all"]] == [0.5, None, 0.25]


def test_a_silent_pgpool_has_a_gap_and_not_zero(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    lay_down(first, [(2, 0, 0, 0, 0), (58, 10, 10, 0, 0)], since_s=2)
    append(instances=[InstanceSampleRow(first, after(at_s), False) for at_s in range(60, 540, 10)])
    lay_down(first, [(540, 50, 50, 0, 0), (590, 60, 60, 0, 0)], since_s=540)

    assert [value for _, value in answered(cluster, "reads_per_s_by_instance")["pgpool-1"]] == [
        pytest.approx(20 / 56, abs=1e-6),
        None,
        pytest.approx(20 / 50, abs=1e-6),
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("metric", ["read_share", "reads_per_s", "reads_per_s_by_instance", "cache_hit_ratio"])
def test_knowing_of_no_break_spares_reading_and_changes_nothing(cluster: Cluster, metric: str, seed: int) -> None:
    chance = random.Random(seed)
    known = [(owner, eventful(chance)) for owner in instance_ids(cluster)]
    for owner, stretches in known:
        for stretch in stretches:
            lay_down(owner, stretch, since_s=stretch[0][0])
    with_knowledge = answered(cluster, metric)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE clusters_instance_sample SET counted_since = NULL")

    assert with_knowledge
    assert answered(cluster, metric) == with_knowledge


def eventful(chance: random.Random) -> list[list[Count]]:
    """Ten minutes of a pgpool, parted where it restarts or is not seen for more than a minute."""
    stretches: list[list[Count]] = []
    at_s, count = -20.0, (chance.randrange(900), chance.randrange(900), chance.randrange(900), chance.randrange(900))
    while at_s < 600:
        stretch: list[Count] = []
        for _ in range(chance.randrange(2, 60)):
            stretch.append((at_s, *count))
            at_s += 2
            count = tuple(one + chance.randrange(40) for one in count)  # type: ignore[assignment]  # four again
        stretches.append(stretch)
        if chance.random() < 0.5:
            count = (0, 0, 0, 0)  # all counted something before
        else:
            at_s += 70
    return stretches


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_no_series_has_more_points_than_asked_for(cluster: Cluster, metric: str) -> None:
    for owner in instance_ids(cluster):
        lay_down(owner, [(at_s, at_s, at_s, at_s, at_s) for at_s in range(-4, 300, 2)], since_s=-4)
        lay_down(owner, [(at_s, at_s, at_s, at_s, at_s) for at_s in range(400, 601, 2)], since_s=400)

    for points in (2, 3, 7, 10, 59, 60, 299, 300):
        assert all(len(line) <= points for line in answered(cluster, metric, points=points).values())


@pytest.mark.django_db(transaction=True)
def test_a_range_that_takes_too_long_is_given_up_with_what_would_be_right(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, api_client: Callable[..., APIClient]
) -> None:
    # the package gives the name of the module to its function
    monkeypatch.setattr(importlib.import_module("apps.clusters.history.series"), "LONGEST_READ_S", 0.2)
    api = api_client("viewer", of=cluster.organisation)
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": None}) as other:
        other.execute("LOCK TABLE clusters_instance_sample IN ACCESS EXCLUSIVE MODE")

        with pytest.raises(RangeTooSlow, match=r"of 2\.0 hours .* ask for a shorter range"):
            series(cluster=cluster, metric="probe_ms", start=START, end=START + dt.timedelta(hours=2))
        problem = api.get(f"/api/v1/clusters/{cluster.slug}/series/?metric=probe_ms")

    assert problem.status_code == 503
    assert problem.headers["Content-Type"] == "application/problem+json"
    assert "ask for a shorter range" in problem.json()["detail"]
