"""The real cluster, registered as a script does it: by REST."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.clusters.models import Cluster
from controlplane.environment import DeliveryDirectory
from deploy.demo.dashboard import cluster_description
from deploy.lab import Lab

pytestmark = pytest.mark.django_db
URL = "/api/v1/clusters/"


@pytest.fixture
def script(api_client: Callable[..., APIClient], lab: Lab, settings: Any) -> APIClient:
    folders = [Path(pgpool["conf"]).parent for pgpool in lab.addresses["pgpools"]]
    settings.LOCAL_DELIVERY_DIRECTORIES = [DeliveryDirectory(None, folder) for folder in folders]
    return api_client("admin")


def test_the_whole_cluster_is_registered_in_one_request(script: APIClient, lab: Lab) -> None:
    answer = script.post(URL, cluster_description(lab.addresses), format="json")

    assert answer.status_code == 201, answer.content
    cluster = Cluster.objects.get(slug="orders")
    assert [instance.name for instance in cluster.instances.order_by("name")] == ["pgpool-1", "pgpool-2", "pgpool-3"]
    assert [backend.application_name for backend in cluster.backends.order_by("node_id")] == ["pg1", "pg2", "pg3"]
    assert cluster.delay_threshold_bytes is not None
    monitor = lab.addresses["monitor"]
    assert monitor["password"] not in answer.content.decode()


def test_the_connection_test_finds_nothing_wrong_with_the_real_cluster(script: APIClient, lab: Lab) -> None:
    answer = script.post(f"{URL}test-connection/", cluster_description(lab.addresses), format="json")

    assert answer.status_code == 200, answer.content
    report = answer.json()
    told = {(step["step"], step["state"]) for step in report["steps"]}
    assert report["is_ok"], report
    assert {state for _, state in told} == {"ok", "warning"}
    assert {step for step, state in told if state == "warning"} == {"tls"}  # the lab offers none
    assert [backend["role"] for backend in report["discovered"]["backends"]] == ["primary", "standby", "standby"]


def test_files_given_to_the_wrong_pgpools_are_refused(script: APIClient, lab: Lab) -> None:
    description = cluster_description(lab.addresses)
    first, second, _ = description["pgpools"]
    first["delivery"], second["delivery"] = second["delivery"], first["delivery"]

    answer = script.post(URL, description, format="json")

    assert answer.status_code == 400
    assert "another pgpool's" in answer.content.decode()
    assert not Cluster.objects.exists()


def test_a_wrong_password_is_refused_with_its_mending(script: APIClient, lab: Lab) -> None:
    answer = script.post(URL, {**cluster_description(lab.addresses), "password": "wrong"}, format="json")

    assert answer.status_code == 400
    assert "ALTER ROLE lifeguard PASSWORD" in answer.content.decode()
    assert not Cluster.objects.exists()
