"""A cluster of two pgpools and three backends, and samples of it that a test lays down by hand."""

import datetime as dt
from collections.abc import Iterable

from apps.accounts.models import Organisation
from apps.clusters.history.append import NodeSampleRow, append
from apps.clusters.history.latest import BackendNow
from apps.clusters.models import Backend, Cluster, PgpoolInstance

START = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)


def registered() -> Cluster:
    organisation = Organisation.objects.create(slug="samples", name="Samples")
    cluster = Cluster.objects.create(
        organisation=organisation, slug="orders", name="Orders", username="m", password="p"
    )
    for number in (1, 2):
        PgpoolInstance.objects.create(cluster=cluster, name=f"pgpool-{number}", host="127.0.0.1", port=9000 + number)
    for node_id in range(3):
        Backend.objects.create(
            cluster=cluster,
            node_id=node_id,
            hostname="127.0.0.1",
            port=8000 + node_id,
            application_name=f"pg{node_id + 1}",
        )
    return cluster


def instance_ids(cluster: Cluster) -> list[int]:
    return list(cluster.instances.order_by("name").values_list("pk", flat=True))


def after(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def count_reads(instance_id: int, counts: Iterable[tuple[float, int, int]]) -> None:
    """counts: (seconds after START, select_count of node 1, of node 2); node 0 stays at 5."""
    append(
        nodes=[
            NodeSampleRow(instance_id, node_id, after(at_s), count, lb_weight, is_up=True)
            for at_s, first, second in counts
            for node_id, count, lb_weight in ((0, 5, 0.0), (1, first, 0.25), (2, second, 0.75))
        ]
    )


def backend_now(backend: Backend, *, is_in_recovery: bool) -> BackendNow:
    return BackendNow(backend.pk, START, START, "", is_in_recovery, 0.5, "15.18", 900, None, None, "", "", "")
