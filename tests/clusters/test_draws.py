"""How many draws stand behind the reads of a pgpool: measured from its samples, kept, and used by every verdict."""

import datetime as dt

import numpy as np
import pytest

from apps.accounts.models import Organisation
from apps.clusters.history.append import InstanceSampleRow, NodeSampleRow, append
from apps.clusters.models import Cluster, InstanceLatest, NodeLatest
from apps.clusters.polling.draws import measure_draws
from apps.clusters.queries.distribution import distribution
from tests.clusters.seen_cluster import NOW, WEIGHTS, ago, poll, register

pytestmark = pytest.mark.django_db
SESSION_READS = 40
EVERY_S = 5


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    found = register(organisation)
    poll(found)
    return found


def half_hour_of_sessions(cluster: Cluster, *, share: float = 0.25, counted: int) -> None:
    """Every five seconds one session of 40 reads at each pgpool, at pg2 with this probability, else at pg3.

    counted: the sessions that pgpool says it had per five seconds.
    """
    random = np.random.default_rng(11)
    for instance in cluster.instances.order_by("name"):
        reads = {0: 0, 1: 0, 2: 0}
        nodes, instances = [], []
        for number, left in enumerate(range(1800, -1, -EVERY_S)):
            reads[1 if random.random() < share else 2] += SESSION_READS
            nodes += [NodeSampleRow(instance.pk, one, ago(left), reads[one], WEIGHTS[one], True) for one in reads]
            instances.append(
                InstanceSampleRow(instance.pk, ago(left), True, session_count=number * counted, children_used=0)
            )
        append(instances=instances, nodes=nodes)


def measured(cluster: Cluster) -> list[float | None]:
    rows = InstanceLatest.objects.filter(instance__cluster=cluster).order_by("instance__name")
    return list(rows.values_list("draws_per_read", flat=True))


def test_draws_are_measured_from_the_samples_of_the_latest_half_hour(cluster: Cluster) -> None:
    half_hour_of_sessions(cluster, counted=1)

    measure_draws(cluster.pk, now=NOW)

    for found in measured(cluster):
        assert found is not None
        assert 0.5 / SESSION_READS < found < 2 / SESSION_READS


def test_what_cannot_be_measured_anew_stays(cluster: Cluster) -> None:
    InstanceLatest.objects.update(draws_per_read=0.25, draws_at=None)

    measure_draws(cluster.pk, now=NOW)

    assert set(measured(cluster)) == {0.25}
    assert set(InstanceLatest.objects.values_list("draws_at", flat=True)) == {NOW}


def test_reads_from_before_a_change_of_weights_are_no_measure(cluster: Cluster) -> None:
    half_hour_of_sessions(cluster, counted=1)
    NodeLatest.objects.update(weight_since=ago(120))

    measure_draws(cluster.pk, now=NOW)

    assert set(measured(cluster)) == {None}


def test_draws_are_measured_once_a_minute(cluster: Cluster) -> None:
    half_hour_of_sessions(cluster, counted=1)
    InstanceLatest.objects.update(draws_at=NOW - dt.timedelta(seconds=50))

    measure_draws(cluster.pk, now=NOW)

    assert set(measured(cluster)) == {None}


def test_sessions_that_send_nothing_do_not_make_the_verdict_surer(cluster: Cluster) -> None:
    """Of 21 sessions counted every five seconds one reads: 61 draws in five minutes, not 1281."""
    half_hour_of_sessions(cluster, share=0.35, counted=21)

    found = distribution(cluster=cluster, window_s=300, now=NOW)

    assert found["sessions"] is not None
    assert found["sessions"] > 2000
    assert found["band"] is not None
    assert 0.05 < found["band"] < 0.16
