"""Who only looks opens no secret: it costs time for every row, and a lost key must not take the pages with it."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from rest_framework.test import APIClient

from apps.accounts.models import Organisation
from apps.clusters.models import Cluster
from tests.clusters.seen_cluster import poll, register

pytestmark = pytest.mark.django_db


@pytest.fixture
def unreadable(organisation: Organisation) -> Cluster:
    """A cluster whose passwords no key opens any more."""
    found = register(organisation)
    poll(found)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE clusters_cluster SET password = 'spoilt'")
        cursor.execute("UPDATE clusters_pgpoolinstance SET pcp_password = 'spoilt'")
    return found


@pytest.mark.parametrize("path", ["", "fleet/sidebar/", "clusters/orders/", "clusters/orders/events/"])
def test_a_page_opens_no_secret(client_for: Callable[..., Client], unreadable: Cluster, path: str) -> None:
    assert client_for("viewer").get(f"/o/acme/{path}").status_code == 200


@pytest.mark.parametrize("path", ["", "orders/", "orders/nodes/", "orders/distribution/", "orders/weights/"])
def test_an_answer_opens_no_secret(api_client: Callable[..., APIClient], unreadable: Cluster, path: str) -> None:
    assert api_client("viewer").get(f"/api/v1/clusters/{path}").status_code == 200
