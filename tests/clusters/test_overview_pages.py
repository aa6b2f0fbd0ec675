"""The pages that are looked at all day, in every state: nothing yet, collecting, live, out of sight, read only."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Organisation
from apps.clusters.models import Cluster, ClusterEvent
from tests.clusters.seen_cluster import poll, register
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

PAGE = "/o/acme/clusters/orders/"
# Polled so far ahead that no slow machine makes a test see old figures.
AHEAD = timedelta(hours=1)


@pytest.fixture
def viewer(client_for: Callable[..., Client]) -> Client:
    return client_for("viewer")


@pytest.fixture
def orders(organisation: Organisation) -> Cluster:
    return register(organisation)


def seen_now(cluster: Cluster, *, since: timedelta) -> None:
    now = timezone.now()
    poll(cluster, seen_at=now + AHEAD, since=now + since)


@pytest.mark.parametrize(("role", "said"), [("admin", "Register a cluster"), ("viewer", "needs the role admin")])
def test_an_empty_fleet_says_what_to_do_first(
    organisation: Organisation, client_for: Callable[..., Client], role: str, said: str
) -> None:
    text = text_of(client_for(role).get("/o/acme/"))

    assert "No clusters yet" in text
    assert said in text


@pytest.mark.parametrize("path", ["/o/acme/", f"{PAGE}weights/", f"{PAGE}settings/"])
def test_who_may_not_is_told_whom_to_ask(
    client_for: Callable[..., Client], organisation: Organisation, path: str
) -> None:
    client_for("admin")
    if path != "/o/acme/":
        poll(register(organisation))

    assert "Ask admin@acme.example." in text_of(client_for("viewer").get(path))


@pytest.mark.parametrize("path", ["", "now/", "saturation/", "happened/", "events/", "history/", "weights/"])
def test_a_cluster_that_was_never_polled_has_pages_without_a_figure(viewer: Client, orders: Cluster, path: str) -> None:
    Cluster.objects.update(created_at=timezone.now() + AHEAD)

    assert viewer.get(PAGE + path).status_code == 200


def test_the_first_minute_says_in_words_what_the_bars_will_show(viewer: Client, orders: Cluster) -> None:
    poll(orders)

    page = viewer.get(f"{PAGE}now/").content.decode()

    assert 'aria-label="No reads in this window, weight 25.0\xa0%"' in page


def test_the_first_minute_says_what_is_awaited_and_what_to_try_to_who_may(
    viewer: Client, client_for: Callable[..., Client], orders: Cluster
) -> None:
    Cluster.objects.update(created_at=timezone.now() + AHEAD)
    for instance in orders.instances.all():
        path = f"/srv/{instance.name}.conf"
        orders.instances.filter(pk=instance.pk).update(delivery_kind="local", delivery_path=path, delivery_target=path)

    text = text_of(viewer.get(PAGE))

    assert "Collecting: the verdict comes in about 20 s." in text
    assert "Too early to tell." in text
    assert "What to try first" not in text
    assert "What to try first" in text_of(client_for("operator").get(PAGE))


def test_zones_that_are_made_up_are_marked_so(client_for: Callable[..., Client], orders: Cluster) -> None:
    Cluster.objects.update(has_synthetic_azs=True)

    assert "synthetic: all runs on one machine" in text_of(client_for("admin").get(f"{PAGE}settings/"))


def test_a_live_cluster_shows_its_verdict(viewer: Client, orders: Cluster) -> None:
    seen_now(orders, since=-timedelta(hours=3))

    answer = viewer.get(PAGE)

    assert 'data-verdict="too_little_traffic"' in answer.content.decode()
    assert "out of sight" not in text_of(answer)


def test_a_cluster_out_of_sight_is_loud(viewer: Client, orders: Cluster) -> None:
    long_ago = timezone.now() - timedelta(hours=2)
    poll(orders, seen_at=long_ago, since=long_ago - timedelta(hours=1))

    page, fleet = text_of(viewer.get(PAGE)), text_of(viewer.get("/o/acme/"))

    assert "We cannot see this cluster since" in page
    assert "the pollers of this installation are not running" in page
    assert "Out of sight" in fleet


def test_a_cluster_of_another_organisation_has_no_page(
    client_for: Callable[..., Client], other_organisation: Organisation, orders: Cluster
) -> None:
    stranger = client_for("admin", of=other_organisation)

    assert stranger.get(PAGE).status_code == 404
    assert stranger.get("/o/rival/clusters/orders/").status_code == 404


def test_events_are_told_latest_first(viewer: Client, orders: Cluster) -> None:
    for number, title in enumerate(["pg2 went down", "pg2 is up again"]):
        ClusterEvent.objects.create(
            cluster=orders, at=timezone.now() + timedelta(seconds=number), kind="backend", title=title
        )

    text = text_of(viewer.get(f"{PAGE}events/"))

    assert text.index("pg2 is up again") < text.index("pg2 went down")
