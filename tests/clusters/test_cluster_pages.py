"""The pages of one cluster as a viewer sees them: fresh, collecting, out of sight, with events and without."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Organisation
from apps.clusters.models import BackendLatest, Cluster, ClusterEvent, InstanceLatest, NodeLatest
from tests.clusters.seen_cluster import count, poll, register
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db
ClientFor = Callable[..., Client]
PAGE = "/o/acme/clusters/orders/"


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    return register(organisation)


@pytest.fixture
def polled(cluster: Cluster) -> Cluster:
    """Polled now, five minutes of reads as the weights want them."""
    now = timezone.now()
    poll(cluster, seen_at=now)
    for instance in cluster.instances.order_by("name"):
        count(instance, {1: 250, 2: 750}, until=now)
    return cluster


def test_the_overview_says_the_answer_first(polled: Cluster, client_for: ClientFor) -> None:
    answer = client_for("viewer").get(PAGE)

    assert answer.status_code == 200
    assert "Reads follow the weights: 25.0 / 75.0 vs 25 / 75." in text_of(answer)
    assert 'data-verdict="follows"' in answer.content.decode()


def test_a_cluster_that_was_never_polled_is_collecting(cluster: Cluster, client_for: ClientFor) -> None:
    Cluster.objects.update(created_at=timezone.now())

    text = text_of(client_for("viewer").get(PAGE))

    assert "Collecting" in text
    assert "Reads follow" not in text


def test_a_cluster_out_of_sight_claims_nothing_about_now(polled: Cluster, client_for: ClientFor) -> None:
    long_ago = timezone.now() - timedelta(minutes=7)
    InstanceLatest.objects.update(polled_at=long_ago, answered_at=long_ago)
    NodeLatest.objects.update(seen_at=long_ago)
    BackendLatest.objects.update(polled_at=long_ago, answered_at=long_ago)

    text = text_of(client_for("viewer").get(PAGE + "now/"))

    assert "We cannot see this cluster" in text
    assert "Reads follow" not in text
    assert "Weights can still be changed" not in text


def test_out_of_sight_weights_are_changed_by_who_may_and_where_it_can_be(
    polled: Cluster, client_for: ClientFor
) -> None:
    long_ago = timezone.now() - timedelta(minutes=7)
    InstanceLatest.objects.update(polled_at=long_ago, answered_at=long_ago)
    NodeLatest.objects.update(seen_at=long_ago)
    operator = client_for("operator")

    assert "Weights can still be changed" not in text_of(operator.get(PAGE + "now/"))
    for instance in polled.instances.all():
        instance.delivery_kind, instance.delivery_path = "local", f"/srv/{instance.name}/pgpool.conf"
        instance.delivery_target = instance.delivery_path
        instance.save()
    assert "Weights can still be changed" in text_of(operator.get(PAGE + "now/"))


def test_what_happened_is_lettered_for_the_charts(polled: Cluster, client_for: ClientFor) -> None:
    for title in ("pg2 went down", "pg2 is up again"):
        ClusterEvent.objects.create(cluster=polled, at=timezone.now(), kind="backend", title=title)

    answer = client_for("viewer").get(PAGE + "happened/")

    text = text_of(answer)
    assert text.index("pg2 is up again") < text.index("pg2 went down")
    assert 'id="chart-events"' in answer.content.decode()


def test_events_page_back_to_the_first(polled: Cluster, client_for: ClientFor) -> None:
    now = timezone.now()
    ClusterEvent.objects.bulk_create(
        ClusterEvent(cluster=polled, at=now, kind="backend", title=f"event number {n}.") for n in range(60)
    )
    viewer = client_for("viewer")

    latest = viewer.get(PAGE + "events/")
    older = viewer.get(PAGE + "events/", {"before": ClusterEvent.objects.get(title="event number 10.").pk})

    assert "event number 59." in text_of(latest)
    assert "event number 9." not in text_of(latest)
    assert "event number 9." in text_of(older)


def test_names_are_text_and_never_markup(polled: Cluster, client_for: ClientFor) -> None:
    Cluster.objects.filter(pk=polled.pk).update(name="<script>alert(1)</script>")

    page = client_for("viewer").get(PAGE).content.decode()

    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_an_odd_window_shows_the_usual_one(polled: Cluster, client_for: ClientFor) -> None:
    page = client_for("viewer").get(PAGE, {"window": "9999999999999999999999"})

    assert page.status_code == 200
    assert 'window-s="900"' in page.content.decode()


def test_weights_in_the_address_are_a_draft(polled: Cluster, client_for: ClientFor) -> None:
    page = client_for("operator").get(PAGE + "weights/", {"weight_0": "0", "weight_1": "1", "weight_2": "4"})

    assert 'name="weight_2" min="0" max="100" step="any" value="80"' in page.content.decode()


def test_nonsense_in_the_address_leaves_the_present_weights(polled: Cluster, client_for: ClientFor) -> None:
    page = client_for("operator").get(PAGE + "weights/", {"weight_0": "x", "weight_1": "1", "weight_2": "4"})

    assert 'name="weight_2" min="0" max="100" step="any" value="75"' in page.content.decode()
