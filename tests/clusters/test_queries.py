"""What is told of a cluster: its verdict, its backends, and that passwords never are."""

from datetime import timedelta

import pytest
from django.db import connection
from django.http import Http404
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Organisation
from apps.clusters.history.append import InstanceSampleRow, NodeSampleRow, append
from apps.clusters.models import BackendLatest, Cluster, NodeLatest
from apps.clusters.queries import lookup
from apps.clusters.queries.clusters import cluster_answer, cluster_answers
from apps.clusters.queries.distribution import distribution
from apps.clusters.queries.nodes import nodes_answer
from apps.clusters.queries.overview import overview
from tests.clusters.seen_cluster import NOW, WEIGHTS, ago, cluster_health, count, poll, register

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    found = register(organisation)
    poll(found)
    return found


def counted(cluster: Cluster, reads: dict[int, int], **facts: int | None) -> None:
    for instance in cluster.instances.order_by("name"):
        count(instance, reads, **facts)  # type: ignore[arg-type]  facts are keywords of count


def test_reads_of_all_pgpools_make_one_verdict(cluster: Cluster) -> None:
    counted(cluster, {1: 250, 2: 750})

    found = distribution(cluster=cluster, window_s=300, now=NOW)

    assert found["verdict"] == {
        "state": "follows",
        "sentence": "Reads follow the weights: 25.0 / 75.0 vs 25 / 75.",
        "is_certain": False,
    }
    assert (found["reads"], found["sessions"]) == (2000, 2008)  # each 1000 ended and 4 open
    assert (found["window_s"], found["seconds"]) == (300, 300)
    assert [node["select_count"] for node in found["nodes"]] == [0, 500, 1500]
    assert [node["observed_share"] for node in found["nodes"]] == [0, 0.25, 0.75]
    assert found["band"] == pytest.approx(1.96 * (0.25 * 0.75 / 2000) ** 0.5, abs=1e-4)
    assert [(one["instance"], one["state"], one["reads"]) for one in found["per_instance"]] == [
        ("pgpool-1", "follows", 1000),
        ("pgpool-2", "follows", 1000),
    ]


def test_the_pgpool_that_deviates_is_named(cluster: Cluster) -> None:
    first, second = cluster.instances.order_by("name")
    count(first, {1: 250, 2: 750})
    count(second, {1: 600, 2: 400})

    found = distribution(cluster=cluster, window_s=300, now=NOW)

    assert found["verdict"]["state"] == "off"
    assert found["verdict"]["sentence"].endswith(", most of all at pgpool-2.")
    assert [one["state"] for one in found["per_instance"]] == ["follows", "off"]


def test_a_verdict_on_old_reads_says_until_when(cluster: Cluster) -> None:
    counted(cluster, {1: 250, 2: 750})

    fresh, old, gone = (
        distribution(cluster=cluster, window_s=400, now=NOW + timedelta(seconds=seconds))["verdict"]
        for seconds in (15, 16, 500)
    )

    assert fresh["sentence"] == "Reads follow the weights: 25.0 / 75.0 vs 25 / 75."
    assert old["sentence"] == f"{fresh['sentence']} Nothing was counted since 14:32:00 UTC."
    # 14:32 + 500 s - 400 s
    assert gone["state"] == "too_little_traffic"
    assert gone["sentence"] == "Cannot tell: nothing was counted since 14:33:40 UTC."


def test_uncounted_sessions_say_why(cluster: Cluster) -> None:
    counted(cluster, {1: 250, 2: 750}, sessions=None)

    found = distribution(cluster=cluster, window_s=300, now=NOW)

    assert found["verdict"]["state"] == "too_little_traffic"
    assert found["sessions"] is None
    assert found["sessions_reason"] == "sessions are counted from Pgpool-II 4.3 on"


def test_at_statement_level_reads_are_enough(cluster: Cluster) -> None:
    Cluster.objects.update(is_statement_level=True)
    cluster.refresh_from_db()
    counted(cluster, {1: 250, 2: 750}, sessions=None)

    assert distribution(cluster=cluster, window_s=300, now=NOW)["verdict"]["state"] == "follows"


def test_a_change_of_weights_starts_the_window_anew(cluster: Cluster) -> None:
    for instance in cluster.instances.all():
        count(instance, {1: 900, 2: 100}, until=ago(120))
        count(instance, {1: 25, 2: 75}, sessions=100, window_s=60)
    NodeLatest.objects.update(weight_since=ago(90))

    found = distribution(cluster=cluster, window_s=300, now=NOW)

    assert found["start"] == ago(90)
    assert found["reads"] == 200
    assert found["verdict"]["state"] == "follows"


