"""Who is wrong about a backend, by REST and on the page; what is old is compared with nothing."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import Organisation
from apps.clusters.domain.watchdog import parse
from apps.clusters.models import (
    BackendLatest,
    Cluster,
    ConfigRevision,
    InstanceLatest,
    NodeLatest,
    PgpoolInstance,
    WatchdogLatest,
)
from tests.clusters.domain.test_watchdog import text_of
from tests.clusters.seen_cluster import WEIGHTS, poll, register
from tests.clusters.test_registration_pages import text_of as text_of_page

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/clusters/orders/disagreements/"
PAGE = "/o/acme/clusters/orders/disagreements/"


@pytest.fixture
def polled(organisation: Organisation) -> Cluster:
    cluster = register(organisation)
    now = timezone.now()
    poll(cluster, seen_at=now)
    NodeLatest.objects.update(figures_at=now)
    return cluster


@pytest.fixture
def asked(api_client: Callable[..., APIClient]) -> Callable[[], dict[str, Any]]:
    def ask() -> dict[str, Any]:
        found: dict[str, Any] = api_client("viewer").get(ADDRESS).json()
        return found

    return ask


def of(name: str, node_id: int) -> Any:
    return NodeLatest.objects.filter(instance__name=name, node_id=node_id)


def test_pgpools_and_postgresql_that_agree_leave_nothing_to_say(polled: Cluster, asked: Callable[..., Any]) -> None:
    found = asked()

    assert (found["state"], found["findings"]) == ("agree", [])
    assert found["sentence"] == "All pgpools see the 3 backends as PostgreSQL says they are."
    assert len(found["cells"]) == 6
    assert [each["truth"]["role"] for each in found["backends"]] == ["primary", "standby", "standby"]


def test_a_pgpool_that_missed_the_promotion_is_named(polled: Cluster, asked: Callable[..., Any]) -> None:
    of("pgpool-1", 0).update(role="standby")
    of("pgpool-1", 1).update(role="primary")
    BackendLatest.objects.filter(backend__node_id=0).update(is_in_recovery=True, replication_state="streaming")
    BackendLatest.objects.filter(backend__node_id=1).update(is_in_recovery=False)

    found = asked()

    [finding] = found["findings"]
    assert (found["state"], finding["about"], finding["who_is_wrong"]) == ("disagree", "pg2 role", "pgpool-2")
    disputed = {(each["instance"], each["node_id"]) for each in found["cells"] if each["disputed"]}
    assert disputed == {("pgpool-2", 1)}


def test_a_view_that_is_old_is_marked_and_compared_with_nothing(polled: Cluster, asked: Callable[..., Any]) -> None:
    long_ago = timezone.now() - timedelta(minutes=5)
    of("pgpool-2", 1).update(status="down", status_since=long_ago, seen_at=long_ago)
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(state="unreachable", answered_at=long_ago)

    found = asked()

    assert found["state"] == "agree"
    assert "pgpool-2 cannot be seen now and is left out" in found["sentence"]
    assert [each["is_current"] for each in found["cells"]] == [True, False] * 3


def test_weights_are_held_against_the_revision_in_force(polled: Cluster, asked: Callable[..., Any]) -> None:
    by_node = {str(node_id): share * 1000 for node_id, share in WEIGHTS.items()}
    weights = {"pgpool-1": by_node, "pgpool-2": {"0": 0, "1": 1, "2": 1}}
    ConfigRevision.objects.create(cluster=polled, number=1, origin="edit", weights=weights, author_name="Ann")

    [finding] = asked()["findings"]

    assert (finding["about"], finding["instances"]) == ("pgpool-2 weights", ["pgpool-2"])
    assert finding["message"] == "pgpool-2 runs pg2 25 %, pg3 75 %; revision 1 says pg2 50 %, pg3 50 %."


@pytest.mark.parametrize("has_revision", [False, True])
def test_only_weights_that_differ_are_marked(
    polled: Cluster, asked: Callable[..., Any], client_for: Callable[..., Client], has_revision: bool
) -> None:
    """The primary has weight 0 on both sides of the ≠, and nothing differs there."""
    if has_revision:
        by_node = {str(node_id): share * 1000 for node_id, share in WEIGHTS.items()}
        weights = dict.fromkeys(["pgpool-1", "pgpool-2"], by_node)
        ConfigRevision.objects.create(cluster=polled, number=1, origin="edit", weights=weights, author_name="Ann")
    of("pgpool-2", 1).update(lb_weight=0.5)
    of("pgpool-2", 2).update(lb_weight=0.5)

    marked = {(each["instance"], each["node_id"]): each["disputed"] for each in asked()["cells"] if each["disputed"]}

    assert marked == {("pgpool-2", 1): ["weight"], ("pgpool-2", 2): ["weight"]}
    page = text_of_page(client_for("viewer").get(PAGE))
    assert page.count("≠ 50.0 %") == 2
    assert "≠ 0.0 %" not in page


def test_figures_that_were_not_told_lately_are_no_ground_for_a_finding(
    polled: Cluster, asked: Callable[..., Any]
) -> None:
    of("pgpool-2", 1).update(lb_weight=0.9, figures_at=timezone.now() - timedelta(minutes=2))

    assert asked()["findings"] == []


def test_nobody_seen_is_stale_and_never_asked_is_collecting(polled: Cluster, asked: Callable[..., Any]) -> None:
    InstanceLatest.objects.update(polled_at=timezone.now() - timedelta(minutes=5))
    assert asked()["state"] == "stale"

    InstanceLatest.objects.all().delete()
    assert asked()["state"] == "collecting"


@pytest.mark.parametrize(
    ("delivery", "remedy"),
    [("observe", "by pcp_attach_node -n 1 at pgpool-2"), ("manual", "or by POST …/backends/1/attach/")],
)
def test_the_page_says_who_is_wrong_and_what_to_do(
    polled: Cluster, client_for: Callable[..., Client], delivery: str, remedy: str
) -> None:
    polled.instances.update(delivery_kind=delivery)
    of("pgpool-2", 1).update(status="down")

    for address in (PAGE, f"{PAGE}now/"):
        answer = client_for("viewer").get(address)
        text = text_of_page(answer)
        assert "1 disagreement; what writes hang on comes first." in text
        assert "pgpool-2 holds pg2 for down, but PostgreSQL answers there." in text
        assert "Wrong: pgpool-2." in text
        assert remedy in text
        assert "≠ down" in text


def watchdog_tells(instance: str, scene: str, *, asked_s_ago: float = 1, **changes: Any) -> None:
    """What the watchdog of a real pgpool told; pgpool-3 of that trio is registered, too."""
    at = timezone.now()
    told = asdict(parse(text_of(scene, instance)))
    facts: dict[str, Any] = {"state": "on", "since": at - timedelta(hours=1), "told": told, "reason": ""}
    WatchdogLatest.objects.update_or_create(
        instance=PgpoolInstance.objects.get(name=instance),
        defaults={**facts, "asked_at": at - timedelta(seconds=asked_s_ago), **changes},
    )


@pytest.fixture
def trio(polled: Cluster) -> Cluster:
    """Three pgpools that watch each other, all of which answer."""
    PgpoolInstance.objects.create(
        cluster=polled, name="pgpool-3", host="127.0.0.1", port=26911, az="us-east-1c", version="4.3.5"
    )
    now, long_ago = timezone.now(), timezone.now() - timedelta(hours=1)
    InstanceLatest.objects.create(
        instance=PgpoolInstance.objects.get(name="pgpool-3"),
        polled_at=now,
        answered_at=now,
        state="answering",
        state_since=long_ago,
    )
    InstanceLatest.objects.update(state_since=long_ago)
    return polled


def test_without_a_watchdog_it_is_said_so(polled: Cluster, asked: Callable[..., Any]) -> None:
    never = asked()["watchdog"]
    for instance in ("pgpool-1", "pgpool-2"):
        watchdog_tells(instance, "all-up", state="off", told={})
    found = asked()

    assert (never["state"], never["sentence"]) == ("unknown", "No watchdog was asked lately.")
    assert (found["state"], found["findings"], found["watchdog"]["state"]) == ("agree", [], "off")
    assert found["watchdog"]["sentence"].startswith("No watchdog runs: no pgpool watches another one.")
    assert (found["watchdog"]["members"], found["watchdog"]["cells"]) == ([], [])
    assert [each["watchdog"] for each in found["watchdog"]["views"]] == ["off", "off"]


def test_every_watchdogs_view_stands_beside_who_answers(
    trio: Cluster, asked: Callable[..., Any], client_for: Callable[..., Client]
) -> None:
    for instance in ("pgpool-1", "pgpool-2", "pgpool-3"):
        watchdog_tells(instance, "all-up")

    found = asked()["watchdog"]

    assert (found["state"], found["delegate_ip"]) == ("agree", None)
    assert found["sentence"].startswith("pgpool-1 leads, and 3 of 3 pgpools are alive, of which 2 make a quorum.")
    assert [(each["leader"], each["quorum"], each["needed"]) for each in found["views"]] == [
        ("pgpool-1", "present", 2)
    ] * 3
    assert [(each["name"], each["is_registered"], each["answers"]) for each in found["members"]] == [
        ("pgpool-1", True, True),
        ("pgpool-2", True, True),
        ("pgpool-3", True, True),
    ]
    assert [each["state"] for each in found["cells"]] == ["leader"] * 3 + ["standby"] * 6
    text = text_of_page(client_for("viewer").get(PAGE))
    assert "The watchdog compares no weights" in text
    assert "pgpool-1 leads, and 3 of 3 pgpools are alive" in text


def test_one_that_the_watchdog_has_lost_and_that_answers_us_is_a_disagreement(
    trio: Cluster, asked: Callable[..., Any], client_for: Callable[..., Client]
) -> None:
    watchdog_tells("pgpool-2", "all-up", state="unknown", reason="pool2.example:9802 did not answer PCP within 3 s.")
    for instance in ("pgpool-1", "pgpool-3"):
        watchdog_tells(instance, "one-frozen")

    found = asked()

    [finding] = found["findings"]
    assert (found["state"], found["watchdog"]["state"]) == ("disagree", "disagree")
    assert found["watchdog"]["sentence"] == (
        "pgpool-1 leads, and 2 of 3 pgpools are alive, of which 2 make a quorum. No virtual address is configured. "
        "1 disagreement, told above."
    )
    assert finding["who_is_wrong"] == "the watchdog at pgpool-1 and pgpool-3"
    disputed = {(each["instance"], each["member"]) for each in found["watchdog"]["cells"] if each["is_disputed"]}
    assert disputed == {("pgpool-1", "pgpool-2"), ("pgpool-3", "pgpool-2")}
    assert not any(each["disputed"] for each in found["cells"])
    text = text_of_page(client_for("viewer").get(PAGE))
    assert "Not everybody agrees." in text
    assert "≠ lost" in text


def test_what_a_watchdog_told_long_ago_is_compared_with_nothing(trio: Cluster, asked: Callable[..., Any]) -> None:
    for instance in ("pgpool-1", "pgpool-3"):
        watchdog_tells(instance, "one-frozen", asked_s_ago=120)

    found = asked()

    assert (found["state"], found["watchdog"]["state"]) == ("agree", "unknown")
    assert not any(each["is_current"] for each in found["watchdog"]["cells"])


def test_a_pgpool_that_only_the_watchdog_knows_is_named(polled: Cluster, asked: Callable[..., Any]) -> None:
    for instance in ("pgpool-1", "pgpool-2"):
        watchdog_tells(instance, "all-up")

    found = asked()

    assert [each["who_is_wrong"] for each in found["findings"]] == ["the registration"]
    assert found["watchdog"]["members"][2]["reason"] == "not registered here"
    assert found["watchdog"]["members"][2]["place"] == "127.0.0.1:26911"
