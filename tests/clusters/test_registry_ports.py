"""A port that is stored is one: the tables refuse what no form or request should let through."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from apps.accounts.models import Organisation
from apps.clusters.models import Backend, Cluster, PgpoolInstance

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    return Cluster.objects.create(organisation=organisation, slug="orders", name="Orders", username="u", password="p")


def make_instance(cluster: Cluster, **ports: Any) -> None:
    PgpoolInstance.objects.create(cluster=cluster, name="pgpool-1", host="127.0.0.1", **{"port": 9999, **ports})


def make_backend(cluster: Cluster, **ports: Any) -> None:
    Backend.objects.create(cluster=cluster, node_id=0, hostname="127.0.0.1", **{"port": 5432, **ports})


@pytest.mark.parametrize("port", [0, 65536])
@pytest.mark.parametrize(
    ("make", "field", "constraint"),
    [
        (make_instance, "port", "instance_port_range"),
        (make_instance, "pcp_port", "instance_pcp_port_range"),
        (make_backend, "port", "backend_port_range"),
        (make_backend, "direct_port", "backend_direct_port_range"),
    ],
)
def test_a_port_out_of_range_is_not_stored(cluster: Cluster, make: Any, field: str, constraint: str, port: int) -> None:
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        make(cluster, **{field: port})


@pytest.mark.parametrize("port", [None, 1, 65535])
def test_a_port_in_range_or_none_is_stored(cluster: Cluster, port: int | None) -> None:
    make_instance(cluster, pcp_port=port)
    make_backend(cluster, direct_port=port)

    assert (PgpoolInstance.objects.get().pcp_port, Backend.objects.get().direct_port) == (port, port)
