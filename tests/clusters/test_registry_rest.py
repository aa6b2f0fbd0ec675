"""Clusters registered, changed and removed by REST: one request per permission and per outcome."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.access import Caller
from apps.clusters.control.weight_change import request_weights
from apps.clusters.models import Cluster
from apps.clusters.registry.registration import register
from tests.clusters.registration_scene import SECRET, Scene, pgpools_running

pytestmark = pytest.mark.django_db

CLUSTERS = "/api/v1/clusters/"
ORDERS = f"{CLUSTERS}orders/"
NOW = dt.datetime(2026, 11, 20, 17, 0, tzinfo=dt.UTC)
ClientFor = Callable[..., APIClient]


@pytest.fixture
def scene(tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with pgpools_running(tmp_path, settings) as running:
        yield running


@pytest.fixture
def cluster(scene: Scene, caller: Callable[..., Caller]) -> Cluster:
    return register(caller=caller("admin"), wanted=scene.wanted(), now=NOW)


def pgpool(scene: Scene, number: int = 0) -> dict[str, Any]:
    fake = scene.pgpools[number]
    return {
        "host": fake.host,
        "port": fake.port,
        "az": "us-east-1a",
        "pcp": {"port": fake.pcp_port, "user": fake.pcp_username, "password": fake.pcp_password},
        "delivery": {"kind": "local", "path": str(fake.conf)},
    }


def description(scene: Scene, **changes: object) -> dict[str, Any]:
    """As a script sends it."""
    whole = {
        "name": "Orders",
        "username": "lifeguard",
        "password": SECRET,
        "pgpools": [pgpool(scene, 0), pgpool(scene, 1)],
        "backends": [{"node_id": 1, "az": "us-east-1b"}],
    }
    return whole | changes


def test_a_cluster_is_registered_and_told_without_a_password(scene: Scene, api_client: ClientFor) -> None:
    answer = api_client("admin").post(CLUSTERS, description(scene))

    assert answer.status_code == 201
    body = answer.json()
    assert (body["slug"], [each["name"] for each in body["pgpools"]]) == ("orders", ["pgpool-1", "pgpool-2"])
    assert body["pgpools"][0]["pcp"] == {"port": scene.pgpools[0].pcp_port, "user": scene.pgpools[0].pcp_username}
    assert [each["az"] for each in body["backends"]] == ["", "us-east-1b", ""]
    assert f'"{SECRET}"' not in answer.content.decode()


def test_an_observed_pgpool_needs_no_pcp_and_no_file(scene: Scene, api_client: ClientFor) -> None:
    fake = scene.pgpools[0]
    observed = {"host": fake.host, "port": fake.port, "az": "", "pcp": None, "delivery": {"kind": "observe"}}

    answer = api_client("admin").post(CLUSTERS, description(scene, pgpools=[observed]))

    assert answer.status_code == 201
    assert answer.json()["pgpools"][0]["delivery"] == {
        "kind": "observe", "path": "", "ssh": None, "wait_h": None, "restart": "",
    }  # fmt: skip


def test_a_pgpool_that_two_clusters_watch_is_registered_with_a_warning(scene: Scene, api_client: ClientFor) -> None:
    fake = scene.pgpools[0]
    observed = {"host": fake.host, "port": fake.port, "az": "", "pcp": None, "delivery": {"kind": "observe"}}
    first = api_client("admin").post(CLUSTERS, description(scene, pgpools=[observed]))

    second = api_client("admin").post(CLUSTERS, description(scene, name="Bills", slug="bills", pgpools=[observed]))

    assert (first.status_code, first.json()["warnings"]) == (201, [])
    [warning] = second.json()["warnings"]
    assert (second.status_code, warning.split(":")[0]) == (201, f"pgpool-1 {fake.host}")
    assert "is also watched in Orders" in warning
    assert [each["warnings"] == [] for each in api_client("admin").get(CLUSTERS).json()["results"]] == [False, False]


@pytest.mark.parametrize("method", ["post", "patch", "delete"])
def test_an_operator_registers_changes_and_removes_nothing(
    scene: Scene, cluster: Cluster, api_client: ClientFor, method: str
) -> None:
    address = CLUSTERS if method == "post" else ORDERS

    answer = getattr(api_client("operator"), method)(address, {"name": "Mine"})

    assert (answer.status_code, answer.json()["type"]) == (403, "urn:lifeguard:permission-denied")
    cluster.refresh_from_db()
    assert cluster.name == "Orders"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"slug": "orders"}, "slug"),
        ({"slug": "Not a slug"}, "slug"),
        ({"password": "wrong"}, "password"),
        ({"pgpools": []}, "pgpools"),
        ({"nodes": []}, "nodes"),
        ({"backends": [{"node_id": 9, "az": "us-east-1a"}]}, "backends.0.node_id"),
    ],
)
def test_what_cannot_be_registered_is_refused_by_field(
    scene: Scene, cluster: Cluster, api_client: ClientFor, changes: dict[str, object], field: str
) -> None:
    answer = api_client("admin").post(CLUSTERS, description(scene, slug="more") | changes)

    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")
    assert field in [each["field"] for each in answer.json()["errors"]]
    assert Cluster.objects.count() == 1


def test_a_host_that_does_not_resolve_is_named(scene: Scene, api_client: ClientFor) -> None:
    nowhere = {**pgpool(scene), "host": "pgpool.invalid"}

    answer = api_client("admin").post(CLUSTERS, description(scene, pgpools=[nowhere]))

    [error] = [each for each in answer.json()["errors"] if each["field"] == "pgpools.0.host"]
    assert answer.status_code == 400
    assert "does not resolve" in error["reason"]


def test_a_file_outside_the_allowed_directories_is_refused(scene: Scene, api_client: ClientFor) -> None:
    elsewhere = {**pgpool(scene), "delivery": {"kind": "local", "path": "/etc/passwd"}}

    answer = api_client("admin").post(CLUSTERS, description(scene, pgpools=[elsewhere]))

    [error] = [each for each in answer.json()["errors"] if each["field"] == "pgpools.0.delivery.path"]
    assert answer.status_code == 400
    assert "outside the directories allowed" in error["reason"]


def test_the_connection_test_stores_nothing(scene: Scene, api_client: ClientFor) -> None:
    answer = api_client("admin").post(f"{CLUSTERS}test-connection/", description(scene))

    assert (answer.status_code, answer.json()["is_ok"]) == (200, True)
    assert not Cluster.objects.exists()


def test_what_is_left_out_of_a_change_stays(scene: Scene, cluster: Cluster, api_client: ClientFor) -> None:
    changes = {"name": "Orders, EU", "pgpools": [{"name": "pgpool-2", "az": "us-east-1c"}]}

    answer = api_client("admin").patch(ORDERS, changes)

    body = answer.json()
    assert (answer.status_code, body["name"], body["slug"]) == (200, "Orders, EU", "orders")
    assert [each["az"] for each in body["pgpools"]] == ["us-east-1a", "us-east-1c"]
    cluster.refresh_from_db()
    assert cluster.password == SECRET


@pytest.mark.parametrize(
    ("changes", "field"), [({"slug": "other"}, "slug"), ({"pgpools": [{"name": "pgpool-9"}]}, "pgpools.0.name")]
)
def test_a_change_that_cannot_be_is_refused_by_field(
    cluster: Cluster, api_client: ClientFor, changes: dict[str, object], field: str
) -> None:
    answer = api_client("admin").patch(ORDERS, changes)

    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == [field]


def test_a_pgpool_is_added_and_taken_away_again(scene: Scene, api_client: ClientFor) -> None:
    admin = api_client("admin")
    admin.post(CLUSTERS, description(scene, pgpools=[pgpool(scene, 0)]))

    added = admin.post(f"{ORDERS}pgpools/", pgpool(scene, 1))
    removed = admin.delete(f"{ORDERS}pgpools/pgpool-2/")
    last = admin.delete(f"{ORDERS}pgpools/pgpool-1/")

    assert (added.status_code, [each["name"] for each in added.json()["pgpools"]]) == (201, ["pgpool-1", "pgpool-2"])
    assert removed.status_code == 204
    assert (last.status_code, last.json()["type"]) == (409, "urn:lifeguard:registry-conflict")


def test_a_removed_cluster_is_gone(cluster: Cluster, api_client: ClientFor) -> None:
    admin = api_client("admin")

    assert admin.delete(ORDERS).status_code == 204
    assert admin.get(ORDERS).status_code == 404


def test_a_rollout_keeps_its_cluster(cluster: Cluster, api_client: ClientFor, caller: Callable[..., Caller]) -> None:
    request_weights(caller=caller("operator"), cluster=cluster, weights={"0": 0, "1": 1, "2": 3}, now=NOW)

    answer = api_client("admin").delete(ORDERS)

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:lifeguard:registry-conflict")
    assert Cluster.objects.exists()


@pytest.mark.parametrize("method", ["get", "patch", "delete"])
def test_a_cluster_of_another_organisation_is_not_there(
    cluster: Cluster, other_organisation: object, api_client: ClientFor, method: str
) -> None:
    stranger = api_client("admin", of=other_organisation)

    assert getattr(stranger, method)(ORDERS).status_code == 404
    assert stranger.get(CLUSTERS).json() == {"results": [], "next": None}
