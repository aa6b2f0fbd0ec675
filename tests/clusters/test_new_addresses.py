"""A stored password goes to no host that it was not given for, whoever changes the address."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.accounts.access import Caller
from apps.accounts.models import AuditEntry
from apps.clusters.models import Cluster
from apps.clusters.registry.registration import register
from tests.clusters.registration_scene import SECRET, Scene, fake_with_file, pgpools_running
from tests.clusters.test_registration_pages import problem_beside
from tests.clusters.test_settings_of_pgpools import changed_pgpool
from tests.fake_pgpool import FakePgpool
from tests.fake_show import three_backends

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 20, 17, 0, tzinfo=dt.UTC)
ORDERS = "/api/v1/clusters/orders/"
PGPOOLS = "/o/acme/clusters/orders/settings/pgpools/"
# Another name of the same machine: a new host, as far as anybody can tell from outside.
ELSEWHERE = "localhost"


@pytest.fixture
def scene(tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with pgpools_running(tmp_path, settings) as running:
        yield running


@pytest.fixture
def cluster(scene: Scene, caller: Callable[..., Caller]) -> Cluster:
    return register(caller=caller("admin"), wanted=scene.wanted(), now=NOW)


@pytest.fixture
def elsewhere(cluster: Cluster, tmp_path: Path) -> Iterator[FakePgpool]:
    """Answers like the cluster's pgpools, at a port that nobody named yet."""
    with fake_with_file(tmp_path / "elsewhere", three_backends()).running() as running:
        yield running


@pytest.fixture
def admin(api_client: Callable[..., APIClient]) -> APIClient:
    return api_client("admin")


def fields_of(answer: Any) -> set[str]:
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")
    return {each["field"] for each in answer.json()["errors"]}


def test_a_pgpool_moves_nowhere_without_the_password(elsewhere: FakePgpool, cluster: Cluster, admin: APIClient) -> None:
    answer = admin.patch(ORDERS, {"pgpools": [{"name": "pgpool-1", "port": elsewhere.port}]})

    assert fields_of(answer) == {"password"}
    assert "the stored one is not sent there" in answer.json()["errors"][0]["reason"]
    assert elsewhere.most_open_sessions == 0
    assert cluster.instances.get(name="pgpool-1").port != elsewhere.port


def test_a_new_host_needs_the_pcp_password_too(cluster: Cluster, admin: APIClient) -> None:
    moves = {"name": "pgpool-1", "host": ELSEWHERE}

    assert fields_of(admin.patch(ORDERS, {"pgpools": [moves]})) == {"password", "pgpools.0.pcp.password"}
    assert fields_of(admin.patch(ORDERS, {"password": SECRET, "pgpools": [moves]})) == {"pgpools.0.pcp.password"}
    assert cluster.instances.get(name="pgpool-1").host == "127.0.0.1"


def test_a_pgpool_moves_with_both_passwords(cluster: Cluster, admin: APIClient) -> None:
    pcp = {"port": cluster.instances.get(name="pgpool-1").pcp_port, "user": "pcp", "password": SECRET}

    answer = admin.patch(ORDERS, {"password": SECRET, "pgpools": [{"name": "pgpool-1", "host": ELSEWHERE, "pcp": pcp}]})

    assert answer.status_code == 200
    assert cluster.instances.get(name="pgpool-1").host == ELSEWHERE


def test_a_password_that_was_only_given_again_is_no_change(cluster: Cluster, admin: APIClient) -> None:
    admin.patch(ORDERS, {"password": SECRET, "name": "Orders EU"})

    assert AuditEntry.objects.get(action="cluster.change").after == {"name": "Orders EU"}


def test_another_pcp_port_needs_its_password(cluster: Cluster, admin: APIClient) -> None:
    answer = admin.patch(ORDERS, {"pgpools": [{"name": "pgpool-1", "pcp": {"port": 9898, "user": "pcp"}}]})

    assert fields_of(answer) == {"pgpools.0.pcp.password"}


@pytest.mark.parametrize("place", [{"host": "db9.example"}, {"port": 6000}])
def test_a_backend_is_not_asked_elsewhere_without_the_password(
    cluster: Cluster, admin: APIClient, place: dict[str, object]
) -> None:
    answer = admin.patch(ORDERS, {"backends": [{"node_id": 1, **place}]})

    assert fields_of(answer) == {"password"}
    moved = cluster.backends.get(node_id=1)
    assert (moved.direct_host, moved.direct_port) == ("", None)


def test_the_same_address_given_again_needs_no_password(cluster: Cluster, admin: APIClient) -> None:
    backend = cluster.backends.get(node_id=1)
    same = {"node_id": 1, "host": backend.hostname, "port": backend.port, "az": "eu-1a"}

    assert admin.patch(ORDERS, {"backends": [same]}).status_code == 200


def test_a_further_pgpool_is_added_with_the_stored_password(elsewhere: FakePgpool, admin: APIClient) -> None:
    answer = admin.post(f"{ORDERS}pgpools/", {"host": ELSEWHERE, "port": elsewhere.port})

    assert answer.status_code == 201


def test_the_page_asks_for_both_passwords_where_they_go(cluster: Cluster, client_for: Callable[..., Client]) -> None:
    browser, first = client_for("admin"), cluster.instances.get(name="pgpool-1")

    refused = browser.post(f"{PGPOOLS}{first.pk}/", changed_pgpool(first, host=ELSEWHERE, password=""))
    taken = browser.post(
        f"{PGPOOLS}{first.pk}/", changed_pgpool(first, host=ELSEWHERE, password=SECRET, pcp_password=SECRET)
    )

    assert refused.status_code == 422
    assert "monitoring role again" in problem_beside(refused, f"pgpool-{first.pk}-password")
    assert "PCP password of pgpool-1 again" in problem_beside(refused, f"pgpool-{first.pk}-pcp_password")
    assert taken.status_code == 303
    first.refresh_from_db()
    assert first.host == ELSEWHERE
