"""Two who remove or change the same at once: neither undoes the other, and who finds it gone is told so."""

import datetime as dt
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.http import Http404
from rest_framework.test import APIClient

from apps.accounts.access import Caller
from apps.accounts.models import AuditEntry, Organisation
from apps.clusters.control import rollout_rows
from apps.clusters.models import Cluster
from apps.clusters.registry import registry_changes
from apps.clusters.registry.registry_locks import locked
from tests.clusters.polling_scene import wait_until
from tests.clusters.seen_cluster import register

pytestmark = pytest.mark.django_db

NOW = dt.datetime(2026, 11, 21, 23, 0, tzinfo=dt.UTC)
ORDERS = "/api/v1/clusters/orders/"
MakeCaller = Callable[..., Caller]
ClientFor = Callable[..., APIClient]


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


def answer_while(cluster: Cluster, request: Callable[[], Any], change: Callable[[Cluster], object]) -> Any:
    """The answer to a request that has found the cluster, and waits for its row while somebody changes it."""
    answers = []

    def ask() -> None:
        try:
            answers.append(request())
        finally:
            connection.close()

    asking = threading.Thread(target=ask)
    with transaction.atomic():
        current = locked(cluster)
        asking.start()
        wait_until(somebody_waits_for_a_lock, "the request reaches the cluster's row")
        change(current)
    asking.join(timeout=60)
    [answer] = answers
    return answer


@pytest.mark.django_db(transaction=True)
def test_of_two_that_remove_a_cluster_at_once_the_second_finds_nothing(
    organisation: Organisation, api_client: ClientFor
) -> None:
    cluster, admin = register(organisation), api_client("admin")

    answer = answer_while(cluster, lambda: admin.delete(ORDERS), Cluster.delete)

    assert answer.status_code == 404
    assert answer.json()["detail"] == "The cluster orders was removed meanwhile."
    assert not AuditEntry.objects.filter(action="cluster.remove").exists()


@pytest.mark.django_db(transaction=True)
def test_a_change_does_not_bring_a_pgpool_back_that_was_removed_meanwhile(
    organisation: Organisation, api_client: ClientFor
) -> None:
    cluster, admin = register(organisation), api_client("admin")
    change = {"pgpools": [{"name": "pgpool-2", "az": "us-east-1c"}]}

    answer = answer_while(
        cluster,
        lambda: admin.patch(ORDERS, change),
        lambda current: current.instances.filter(name="pgpool-2").delete(),
    )

    assert answer.status_code == 409
    assert answer.json()["detail"] == "pgpool-2 was removed meanwhile."
    assert list(cluster.instances.values_list("name", flat=True)) == ["pgpool-1"]


@pytest.mark.django_db(transaction=True)
def test_a_change_leaves_alone_what_others_changed_meanwhile(organisation: Organisation, api_client: ClientFor) -> None:
    cluster, admin = register(organisation), api_client("admin")
    zones = {"pgpools": [{"name": "pgpool-2", "az": "us-east-1c"}], "backends": [{"node_id": 1, "az": "us-east-1c"}]}

    def others(current: Cluster) -> None:
        current.instances.filter(name="pgpool-2").update(version="4.5.0", pcp_port=9898)
        current.backends.filter(node_id=1).update(direct_port=6543)

    answer = answer_while(cluster, lambda: admin.patch(ORDERS, zones), others)

    assert answer.status_code == 200
    pgpool, backend = cluster.instances.get(name="pgpool-2"), cluster.backends.get(node_id=1)
    assert (pgpool.az, pgpool.version, pgpool.pcp_port) == ("us-east-1c", "4.5.0", 9898)
    assert (backend.az, backend.direct_port) == ("us-east-1c", 6543)


def test_a_cluster_that_is_gone_takes_no_change_and_no_rollout(organisation: Organisation, caller: MakeCaller) -> None:
    cluster = register(organisation)
    Cluster.objects.all().delete()

    with pytest.raises(Http404, match="orders was removed meanwhile"):
        registry_changes.change_cluster(caller=caller("admin"), cluster=cluster, changes={"name": "New"}, now=NOW)
    with pytest.raises(Http404, match="orders was removed meanwhile"), transaction.atomic():
        rollout_rows.hold(cluster)


def test_of_two_that_remove_a_pgpool_the_second_finds_nothing(organisation: Organisation, caller: MakeCaller) -> None:
    cluster = register(organisation, pgpools=3)
    first, second = (cluster.instances.get(name="pgpool-2") for _ in range(2))

    registry_changes.remove_instance(caller=caller("admin"), instance=first, now=NOW)
    with pytest.raises(Http404, match="pgpool-2 was removed meanwhile"):
        registry_changes.remove_instance(caller=caller("admin"), instance=second, now=NOW)

    assert AuditEntry.objects.filter(action="cluster.pgpool.remove").count() == 1
