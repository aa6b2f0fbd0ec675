"""One endpoint at one place, and none at a place that nobody has checked, whoever else changes them meanwhile."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from apps.accounts.access import Caller
from apps.accounts.models import AuditEntry
from apps.benchmarks.control import endpoints
from apps.benchmarks.control.endpoints import EndpointRefused
from apps.benchmarks.models import BenchmarkEndpoint
from apps.clusters.models import Cluster, PgpoolInstance

MakeCaller = Callable[..., Caller]
ENDPOINTS = "/api/v1/clusters/orders/endpoints/"
PLACE = {"host": "127.0.0.1", "port": 6432}


def added(cluster: Cluster, name: str = "bouncer-1", **changes: Any) -> BenchmarkEndpoint:
    return BenchmarkEndpoint.objects.create(cluster=cluster, name=name, **{**PLACE, **changes})


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST.", "::ffff:127.0.0.1"])
def test_a_second_one_at_a_place_is_refused_with_the_name_of_the_first(
    cluster: Cluster, api_client: Callable[..., APIClient], host: str
) -> None:
    added(cluster)
    added(cluster, "bouncer-2", port=6433)
    admin = api_client("admin")

    made = admin.post(ENDPOINTS, {**PLACE, "name": "bouncer-3", "host": host}, format="json")
    moved = admin.patch(f"{ENDPOINTS}bouncer-2/", {"host": host, "port": 6432}, format="json")

    for answer in (made, moved):
        assert answer.status_code == 400
        [error] = answer.json()["errors"]
        assert (error["field"], "is the endpoint bouncer-1, which is offered already" in error["reason"]) == (
            "host", True,
        )  # fmt: skip
    assert sorted(BenchmarkEndpoint.objects.values_list("name", "port")) == [("bouncer-1", 6432), ("bouncer-2", 6433)]


@pytest.mark.django_db
def test_two_that_are_at_one_place_since_long_are_changed_where_they_are(
    cluster: Cluster, api_client: Callable[..., APIClient]
) -> None:
    added(cluster)
    added(cluster, "bouncer-2")
    admin = api_client("admin")

    kept = admin.patch(f"{ENDPOINTS}bouncer-2/", {**PLACE, "most_sessions": 5}, format="json")
    apart = admin.patch(f"{ENDPOINTS}bouncer-2/", {"port": 6433}, format="json")
    back = admin.patch(f"{ENDPOINTS}bouncer-2/", {"port": 6432}, format="json")

    assert [one.status_code for one in (kept, apart, back)] == [200, 200, 400]


Meanwhile = Callable[[Callable[[], object]], None]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """meanwhile(story): it is told once, over a connection of its own, while an address is looked up."""

    def arrange(story: Callable[[], object]) -> None:
        left = [story]

        def tell() -> None:
            try:
                left.pop()()
            finally:
                connection.close()

        async def looked_up(_: str) -> None:
            if left:
                await asyncio.to_thread(tell)

        monkeypatch.setattr(endpoints, "why_forbidden", looked_up)

    return arrange


@pytest.mark.django_db(transaction=True)
def test_host_and_port_that_two_change_at_once_are_checked_together(
    cluster: Cluster, caller: MakeCaller, meanwhile: Meanwhile
) -> None:
    endpoint = added(cluster, host="127.0.0.9")
    meanwhile(lambda: BenchmarkEndpoint.objects.update(host="127.0.0.1"))

    with pytest.raises(EndpointRefused, match=r"127\.0\.0\.1:9001 is pgpool-1, which is offered already"):
        endpoints.change(caller=caller("admin"), endpoint=endpoint, changes={"port": 9001})

    row = BenchmarkEndpoint.objects.get()
    assert (row.host, row.port) == ("127.0.0.1", 6432)
    assert not AuditEntry.objects.filter(action="benchmarks.endpoint.changed").exists()


@pytest.mark.django_db(transaction=True)
def test_a_change_of_something_else_meanwhile_stays_beside_a_new_place(
    cluster: Cluster, caller: MakeCaller, meanwhile: Meanwhile
) -> None:
    endpoint = added(cluster)
    meanwhile(lambda: BenchmarkEndpoint.objects.update(host="127.0.0.9", most_sessions=7))

    stored = endpoints.change(caller=caller("admin"), endpoint=endpoint, changes={"port": 6433})

    assert (stored.place, stored.most_sessions) == ("127.0.0.9:6433", 7)
    assert BenchmarkEndpoint.objects.get().place == "127.0.0.9:6433"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda cluster: added(cluster, "quicker"), "is the endpoint quicker"),
        (
            lambda cluster: PgpoolInstance.objects.create(
                cluster=cluster, name="pgpool-3", delivery_kind="manual", **PLACE
            ),
            "is pgpool-3",
        ),
    ],
)
def test_of_two_that_take_one_place_at_once_the_second_is_refused(
    cluster: Cluster, caller: MakeCaller, meanwhile: Meanwhile, make: Callable[[Cluster], object], words: str
) -> None:
    meanwhile(lambda: make(cluster))

    with pytest.raises(EndpointRefused, match=words):
        endpoints.add(caller=caller("admin"), cluster=cluster, name="bouncer-1", facts=PLACE)

    assert not BenchmarkEndpoint.objects.filter(name="bouncer-1").exists()
