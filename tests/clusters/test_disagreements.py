"""Who is wrong about a backend, by REST and on the page; what is old is compared with nothing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import Organisation
from apps.clusters.models import BackendLatest, Cluster, ConfigRevision, InstanceLatest, NodeLatest
from tests.clusters.seen_cluster import WEIGHTS, poll, register
from tests.clusters.test_registration_pages import text_of

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


def test_the_page_says_who_is_wrong_and_what_to_do(polled: Cluster, client_for: Callable[..., Client]) -> None:
    of("pgpool-2", 1).update(status="down")

    for address in (PAGE, f"{PAGE}now/"):
        answer = client_for("viewer").get(address)
        text = text_of(answer)
        assert "1 disagreement; what writes hang on comes first." in text
        assert "pgpool-2 holds pg2 for down, but PostgreSQL answers there." in text
        assert "Wrong: pgpool-2." in text
        assert "pcp_attach_node -n 1 at pgpool-2" in text
        assert "≠ down" in text
