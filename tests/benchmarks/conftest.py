"""A cluster that may be put under load, as rows: nobody answers there."""

import pytest
from django.db import connection

from apps.accounts.models import Organisation
from apps.benchmarks.models import BenchmarkAccess
from apps.clusters.models import Backend, Cluster, InstanceLatest, PgpoolInstance
from tests.benchmarks.scene import NOW, SECRET


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    """orders: a primary, two standbys, two pgpools of 32 children each, benchmarks allowed."""
    made = Cluster.objects.create(
        organisation=organisation, slug="orders", name="Orders", username="lifeguard", password="x", primary_node_id=0
    )
    for node_id in range(3):
        Backend.objects.create(cluster=made, node_id=node_id, hostname="127.0.0.1", port=5000 + node_id)
    for number in (1, 2):
        instance = PgpoolInstance.objects.create(
            cluster=made, name=f"pgpool-{number}", host="127.0.0.1", port=9000 + number, delivery_kind="manual"
        )
        InstanceLatest.objects.create(
            instance=instance, polled_at=NOW, state="answering", state_since=NOW, children_used=4, children_total=32
        )
    BenchmarkAccess.objects.create(
        cluster=made,
        is_on=True,
        database="shop",
        username="app",
        password=SECRET,
        most_clients=100,
        most_duration_s=120,
    )
    return made


@pytest.fixture
def primary(cluster: Cluster) -> Cluster:
    """orders, with the PostgreSQL of these tests as its primary."""
    place = connection.settings_dict
    cluster.backends.filter(node_id=0).update(hostname=place["HOST"], port=place["PORT"])
    BenchmarkAccess.objects.update(username=place["USER"], password=place["PASSWORD"], database=place["NAME"])
    return cluster
