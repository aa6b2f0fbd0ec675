"""How well a cluster is, and why: each reason stands alone, the worst one decides."""

import pytest

from apps.accounts.models import Organisation
from apps.clusters.models import BackendLatest, Cluster, InstanceLatest, NodeLatest
from apps.clusters.queries.overview import overview
from tests.clusters.seen_cluster import NOW, ago, cluster_health, count, freshness, poll, register

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    found = register(organisation)
    poll(found)
    return found


def test_a_healthy_cluster_has_no_reasons(cluster: Cluster) -> None:
    assert cluster_health(cluster=cluster, now=NOW) == {"state": "ok", "word": "Healthy", "reasons": []}
    assert freshness(cluster=cluster, now=ago(-3))["state"] == "live"


def test_reads_that_are_off_are_a_warning(cluster: Cluster) -> None:
    assert cluster_health(cluster=cluster, now=NOW, verdict_state="off")["word"] == "Off weights"


@pytest.mark.parametrize(("counted_s", "state", "word"), [(59, "idle", "Waiting"), (60, "warn", "Off weights")])
def test_reads_that_are_off_for_less_than_a_minute_are_waited_for(
    cluster: Cluster, counted_s: float, state: str, word: str
) -> None:
    found = cluster_health(cluster=cluster, now=NOW, verdict_state="off", counted_s=counted_s)

    assert (found["state"], found["word"]) == (state, word)


def test_the_overview_waits_with_its_warning_and_not_with_its_sentence(cluster: Cluster) -> None:
    for instance in cluster.instances.all():
        count(instance, {1: 90, 2: 10}, sessions=100, window_s=30)
    NodeLatest.objects.update(weight_since=ago(30))

    seen = overview(cluster=cluster, window_s=300, now=NOW)

    assert seen["distribution"]["verdict"]["sentence"].startswith("Off: pg3 gets 65 points less")  # 10 % for 75 %
    assert seen["health"] == {
        "state": "idle",
        "word": "Waiting",
        "reasons": ["Off for 30 s only: a warning once it lasts 60 s."],
    }


def test_a_pgpool_that_does_not_answer_is_a_warning_while_another_does(cluster: Cluster) -> None:
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(state="hanging", reason="SHOW got no answer")

    found = cluster_health(cluster=cluster, now=NOW)

    assert found["state"] == "warn"
    assert found["reasons"] == ["pgpool-2 is hanging: SHOW got no answer."]


def test_no_pgpool_answering_is_critical(cluster: Cluster) -> None:
    InstanceLatest.objects.update(state="unreachable", reason="connection refused")

    found = cluster_health(cluster=cluster, now=NOW)

    assert (found["state"], found["word"]) == ("crit", "No pgpool answers")


@pytest.mark.parametrize(
    ("in_recovery", "word"), [([True, True, True], "No primary"), ([False, False, True], "Two primaries")]
)
def test_there_must_be_exactly_one_primary(cluster: Cluster, in_recovery: list[bool], word: str) -> None:
    for node_id, is_in_recovery in enumerate(in_recovery):
        BackendLatest.objects.filter(backend__node_id=node_id).update(is_in_recovery=is_in_recovery)

    found = cluster_health(cluster=cluster, now=NOW)

    assert (found["state"], found["word"]) == ("crit", word)


def test_a_backend_that_is_down_or_lags_or_a_full_pool_is_a_warning(cluster: Cluster) -> None:
    NodeLatest.objects.filter(node_id=1).update(status="down")
    BackendLatest.objects.filter(backend__node_id=2).update(replay_lag_bytes=1001)
    InstanceLatest.objects.filter(instance__name="pgpool-1").update(children_used=29)

    reasons = cluster_health(cluster=cluster, now=NOW)["reasons"]

    assert reasons == [
        "pgpool-1 uses 91 % of its children.",
        "pg2 is down.",
        "The replay lag of pg3 (0.2 s) is over delay_threshold.",
    ]


def test_a_threshold_of_zero_ignores_lag(cluster: Cluster) -> None:
    Cluster.objects.update(delay_threshold_bytes=0)
    BackendLatest.objects.filter(backend__node_id=2).update(replay_lag_bytes=10**9)
    cluster.refresh_from_db()

    assert cluster_health(cluster=cluster, now=NOW)["state"] == "ok"


def test_a_cluster_nobody_sees_is_stale_and_says_who_is_silent(cluster: Cluster) -> None:
    assert freshness(cluster=cluster, now=ago(-16))["state"] == "stale"
    assert cluster_health(cluster=cluster, now=ago(-16))["reasons"] == [
        "Nobody asks its pgpools: the pollers of this installation are not running."
    ]

    poll(cluster, seen_at=ago(-20), answered_at=ago(60), state="unreachable", reason="connection refused")
    found = cluster_health(cluster=cluster, now=ago(-21))

    assert found["state"] == "stale"
    assert found["reasons"][0] == "pgpool-1 is unreachable: connection refused."


def test_a_new_cluster_collects_first(organisation: Organisation) -> None:
    cluster = register(organisation)
    Cluster.objects.update(created_at=NOW)
    cluster.refresh_from_db()

    assert freshness(cluster=cluster, now=ago(-5))["state"] == "collecting"
    assert cluster_health(cluster=cluster, now=ago(-5))["state"] == "idle"

    poll(cluster, seen_at=ago(-10), since=ago(-2))
    found = freshness(cluster=cluster, now=ago(-10))

    assert (found["state"], found["verdict_in_s"]) == ("collecting", 12)
    assert freshness(cluster=cluster, now=ago(-70))["state"] == "stale"
