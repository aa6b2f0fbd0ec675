"""Samples stored by COPY and read back at a resolution, on real PostgreSQL. Figures are worked out by hand."""

from collections.abc import Sequence

import pytest

from apps.clusters.domain.guards import Aborted
from apps.clusters.history.aborted import aborted
from apps.clusters.history.append import BackendSampleRow, InstanceSampleRow, append
from apps.clusters.history.latest import rewrite
from apps.clusters.history.metrics import METRICS, UnknownMetric
from apps.clusters.history.series import Point, series, with_gaps
from apps.clusters.history.windows import window_counts
from apps.clusters.models import Cluster, PgpoolInstance
from tests.clusters.sampled_cluster import START, after, backend_now, count_reads, instance_ids, registered

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(db: None) -> Cluster:
    return registered()


def points_of(cluster: Cluster, metric: str, *, until_s: float = 60, points: int = 300) -> dict[str, list[Point]]:
    answer = series(cluster=cluster, metric=metric, start=START, end=after(until_s), points=points)
    return {one["name"]: one["points"] for one in answer["series"]}


def values(points: Sequence[Point]) -> list[float | None]:
    return [value for _, value in points]


def test_a_read_share_is_the_share_of_the_counters_increase_over_all_pgpools(cluster: Cluster) -> None:
    first, second = instance_ids(cluster)
    count_reads(first, [(0, 100, 100), (2, 110, 130)])
    count_reads(second, [(0, 1000, 0), (2, 1020, 40)])

    found = points_of(cluster, "read_share")

    # (10 + 20) / (10 + 30 + 20 + 40) and (30 + 40) / 100
    assert values(found["pg1"]) == [0]
    assert values(found["pg2"]) == [0.3]
    assert values(found["pg3"]) == [0.7]


