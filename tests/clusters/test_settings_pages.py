"""The settings of a cluster: what everybody reads there, and what an admin changes or is refused."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from apps.accounts.access import Caller
from apps.accounts.models import AuditEntry
from apps.clusters.models import Cluster, PgpoolInstance
from apps.clusters.registry.registration import register
from tests.clusters.registration_scene import SECRET, Scene, pgpools_running
from tests.clusters.test_registration_pages import problem_beside, text_of

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 20, 17, 0, tzinfo=dt.UTC)
PAGE = "/o/acme/clusters/orders/settings/"
ClientFor = Callable[..., Client]


@pytest.fixture
def scene(tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with pgpools_running(tmp_path, settings) as running:
        yield running


@pytest.fixture
def cluster(scene: Scene, caller: Callable[..., Caller]) -> Cluster:
    """pgpool-1 and pgpool-2, both with PCP and a file."""
    return register(caller=caller("admin"), wanted=scene.wanted(), now=NOW)


@pytest.fixture
def first(cluster: Cluster) -> PgpoolInstance:
    return cluster.instances.get(name="pgpool-1")


@pytest.fixture
def admin(client_for: ClientFor) -> Client:
    return client_for("admin")


def places(cluster: Cluster, **changes: str) -> dict[str, str]:
    """The form of zones as the page fills it in."""
    given = {f"zone-{instance.pk}-az": instance.az for instance in cluster.instances.all()}
    for backend in cluster.backends.all():
        given |= {f"backend-{backend.node_id}-az": backend.az, f"backend-{backend.node_id}-address": ""}
    return given | changes


def is_done(answer: HttpResponse) -> bool:
    return (answer.status_code, answer.headers.get("Location")) == (303, PAGE)


def test_a_viewer_reads_the_settings_and_who_can_help(client_for: ClientFor, cluster: Cluster, scene: Scene) -> None:
    answer = client_for("viewer").get(PAGE)

    text = text_of(answer)
    assert answer.status_code == 200
    assert "You have viewer access" in text
    assert "Ask admin@acme.example." in text
    assert f"127.0.0.1:{scene.pgpools[0].port}" in text
    assert str(scene.pgpools[0].conf) in text
    assert "us-east-1b" in text
    assert '<form class="form' not in answer.content.decode()
    assert "Remove Orders" not in text


def test_the_threshold_by_time_is_shown_where_it_counts(client_for: ClientFor, cluster: Cluster) -> None:
    viewer = client_for("viewer")

    Cluster.objects.filter(pk=cluster.pk).update(delay_threshold_bytes=0)
    assert "lag is ignored" in text_of(viewer.get(PAGE))
    Cluster.objects.filter(pk=cluster.pk).update(delay_threshold_s=0.5)
    text = text_of(viewer.get(PAGE))
    assert "delay_threshold_by_time 0.5 s" in text.replace("\u00a0", " ")
    assert "lag is ignored" not in text


def test_an_admin_sees_a_form_for_every_part(admin: Client, cluster: Cluster) -> None:
    text = text_of(admin.get(PAGE))

    for part in (
        "Change pgpool-1",
        "Change pgpool-2",
        "Add a pgpool",
        "Store zones",
        "Test and store",
        "Remove Orders",
    ):
        assert part in text


def test_no_stored_secret_is_on_the_page(admin: Client, cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(password="monitor-s3cret")
    cluster.instances.update(pcp_password="pcp-s3cret")

    assert b"s3cret" not in admin.get(PAGE).content


@pytest.mark.parametrize("role", ["viewer", "operator"])
@pytest.mark.parametrize(
    "part", ["name/", "credentials/", "places/", "pgpools/", "pgpools/1/", "pgpools/1/remove/", "remove/"]
)
def test_only_an_admin_changes_settings(client_for: ClientFor, cluster: Cluster, role: str, part: str) -> None:
    answer = client_for(role).post(PAGE + part, {"name": "Other", "confirm": "orders"})

    assert answer.status_code == 403
    assert Cluster.objects.get().name == "Orders"
    assert PgpoolInstance.objects.count() == 2


def test_another_organisations_cluster_is_not_there(
    client_for: ClientFor, cluster: Cluster, other_organisation: Any
) -> None:
    rival = client_for("admin", of=other_organisation)

    assert rival.get("/o/rival/clusters/orders/settings/").status_code == 404
    assert rival.post("/o/rival/clusters/orders/settings/remove/", {"confirm": "orders"}).status_code == 404
    assert Cluster.objects.exists()


def test_another_clusters_pgpool_is_not_changed(admin: Client, cluster: Cluster, first: PgpoolInstance) -> None:
    Cluster.objects.create(organisation=cluster.organisation, slug="other", name="Other", username="u", password="p")

    answer = admin.post(f"/o/acme/clusters/other/settings/pgpools/{first.pk}/remove/")

    assert answer.status_code == 404
    assert PgpoolInstance.objects.filter(pk=first.pk).exists()


def test_a_cluster_is_renamed_and_keeps_its_address(admin: Client, cluster: Cluster) -> None:
    answer = admin.post(f"{PAGE}name/", {"name": "Orders, production"})

    assert is_done(answer)
    assert "Orders, production" in text_of(admin.get(PAGE))
    assert AuditEntry.objects.get(action="cluster.change").after == {"name": "Orders, production"}


def test_credentials_are_stored_when_every_pgpool_takes_them(admin: Client, cluster: Cluster, scene: Scene) -> None:
    for fake in scene.pgpools:
        fake.username, fake.password = "watcher", "second"

    answer = admin.post(f"{PAGE}credentials/", {"username": "watcher", "password": "second", "sslmode": "prefer"})

    assert is_done(answer)
    cluster.refresh_from_db()
    assert (cluster.username, cluster.password) == ("watcher", "second")


def test_credentials_that_are_refused_are_not_stored(admin: Client, cluster: Cluster) -> None:
    answer = admin.post(f"{PAGE}credentials/", {"username": "lifeguard", "password": "wr0ng-one", "sslmode": "prefer"})

    assert answer.status_code == 422
    assert "ALTER ROLE lifeguard PASSWORD" in text_of(answer)
    assert b"wr0ng-one" not in answer.content
    cluster.refresh_from_db()
    assert cluster.password == SECRET


def test_zones_are_stored(admin: Client, cluster: Cluster, first: PgpoolInstance) -> None:
    answer = admin.post(f"{PAGE}places/", places(cluster, **{f"zone-{first.pk}-az": "eu-1a", "backend-2-az": "eu-1b"}))

    assert is_done(answer)
    first.refresh_from_db()
    assert first.az == "eu-1a"
    assert list(cluster.backends.order_by("node_id").values_list("az", flat=True)) == ["", "us-east-1b", "eu-1b"]


def test_a_backend_is_asked_elsewhere_and_there_again(admin: Client, cluster: Cluster) -> None:
    again = {"places-password": SECRET}
    admin.post(f"{PAGE}places/", places(cluster, **{"backend-1-address": "db1.example:6000"}, **again))
    moved = cluster.backends.get(node_id=1)
    shown = admin.get(PAGE)
    admin.post(f"{PAGE}places/", places(cluster, **again))
    returned = cluster.backends.get(node_id=1)

    assert (moved.asked_host, moved.asked_port) == ("db1.example", 6000)
    assert b'value="db1.example:6000"' in shown.content
    assert (returned.asked_host, returned.asked_port) == (returned.hostname, returned.port)


def test_a_backend_is_not_asked_elsewhere_with_the_stored_password(admin: Client, cluster: Cluster) -> None:
    answer = admin.post(f"{PAGE}places/", places(cluster, **{"backend-1-address": "db1.example:6000"}))

    assert answer.status_code == 422
    assert "password of the monitoring role again" in problem_beside(answer, "places-password")
    assert cluster.backends.get(node_id=1).asked_port != 6000


def test_an_address_without_a_port_is_refused(admin: Client, cluster: Cluster) -> None:
    answer = admin.post(f"{PAGE}places/", places(cluster, **{"backend-1-address": "db1.example"}))

    assert answer.status_code == 422
    assert "Give host:port" in problem_beside(answer, "backend-1-address")


def test_lifeguards_own_database_is_refused_as_a_backend(admin: Client, cluster: Cluster) -> None:
    from django.db import connection

    own = connection.settings_dict
    answer = admin.post(f"{PAGE}places/", places(cluster, **{"backend-1-address": f"{own['HOST']}:{own['PORT']}"}))

    assert answer.status_code == 422
    assert "own database" in problem_beside(answer, "backend-1-address")


def test_a_cluster_is_removed_when_its_name_is_typed(admin: Client, cluster: Cluster) -> None:
    answer = admin.post(f"{PAGE}remove/", {"confirm": "orders"})

    assert (answer.status_code, answer["Location"]) == (303, "/o/acme/")
    assert not Cluster.objects.exists()


def test_a_cluster_is_not_removed_by_a_wrong_name(admin: Client, cluster: Cluster) -> None:
    answer = admin.post(f"{PAGE}remove/", {"confirm": "order"})

    assert answer.status_code == 422
    assert "This is not orders: nothing was removed." in problem_beside(answer, "confirm")
    assert Cluster.objects.exists()


def test_nothing_is_removed_or_changed_by_a_link(admin: Client, cluster: Cluster) -> None:
    assert admin.get(f"{PAGE}remove/").status_code == 405
    assert Cluster.objects.exists()
