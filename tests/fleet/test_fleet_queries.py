"""All clusters at a glance: worst first, in a fixed number of statements, with a reason for every missing figure."""

from typing import Any

import pytest

from apps.accounts.models import Organisation
from apps.clusters.models import BackendLatest, Cluster, InstanceLatest, NodeLatest, Shard
from apps.fleet.queries import fleet, pollers, short_azs, sidebar
from tests.clusters.seen_cluster import NOW, ago, count, poll, register

pytestmark = pytest.mark.django_db


def watched(organisation: Organisation, slug: str, reads: dict[int, int] | None = None) -> Cluster:
    cluster = register(organisation, slug)
    poll(cluster)
    for instance in cluster.instances.order_by("name"):
        count(instance, reads or {1: 250, 2: 750})
    return cluster


def test_the_worst_cluster_comes_first(organisation: Organisation) -> None:
    watched(organisation, "fine")
    watched(organisation, "off", {1: 750, 2: 250})
    unseen = watched(organisation, "unseen")
    InstanceLatest.objects.filter(instance__cluster=unseen).update(answered_at=ago(60), state="unreachable")
    broken = watched(organisation, "broken")
    BackendLatest.objects.filter(backend__cluster=broken).update(is_in_recovery=True)

    found = fleet(organisation=organisation, now=NOW)

    assert [(row["slug"], row["state"]) for row in found["rows"]] == [
        ("broken", "crit"),
        ("unseen", "stale"),
        ("off", "warn"),
        ("fine", "ok"),
    ]
    figures = found["figures"]
    assert (figures["total"], figures["need_you"], figures["unseen"], figures["off"]) == (4, 3, 1, 1)


def test_a_row_shows_shares_beside_weights(organisation: Organisation) -> None:
    watched(organisation, "orders")

    row = fleet(organisation=organisation, now=NOW)["rows"][0]

    assert row["segments"] == [{"node_id": 1, "share": 0.25}, {"node_id": 2, "share": 0.75}]
    assert row["notches"] == [0.25]
    assert (row["drift"], row["is_off"]) == (0, False)
    assert row["reads_per_s"] == pytest.approx(2 * 1000 / 300)
    assert (row["lag_s"], row["lag_bytes"]) == (0.2, 96)
    assert (row["pgpools_up"], row["pgpools"], row["children_used"], row["children_total"]) == (2, 2, 8, 64)
    assert row["seen_at"] == NOW
    assert row["azs"] == "us-east-1a, us-east-1b, us-east-1c"
    assert "pool1.example" in row["haystack"]


@pytest.mark.parametrize(
    ("azs", "short"),
    [
        ([], ""),
        (["us-east-1a"], "us-east-1a"),
        (["us-east-1a", "us-east-1c"], "us-east-1a, c"),
        (["eu-west-1a", "us-east-1a"], "eu-west-1a, us-east-1a"),
        (["a", "b"], "a, b"),
    ],
)
def test_zones_of_one_region_name_it_once(azs: list[str], short: str) -> None:
    assert short_azs(azs) == short


def test_drift_names_the_backend_furthest_from_its_weight(organisation: Organisation) -> None:
    watched(organisation, "orders", {0: 100, 1: 150, 2: 750})

    row = fleet(organisation=organisation, now=NOW)["rows"][0]

    assert row["drift_node"] in {"pg1", "pg2"}
    assert abs(row["drift"] or 0) == pytest.approx(0.1)


def test_reads_from_before_a_change_of_weights_are_not_judged(organisation: Organisation) -> None:
    cluster = watched(organisation, "orders", {1: 750, 2: 250})
    NodeLatest.objects.filter(instance__cluster=cluster).update(weight_since=ago(4))

    row = fleet(organisation=organisation, now=NOW)["rows"][0]

    assert row["is_off"] is False
    assert row["drift"] is None


@pytest.mark.parametrize(("seconds", "state", "is_off"), [(50, "idle", False), (70, "warn", True)])
def test_reads_that_are_off_for_less_than_a_minute_are_waited_for(
    organisation: Organisation, seconds: int, state: str, is_off: bool
) -> None:
    cluster = register(organisation)
    poll(cluster)
    for instance in cluster.instances.all():
        count(instance, {1: 750, 2: 250}, window_s=seconds)
    NodeLatest.objects.update(weight_since=ago(seconds))

    found = fleet(organisation=organisation, now=NOW)

    assert (found["rows"][0]["state"], found["rows"][0]["is_off"]) == (state, is_off)
    assert found["rows"][0]["sentence"].startswith("Off: ")
    assert found["figures"]["off"] == is_off


def test_a_counter_that_fell_is_a_restart_and_no_negative_rate(organisation: Organisation) -> None:
    cluster = watched(organisation, "orders")
    NodeLatest.objects.filter(instance__cluster=cluster).update(select_count=3)

    rate = fleet(organisation=organisation, now=NOW)["rows"][0]["reads_per_s"]

    assert rate == pytest.approx(2 * 3 * 3 / 300)


def test_an_unknown_figure_has_its_reason(organisation: Organisation) -> None:
    cluster = watched(organisation, "orders")
    BackendLatest.objects.filter(backend__cluster=cluster).update(replay_lag_s=None, lag_reason="hidden from this role")

    row = fleet(organisation=organisation, now=NOW)["rows"][0]

    assert (row["lag_s"], row["lag_reason"]) == (None, "hidden from this role")


def test_a_cluster_that_was_never_polled_claims_nothing(organisation: Organisation) -> None:
    register(organisation)

    row = fleet(organisation=organisation, now=NOW)["rows"][0]

    assert (row["state"], row["reads_per_s"], row["drift"], row["segments"]) == ("stale", None, None, [])


def test_many_clusters_take_as_many_statements_as_one(
    organisation: Organisation, other_organisation: Organisation, django_assert_max_num_queries: Any
) -> None:
    for number in range(8):
        watched(organisation, f"c{number}")
    watched(other_organisation, "theirs")

    with django_assert_max_num_queries(7):
        found = fleet(organisation=organisation, now=NOW)

    assert len(found["rows"]) == 8
    with django_assert_max_num_queries(5):
        assert [row["slug"] for row in sidebar(organisation=organisation, now=NOW)][:2] == ["c0", "c1"]


def test_an_organisation_without_clusters_is_empty(organisation: Organisation) -> None:
    found = fleet(organisation=organisation, now=NOW)

    assert found["rows"] == []
    assert found["figures"]["worst_lag_s"] is None


def test_pollers_that_are_late_are_counted(settings: Any) -> None:
    settings.POLL_SHARDS = 2
    assert pollers(now=NOW)["words"] == "no poller yet"

    Shard.objects.create(number=0, ticked_at=ago(2))
    Shard.objects.create(number=1, ticked_at=ago(40))
    Shard.objects.create(number=2, ticked_at=ago(4000))  # from a time with more shards

    assert pollers(now=NOW) == {"on_time": 1, "total": 2, "words": "1 of 2 pollers on time"}