@pytest.mark.parametrize(("seconds", "state"), [(8, "too_little_traffic"), (30, "off")])
def test_right_after_a_change_nothing_is_called_off(cluster: Cluster, seconds: int, state: str) -> None:
    for instance in cluster.instances.all():
        count(instance, {1: 90, 2: 10}, sessions=100, window_s=seconds)
    NodeLatest.objects.update(weight_since=ago(seconds))

    found = distribution(cluster=cluster, window_s=300, now=NOW)

    assert found["verdict"]["state"] == state
    assert found["verdict"]["sentence"].startswith("Too early to tell: 8 s after a change" if seconds == 8 else "Off: ")
    assert [node["observed_share"] for node in found["nodes"]] == [0, 0.9, 0.1]


@pytest.mark.parametrize(("seconds", "is_marked"), [(30, False), (90, True)])
def test_a_pgpool_that_is_off_is_marked_once_it_would_be_a_warning(
    cluster: Cluster, seconds: int, is_marked: bool
) -> None:
    first, second = cluster.instances.order_by("name")
    count(first, {1: 25, 2: 75}, sessions=100, window_s=seconds)
    count(second, {1: 90, 2: 10}, sessions=100, window_s=seconds)
    NodeLatest.objects.update(weight_since=ago(seconds))

    seen = overview(cluster=cluster, window_s=300, now=NOW)

    assert [one["state"] for one in seen["distribution"]["per_instance"]] == ["follows", "off"]
    assert [one["is_off"] for one in seen["instances"]] == [False, is_marked]


def test_before_two_samples_nothing_is_claimed(cluster: Cluster) -> None:
    found = distribution(cluster=cluster, window_s=300, now=NOW)

    assert found["verdict"]["state"] == "too_little_traffic"
    assert (found["reads"], found["seconds"]) == (0, 0)
    assert [node["observed_share"] for node in found["nodes"]] == [None, None, None]
    assert [node["weight_share"] for node in found["nodes"]] == [0, 0.25, 0.75]


def test_a_cluster_that_was_never_polled_has_no_shares(organisation: Organisation) -> None:
    found = distribution(cluster=register(organisation), window_s=300, now=NOW)

    assert found["verdict"]["state"] == "too_little_traffic"
    assert [node["weight_share"] for node in found["nodes"]] == [None, None, None]


def test_a_lagging_standby_is_the_cause(cluster: Cluster) -> None:
    BackendLatest.objects.filter(backend__node_id=2).update(replay_lag_bytes=5000, replay_lag_s=8.1)
    counted(cluster, {0: 300, 1: 250, 2: 450})

    sentence = distribution(cluster=cluster, window_s=300, now=NOW)["verdict"]["sentence"]

    assert sentence == ("Off: pg3 gets 30 points less than its weight; its replay lag (8.1 s) is over delay_threshold.")


def minutes_of_reads(cluster: Cluster, minutes: int, *, off_for: int) -> None:
    """A sample every minute: 100 reads by weight, then half of pg3's reads at pg2."""
    first = cluster.instances.order_by("name")[0]
    second = third = 0
    rows = [NodeSampleRow(first.pk, node_id, ago(60 * minutes), 0, WEIGHTS[node_id], True) for node_id in (0, 1, 2)]
    for left in range(minutes - 1, -1, -1):
        is_off = left < off_for
        second, third = second + (62 if is_off else 25), third + (38 if is_off else 75)
        counts = {0: 0, 1: second, 2: third}
        rows += [NodeSampleRow(first.pk, node, ago(60 * left), counts[node], WEIGHTS[node], True) for node in counts]
    append(instances=[InstanceSampleRow(first.pk, ago(60 * left), True) for left in range(minutes, -1, -1)], nodes=rows)


def test_a_verdict_that_is_off_says_since_when(cluster: Cluster) -> None:
    Cluster.objects.update(is_statement_level=True)
    cluster.refresh_from_db()
    minutes_of_reads(cluster, 45, off_for=12)

    sentence = distribution(cluster=cluster, window_s=300, now=NOW)["verdict"]["sentence"]

    # 14:32 less 12 minutes, seen a minute later by the sample that holds the first minute
    assert sentence == "Off: pg3 gets 37 points less than its weight since 14:21."


def test_reads_that_were_off_since_the_weights_changed_say_so(cluster: Cluster) -> None:
    Cluster.objects.update(is_statement_level=True)
    cluster.refresh_from_db()
    NodeLatest.objects.update(weight_since=ago(60 * 20))
    minutes_of_reads(cluster, 45, off_for=30)

    sentence = distribution(cluster=cluster, window_s=300, now=NOW)["verdict"]["sentence"]

    assert sentence == "Off: pg3 gets 37 points less than its weight since 14:12."