def test_a_read_share_looks_back_over_ten_seconds(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    count_reads(first, [(0, 0, 0), (2, 10, 0), (4, 10, 30), (30, 20, 30)])

    found = points_of(cluster, "read_share")

    # 10 of 10, then 10 of 40, then 10 of 10: the first ones lie more than ten seconds before
    assert [value for value in values(found["pg2"]) if value is not None] == [1, 0.25, 1]


def test_a_share_of_no_reads_is_unknown(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    count_reads(first, [(0, 7, 7), (2, 7, 7)])

    assert values(points_of(cluster, "read_share")["pg2"]) == [None]


def test_a_counter_that_falls_is_a_restart_and_counts_from_zero(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    # Node 2 has passed its earlier value again, but node 1 tells that pgpool restarted.
    count_reads(first, [(0, 500, 10), (2, 10, 30)])

    found = points_of(cluster, "read_share")

    assert values(found["pg2"]) == [pytest.approx(10 / 45, abs=1e-6)]  # 10 / (5 + 10 + 30)
    assert values(found["pg3"]) == [pytest.approx(30 / 45, abs=1e-6)]
    assert points_of(cluster, "reads_per_s_total") == {}  # the time since the restart is not known


def test_reads_per_second_are_summed_over_pgpools_per_backend_per_pgpool_and_in_total(cluster: Cluster) -> None:
    first, second = instance_ids(cluster)
    count_reads(first, [(0, 0, 0), (2, 20, 40)])
    count_reads(second, [(0, 0, 0), (2, 2, 4)])

    assert values(points_of(cluster, "reads_per_s")["pg2"]) == [11]  # 20 / 2 + 2 / 2
    assert values(points_of(cluster, "reads_per_s_by_instance")["pgpool-1"]) == [30]  # (20 + 40) / 2
    assert values(points_of(cluster, "reads_per_s_total")["all"]) == [33]


def test_the_increase_of_the_first_point_counts_from_the_sample_before_the_range(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    count_reads(first, [(-2, 100, 0), (1, 130, 0)])

    assert values(points_of(cluster, "reads_per_s_total")["all"]) == [10]  # 30 in 3 s


def test_a_long_range_keeps_the_budget_and_its_average(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    append(instances=[InstanceSampleRow(first, after(at_s), True, float(at_s % 4)) for at_s in range(2, 602, 2)])

    found = points_of(cluster, "probe_ms", until_s=600, points=10)

    assert len(found["pgpool-1"]) == pytest.approx(10, abs=1)
    # 2, 0, 2, 0, …: every bucket of 60 s holds about as many of one as of the other
    assert all(value == pytest.approx(1, abs=0.1) for value in values(found["pgpool-1"])[:-1])


def test_lag_keeps_its_peak_and_the_primary_has_none(cluster: Cluster) -> None:
    primary, standby, _ = cluster.backends.order_by("node_id")
    rewrite(backends=[backend_now(primary, is_in_recovery=False)])
    append(
        backends=[
            BackendSampleRow(primary.pk, after(1), True, False, 0.5, 900),
            BackendSampleRow(standby.pk, after(1), True, True, 0.5, 900, 0.25, 10),
            BackendSampleRow(standby.pk, after(2), True, True, 0.5, 900, 8.5, 7_000_000_000),
        ]
    )

    answer = series(cluster=cluster, metric="replay_lag_bytes", start=START, end=after(60), points=2)

    assert [one["name"] for one in answer["series"]] == ["pg2"]
    assert answer["series"][0]["node_id"] == 1
    assert values(answer["series"][0]["points"]) == [7_000_000_000]
    assert answer["unit"] == "bytes"


def test_a_hit_ratio_comes_from_the_counters_increase(cluster: Cluster) -> None:
    first, second = instance_ids(cluster)
    rows = [(first, 0, 1000, 10), (first, 2, 1030, 20), (second, 0, 900, 900), (second, 2, 5, 5)]
    append(
        instances=[
            InstanceSampleRow(owner, after(at_s), True, cache_hit_count=hits, cache_miss_count=misses)
            for owner, at_s, hits, misses in rows
        ]
    )

    # (30 + 5) / (30 + 10 + 5 + 5): the second pgpool has restarted
    assert values(points_of(cluster, "cache_hit_ratio")["all"]) == [0.7]


def test_a_failed_poll_is_a_gap(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    append(
        instances=[
            InstanceSampleRow(first, after(2), True, 1.0),
            InstanceSampleRow(first, after(4), False),
            InstanceSampleRow(first, after(6), True, 2.0),
        ]
    )

    assert values(points_of(cluster, "probe_ms")["pgpool-1"]) == [1.0, None, 2.0]


def test_a_pause_without_samples_is_a_gap() -> None:
    line = [(0.0, 1.0), (2.0, 1.0), (60.0, 2.0)]

    assert values(with_gaps(line, longest_s=7)) == [1.0, 1.0, None, 2.0]


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_every_metric_answers_without_samples(cluster: Cluster, metric: str) -> None:
    assert points_of(cluster, metric) == {}


def test_an_unknown_metric_is_answered_with_the_list(cluster: Cluster) -> None:
    with pytest.raises(UnknownMetric, match="read_share") as refused:
        series(cluster=cluster, metric="speed", start=START, end=after(60), points=10)

    assert "replay_lag_s" in refused.value.known


def test_a_series_of_another_cluster_stays_out(cluster: Cluster) -> None:
    other = Cluster.objects.create(organisation=cluster.organisation, slug="o", name="O", username="m", password="p")
    stranger = PgpoolInstance.objects.create(cluster=other, name="pgpool-1", host="127.0.0.1", port=9001)
    count_reads(stranger.pk, [(0, 0, 0), (2, 10, 10)])

    assert points_of(cluster, "reads_per_s") == {}


def test_a_window_counts_reads_and_the_sessions_that_ended_or_are_open(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    count_reads(first, [(-3, 100, 100), (1, 110, 120), (50, 130, 180)])
    append(
        instances=[
            InstanceSampleRow(first, after(-3), True, children_used=9, session_count=1000),
            InstanceSampleRow(first, after(50), True, children_used=4, session_count=1040),
        ]
    )

    watched, silent = window_counts(cluster=cluster, start=START, end=after(60))

    assert watched.select_counts == {0: 0, 1: 30, 2: 80}
    assert watched.sessions == 44  # 40 ended, 4 open
    assert (watched.start, watched.end) == (after(-3), after(50))
    assert not watched.is_restarted
    assert silent.select_counts == {}
    assert silent.sessions is None
    assert silent.sessions_reason


def test_a_window_across_a_restart_counts_from_zero_and_says_so(cluster: Cluster) -> None:
    first, _ = instance_ids(cluster)
    count_reads(first, [(0, 500, 500), (2, 510, 520), (4, 3, 6)])

    watched, _ = window_counts(cluster=cluster, start=START, end=after(60))

    assert watched.is_restarted
    assert watched.select_counts == {0: 5, 1: 13, 2: 26}  # node 0: 0 + 5; then 10 + 3 and 20 + 6


def test_cancelled_reads_grow_from_the_last_sample_before_the_window_and_only_a_standby_counts(
    cluster: Cluster,
) -> None:
    primary, standby, fallen = cluster.backends.order_by("node_id")
    counts = {standby: {-30: 1, -2: 5, 8: 9, 20: 12}, fallen: {1: 7, 2: 0}, primary: {1: 1, 2: 50}}
    append(
        backends=[
            BackendSampleRow(backend.pk, after(at), True, backend != primary, aborted_count=count)
            for backend, told in counts.items()
            for at, count in told.items()
        ]
    )
    ids = [backend.pk for backend in counts]

    assert aborted(backend_ids=ids, start=START, end=after(10)) == {
        standby.pk: Aborted(4, seconds=10.0),
        fallen.pk: Aborted(None, seconds=1.0, is_set_back=True),
    }
