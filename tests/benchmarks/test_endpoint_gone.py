"""Endpoints that somebody else removes meanwhile, alone or with their cluster: nothing is there, so nothing is done."""

from collections.abc import Callable

import pytest
from django.http import Http404
from rest_framework.test import APIClient

from apps.accounts.access import Caller
from apps.accounts.models import AuditEntry
from apps.benchmarks.control import endpoints
from apps.benchmarks.models import BenchmarkEndpoint
from apps.clusters.models import Cluster

pytestmark = pytest.mark.django_db

MakeCaller = Callable[..., Caller]
ENTRIES = AuditEntry.objects.filter(action__startswith="benchmarks.endpoint.")


@pytest.fixture
def endpoint(cluster: Cluster) -> BenchmarkEndpoint:
    return BenchmarkEndpoint.objects.create(cluster=cluster, name="bouncer-1", host="127.0.0.1", port=6432)


@pytest.mark.parametrize("changes", [{"port": 6433}, {"most_sessions": 5}, {}])
def test_one_that_is_gone_takes_no_change(
    endpoint: BenchmarkEndpoint, caller: MakeCaller, changes: dict[str, int]
) -> None:
    BenchmarkEndpoint.objects.all().delete()

    with pytest.raises(Http404, match="The endpoint bouncer-1 was removed meanwhile"):
        endpoints.change(caller=caller("admin"), endpoint=endpoint, changes=changes)

    assert not BenchmarkEndpoint.objects.exists()
    assert not ENTRIES.exists()


def test_of_two_that_remove_one_the_second_finds_nothing(endpoint: BenchmarkEndpoint, caller: MakeCaller) -> None:
    first, second = (BenchmarkEndpoint.objects.get() for _ in range(2))

    endpoints.remove(caller=caller("admin"), endpoint=first)
    with pytest.raises(Http404, match="The endpoint bouncer-1 was removed meanwhile"):
        endpoints.remove(caller=caller("admin"), endpoint=second)

    assert ENTRIES.count() == 1


def test_a_cluster_that_is_gone_takes_no_endpoint(cluster: Cluster, caller: MakeCaller) -> None:
    Cluster.objects.all().delete()

    with pytest.raises(Http404, match="The cluster orders was removed meanwhile"):
        endpoints.add(
            caller=caller("admin"), cluster=cluster, name="bouncer-1", facts={"host": "127.0.0.1", "port": 6432}
        )

    assert not ENTRIES.exists()


def test_a_change_leaves_alone_what_others_changed_meanwhile(endpoint: BenchmarkEndpoint, caller: MakeCaller) -> None:
    BenchmarkEndpoint.objects.update(most_sessions=7)

    stored = endpoints.change(caller=caller("admin"), endpoint=endpoint, changes={"kind": "router"})

    assert (stored.kind, stored.most_sessions) == ("router", 7)
    row = BenchmarkEndpoint.objects.get()
    assert (row.kind, row.most_sessions) == ("router", 7)


def test_a_change_of_nothing_is_none(endpoint: BenchmarkEndpoint, api_client: Callable[..., APIClient]) -> None:
    answer = api_client("admin").patch("/api/v1/clusters/orders/endpoints/bouncer-1/", {}, format="json")

    assert (answer.status_code, answer.json()["port"]) == (200, 6432)
    assert BenchmarkEndpoint.objects.get().changed_at == endpoint.changed_at
    assert not ENTRIES.exists()