def test_reads_that_were_off_for_longer_than_an_hour_name_no_minute(cluster: Cluster) -> None:
    Cluster.objects.update(is_statement_level=True)
    cluster.refresh_from_db()
    NodeLatest.objects.update(weight_since=ago(60 * 60 * 9), status_since=ago(60 * 60 * 9))
    minutes_of_reads(cluster, 70, off_for=70)

    sentence = distribution(cluster=cluster, window_s=300, now=NOW)["verdict"]["sentence"]

    assert "since" not in sentence


def test_a_cluster_is_told_without_its_passwords(cluster: Cluster) -> None:
    found = cluster_answer(cluster=cluster, now=NOW)

    assert "secret" not in repr(found)
    assert (found["state"], found["state_word"]) == ("ok", "Healthy")
    assert [one["name"] for one in found["pgpools"]] == ["pgpool-1", "pgpool-2"]
    assert found["pgpools"][0]["pcp"] == {"port": 9801, "user": "pcp"}
    assert found["pgpools"][0]["delivery"] == {
        "kind": "observe",
        "path": "",
        "ssh": None,
        "wait_h": None,
        "restart": "",
    }
    assert [(one["name"], one["role"], one["status"]) for one in found["backends"]] == [
        ("pg1", "primary", "up"),
        ("pg2", "standby", "up"),
        ("pg3", "standby", "up"),
    ]


def test_pgpools_that_disagree_on_a_backend_are_counted(cluster: Cluster) -> None:
    NodeLatest.objects.filter(node_id=1, instance__name="pgpool-2").update(status="down", lb_weight=0.5)

    found = nodes_answer(cluster=cluster, now=NOW)["nodes"][1]

    assert found["status"] == "up at 1 of 2 pgpools"
    assert found["weight_share"] is None
    assert [one["weight_share"] for one in found["per_instance"]] == [0.25, 0.5]
    assert found["replay_lag_s"] == 0.2


def test_a_backend_that_was_never_asked_says_so(organisation: Organisation) -> None:
    node = nodes_answer(cluster=register(organisation), now=NOW)["nodes"][0]

    assert (node["probe_ms"], node["reason"], node["status"]) == (None, "not asked yet", "not seen yet")


def test_only_clusters_of_the_organisation_are_listed(
    organisation: Organisation, other_organisation: Organisation
) -> None:
    register(organisation, "b")
    register(organisation, "a")
    register(other_organisation, "c")

    assert [one["slug"] for one in cluster_answers(organisation=organisation, now=NOW)] == ["a", "b"]


def test_the_list_takes_as_many_statements_for_many_clusters_as_for_one(
    organisation: Organisation, django_assert_max_num_queries: object
) -> None:
    for number in range(8):
        poll(register(organisation, f"c{number}"))

    with django_assert_max_num_queries(7):  # type: ignore[operator]  pytest-django's fixture
        assert len(cluster_answers(organisation=organisation, now=NOW)) == 8


def test_another_organisations_cluster_is_not_there(caller, cluster: Cluster, other_organisation: Organisation) -> None:  # type: ignore[no-untyped-def]
    assert lookup.cluster_of(caller=caller("viewer"), slug="orders") == cluster
    assert lookup.instance_of(cluster=cluster, name="pgpool-1").port == 9001
    with pytest.raises(Http404, match="has no pgpool"):
        lookup.instance_of(cluster=cluster, name="pgpool-9")
    with pytest.raises(Http404, match="has no cluster orders"):
        lookup.cluster_of(caller=caller("viewer", of=other_organisation), slug="orders")
    with pytest.raises(Http404, match="has no rollout 1"):
        lookup.rollout_of(caller=caller("viewer"), pk=1)


def test_a_backend_that_waits_for_its_first_session_is_up(cluster: Cluster) -> None:
    NodeLatest.objects.filter(node_id=1).update(status="waiting")

    [_, backend, _] = nodes_answer(cluster=cluster, now=NOW)["nodes"]

    assert backend["status"] == "up"
    assert {view["status"] for view in backend["per_instance"]} == {"waiting"}
    assert cluster_health(cluster=cluster, now=NOW)["state"] == "ok"


def test_the_overview_reads_the_latest_rows_once(cluster: Cluster) -> None:
    counted(cluster, {1: 250, 2: 750})

    with CaptureQueriesContext(connection) as asked:
        overview(cluster=cluster, window_s=300, now=NOW)

    latest = [query["sql"] for query in asked if 'FROM "clusters_node_latest"' in query["sql"]]
    assert len(latest) == 1
