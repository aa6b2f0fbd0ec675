"""What no registration takes: more pgpools than a cluster has, and backends where nobody may point Lifeguard."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.accounts.access import Caller
from apps.clusters.models import Backend, Cluster
from apps.clusters.registry.registration import BackendWanted, RegistrationRefused, register
from tests.clusters.registration_scene import SECRET, Scene, pgpools_running

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 20, 17, 0, tzinfo=dt.UTC)
CLUSTERS = "/api/v1/clusters/"
METADATA = "169.254.169.254"
NEVER = "169.254.169.254 is the address 169.254.169.254, which is never contacted (link-local"


@pytest.fixture
def scene(tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with pgpools_running(tmp_path, settings, count=1) as running:
        yield running


def body(*, pgpools: int = 1, backends: int = 0) -> dict[str, Any]:
    return {
        "name": "Orders",
        "username": "lifeguard",
        "password": SECRET,
        "pgpools": [{"host": "127.0.0.1", "port": 1 + number} for number in range(pgpools)],
        "backends": [{"node_id": number % 128} for number in range(backends)],
    }


def told(answer: Any) -> dict[str, str]:
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")
    return {each["field"]: each["reason"] for each in answer.json()["errors"]}


@pytest.mark.parametrize("address", [CLUSTERS, "/api/v1/clusters/test-connection/"])
def test_more_pgpools_or_backends_than_a_cluster_has_are_refused_unasked(
    api_client: Callable[..., APIClient], address: str
) -> None:
    errors = told(api_client("admin").post(address, body(pgpools=129, backends=129)))

    assert errors == {
        "pgpools": "a cluster can have 128 pgpools at most, these are 129",
        "backends": "a cluster can have 128 backends at most, these are 129",
    }
    assert not Cluster.objects.exists()


def test_the_story_itself_refuses_too_many(scene: Scene, caller: Callable[..., Caller]) -> None:
    many = tuple(scene.pgpool(name=f"pgpool-{number}", host=f"pool{number}.invalid") for number in range(129))

    with pytest.raises(RegistrationRefused) as caught:
        register(caller=caller("admin"), wanted=scene.wanted(pgpools=many), now=NOW)

    assert caught.value.errors == {"pgpools": "a cluster can have 128 pgpools at most, these are 129"}


def test_the_form_refuses_too_many(client_for: Callable[..., Client]) -> None:
    form = {"name": "Orders", "username": "lifeguard", "password": SECRET, "sslmode": "prefer"}
    for number in range(129):
        form |= {f"pgpool-{number}-host": "127.0.0.1", f"pgpool-{number}-port": str(1 + number)}
        form[f"pgpool-{number}-delivery"] = "observe"

    answer = client_for("admin").post("/o/acme/clusters/register/", form)

    assert answer.status_code == 422
    assert "cluster can have 128 pgpools at most, these are 129" in answer.text
    assert not Cluster.objects.exists()


def test_no_backend_is_registered_where_nobody_may_ask(scene: Scene, caller: Callable[..., Caller]) -> None:
    wanted = scene.wanted(backends=(BackendWanted(0), BackendWanted(1, host=METADATA, port=80)))

    with pytest.raises(RegistrationRefused) as caught:
        register(caller=caller("admin"), wanted=wanted, now=NOW)

    assert list(caught.value.errors) == ["backends.1.host"]
    assert caught.value.errors["backends.1.host"].startswith(NEVER)
    assert not Cluster.objects.exists()


def test_no_backend_is_moved_where_nobody_may_ask(
    scene: Scene, caller: Callable[..., Caller], api_client: Callable[..., APIClient]
) -> None:
    register(caller=caller("admin"), wanted=scene.wanted(), now=NOW)
    before = list(Backend.objects.order_by("node_id").values_list("direct_host", "direct_port"))

    change = {"password": SECRET, "backends": [{"node_id": 2, "host": METADATA, "port": 80}]}
    errors = told(api_client("admin").patch(f"{CLUSTERS}orders/", change))

    assert list(errors) == ["backends.0.host"]
    assert errors["backends.0.host"].startswith(NEVER)
    assert list(Backend.objects.order_by("node_id").values_list("direct_host", "direct_port")) == before


@pytest.mark.parametrize("host", ["/tmp", "db1,db2", "db1:5432", "-h"])
def test_what_is_not_one_host_is_refused_with_its_field_and_value(
    scene: Scene, caller: Callable[..., Caller], host: str
) -> None:
    wanted = scene.wanted(backends=(BackendWanted(0), BackendWanted(1, host=host)))

    with pytest.raises(RegistrationRefused) as caught:
        register(caller=caller("admin"), wanted=wanted, now=NOW)

    assert list(caught.value.errors) == ["backends.1.host"]
    assert caught.value.errors["backends.1.host"].startswith(f"{host} must be one name or address")
    assert not Cluster.objects.exists()


def test_a_backend_is_not_asked_at_a_path_or_at_several_hosts(
    scene: Scene, caller: Callable[..., Caller], api_client: Callable[..., APIClient]
) -> None:
    register(caller=caller("admin"), wanted=scene.wanted(), now=NOW)
    admin = api_client("admin")

    def change(**given: Any) -> Any:
        return admin.patch(f"{CLUSTERS}orders/", {"password": SECRET, "backends": [{"node_id": 2, **given}]})

    typed = [told(change(host=host)) for host in ("/tmp", "db1,db2")]
    Backend.objects.filter(node_id=2).update(direct_host="db1,db2")  # by an earlier version
    stored = told(change(az="eu-1a"))
    mended = change(host="")

    assert typed == [
        {"backends.0.host": "/tmp must be one name or address"},
        {"backends.0.host": "db1,db2 must be one name or address"},
    ]
    assert stored == {"backends.0.host": "db1,db2 must be one name or address"}
    assert mended.status_code == 200, mended.content
    assert Backend.objects.get(node_id=2).direct_host == ""
