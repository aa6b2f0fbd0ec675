"""Endpoints by REST: registered by admins, refused by field, offered as topologies, gone with what waits for them."""

import socket
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from apps.accounts.models import AuditEntry
from apps.benchmarks.models import BenchmarkAccess, BenchmarkCampaign, BenchmarkEndpoint
from apps.benchmarks.queries import targets
from apps.benchmarks.queries.endpoints import campaigns_through
from apps.clusters.models import Cluster, InstanceLatest
from tests.benchmarks.other_database import leading_to
from tests.benchmarks.scene import ACCESS, RUNS, SECRET, asked, made_run

pytestmark = pytest.mark.django_db

Client = Callable[..., APIClient]
ENDPOINTS = "/api/v1/clusters/orders/endpoints/"


def given(**changes: Any) -> dict[str, Any]:
    return {"name": "bouncer-1", "host": "127.0.0.1", "port": 6432, **changes}


def added(cluster: Cluster, **changes: Any) -> BenchmarkEndpoint:
    return BenchmarkEndpoint.objects.create(cluster=cluster, **given(**changes))


def test_one_that_is_registered_is_a_topology(cluster: Cluster, api_client: Client) -> None:
    answer = api_client("admin").post(ENDPOINTS, given(kind="pooler", most_sessions=50), format="json")

    body = answer.json()
    assert answer.status_code == 201, body
    assert (body["topology"], body["label"]) == ("endpoint:bouncer-1", "endpoint bouncer-1 (pooler, 127.0.0.1:6432)")
    assert (body["takes_writes"], body["stands_before_pgpools"], body["runs_waiting"]) == (True, False, 0)
    viewer = api_client("viewer")
    assert viewer.get(ENDPOINTS).json() == {"results": [body], "next": None}
    assert viewer.get(f"{ENDPOINTS}bouncer-1/").json() == body
    offered = {one["key"]: one for one in viewer.get(ACCESS).json()["topologies"]}
    assert offered["endpoint:bouncer-1"]["servers"] == ["127.0.0.1:6432"]
    entry = AuditEntry.objects.get(action="benchmarks.endpoint.added")
    assert (entry.target_name, entry.after and entry.after["port"]) == ("orders/bouncer-1", 6432)
    run = api_client("operator").post(RUNS, asked(topology="endpoint:bouncer-1", clients=50), format="json")
    assert run.status_code == 202, run.content
    assert viewer.get(f"{ENDPOINTS}bouncer-1/").json()["runs_waiting"] == 1


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"name": ""}, "name", "blank"),
        ({"name": ".."}, "name", "cannot stand in addresses"),
        ({"name": "a/b"}, "name", "cannot stand in addresses"),
        ({"name": "x" * 64}, "name", "63"),
        ({"name": "primary direct"}, "name", "is what other topologies are called"),
        ({"name": "All Pgpools"}, "name", "is what other topologies are called"),
        ({"name": "pgpool-1"}, "name", "is a server of Orders already"),
        ({"name": "127.0.0.1:5001"}, "name", "is a server of Orders already"),
        ({"name": "there"}, "name", "there is an endpoint there already"),
        ({"port": 0}, "port", "1"),
        ({"port": 65536}, "port", "65535"),
        ({"host": "/var/run/postgresql"}, "host", "one name or address"),
        ({"host": "a,b"}, "host", "one name or address"),
        ({"host": "-h"}, "host", "one name or address"),
        ({"host": "10.0.0.5:6432"}, "host", "give the port in its own field"),
        ({"host": "[::1]"}, "host", "leave out the brackets"),
        ({"host": "169.254.169.254"}, "host", "never contacted"),
        ({"host": "0.0.0.0"}, "host", "never contacted"),  # noqa: S104
        ({"host": "fd00:ec2::254"}, "host", "never contacted"),
        ({"port": 9001}, "host", "127.0.0.1:9001 is pgpool-1"),
        ({"port": 5002}, "host", "which is offered already"),
        ({"kind": "proxy"}, "kind", "proxy"),
        ({"takes_writes": "yes"}, "takes_writes", "neither true nor false"),
        ({"most_sessions": 0}, "most_sessions", "1"),
        ({"hostname": "x"}, "hostname", "is no field here"),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(
    cluster: Cluster, api_client: Client, changes: dict[str, Any], field: str, words: str
) -> None:
    added(cluster, name="there")

    answer = api_client("admin").post(ENDPOINTS, given(**changes), format="json")

    assert answer.status_code == 400, answer.content
    [error] = [one for one in answer.json()["errors"] if one["field"] == field]
    assert words in error["reason"]
    assert BenchmarkEndpoint.objects.count() == 1


@pytest.mark.parametrize("spelled", ["{}", "::ffff:{}"])
def test_nobody_points_it_at_lifeguards_own_database(cluster: Cluster, api_client: Client, spelled: str) -> None:
    place = connection.settings_dict
    host = spelled.format(socket.gethostbyname(place["HOST"]))

    wish = given(host=host, port=int(place["PORT"]))
    answer = api_client("admin").post(ENDPOINTS, wish, format="json")

    assert answer.status_code == 400
    assert "Lifeguard's own database" in answer.json()["errors"][0]["reason"]
    added(cluster)
    moved = api_client("admin").patch(
        f"{ENDPOINTS}bouncer-1/", {"host": host, "port": int(place["PORT"])}, format="json"
    )
    assert moved.status_code == 400
    assert BenchmarkEndpoint.objects.get().port == 6432


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "localhost.", "127.1", "0x7f000001", "::ffff:127.0.0.1", "127.0.0.1."]
)
def test_a_place_of_the_cluster_is_none_however_it_is_spelled(cluster: Cluster, api_client: Client, host: str) -> None:
    endpoint = added(cluster)
    admin = api_client("admin")

    made = [admin.post(ENDPOINTS, given(name="b", host=host, port=port), format="json") for port in (9001, 5002)]
    moved = admin.patch(f"{ENDPOINTS}bouncer-1/", {"host": host, "port": 9001}, format="json")

    assert [one.status_code for one in (*made, moved)] == [400, 400, 400]
    assert "is pgpool-1, which is offered already" in made[0].json()["errors"][0]["reason"]
    assert "is 127.0.0.1:5002, which is offered already" in made[1].json()["errors"][0]["reason"]
    endpoint.refresh_from_db()
    assert (endpoint.host, BenchmarkEndpoint.objects.count()) == ("127.0.0.1", 1)


def test_a_name_that_nobody_resolves_yet_is_taken(cluster: Cluster, api_client: Client) -> None:
    answer = api_client("admin").post(ENDPOINTS, given(host="bouncer.invalid", port=9001), format="json")

    assert answer.status_code == 201, answer.content


def test_addresses_of_ipv6_are_shown_in_brackets(cluster: Cluster, api_client: Client) -> None:
    answer = api_client("admin").post(ENDPOINTS, given(host="2001:db8::5"), format="json")

    assert (answer.status_code, answer.json()["host"]) == (201, "2001:db8::5")
    assert answer.json()["label"] == "endpoint bouncer-1 (pooler, [2001:db8::5]:6432)"
    offered = {one["key"]: one["servers"] for one in api_client("viewer").get(ACCESS).json()["topologies"]}
    assert offered["endpoint:bouncer-1"] == ["[2001:db8::5]:6432"]


def test_it_is_changed_but_not_its_name_and_only_by_admins(cluster: Cluster, api_client: Client) -> None:
    added(cluster)
    address = f"{ENDPOINTS}bouncer-1/"

    operator = api_client("operator")
    refused = [
        operator.post(ENDPOINTS, given(name="b"), format="json"),
        operator.patch(address, {"port": 1}, format="json"),
        operator.delete(address),
        api_client("viewer").post(f"{address}try/"),
    ]
    renamed = api_client("admin").patch(address, {"name": "other"}, format="json")
    answer = api_client("admin").patch(address, {"port": 6433, "most_sessions": None}, format="json")

    assert [one.status_code for one in refused] == [403, 403, 403, 403]
    assert renamed.status_code == 400
    assert (answer.status_code, answer.json()["port"]) == (200, 6433)
    entry = AuditEntry.objects.get(action="benchmarks.endpoint.changed")
    assert (entry.before, entry.after) == (
        {"port": 6432, "most_sessions": None},
        {"port": 6433, "most_sessions": None},
    )


def test_what_waits_for_one_that_is_removed_keeps_its_name(cluster: Cluster, api_client: Client) -> None:
    endpoint = added(cluster)
    run = made_run(cluster, topology="endpoint:bouncer-1")
    BenchmarkCampaign.objects.create(
        cluster=cluster, name="nightly", arms=[{"topology": "primary"}, {"topology": "endpoint:bouncer-1"}],
        repetitions=2, cron="0 2 * * *", window_min=60, budget_min=60, requested_by_name="Ann",
    )  # fmt: skip
    assert campaigns_through(endpoint) == ["nightly"]

    answer = api_client("admin").delete(f"{ENDPOINTS}bouncer-1/")

    assert answer.status_code == 204
    assert api_client("viewer").get(f"{RUNS}{run.pk}/").json()["topology"] == "endpoint:bouncer-1"
    again = api_client("operator").post(RUNS, asked(topology="endpoint:bouncer-1"), format="json")
    [error] = again.json()["errors"]
    assert (again.status_code, error["field"]) == (400, "topology")
    assert "no endpoint of that name is registered, or no longer" in error["reason"]
    assert AuditEntry.objects.filter(action="benchmarks.endpoint.removed").exists()


@pytest.mark.parametrize(
    ("facts", "clients", "words"),
    [
        ({"most_sessions": 10}, 11, "has 10 sessions at most: at most 10 there"),
        # two pgpools of 32 children, of which others use 4 and 2 are kept: 2 x 26
        ({"stands_before_pgpools": True}, 53, "has 52 free children (2 times those of the fullest pgpool behind it"),
        ({"stands_before_pgpools": True, "most_sessions": 20}, 21, "has 20 sessions at most"),
        ({"stands_before_pgpools": True, "most_sessions": 90}, 53, "at most 52 there"),
    ],
)
def test_what_it_or_the_pgpools_behind_it_cannot_take_is_refused(
    cluster: Cluster, api_client: Client, facts: dict[str, Any], clients: int, words: str
) -> None:
    added(cluster, **facts)
    operator = api_client("operator")

    answer = operator.post(RUNS, asked(topology="endpoint:bouncer-1", clients=clients), format="json")
    fewer = operator.post(RUNS, asked(topology="endpoint:bouncer-1", clients=clients - 1), format="json")

    assert answer.status_code == 400, answer.content
    assert words in answer.json()["errors"][0]["reason"]
    assert fewer.status_code == 202


@pytest.mark.parametrize(
    ("used", "most"),
    [
        ((28, 0), 4),  # 32 - 28 - 2 kept = 2 at the first, so 2 at the second too
        ((0, 20), 20),  # 2 x (32 - 20 - 2)
        ((32, 0), 0),  # past what is kept: no room, and none below 0
    ],
)
def test_what_one_pgpool_has_free_beyond_the_fullest_is_no_room(
    cluster: Cluster, api_client: Client, used: tuple[int, int], most: int
) -> None:
    for number, children in enumerate(used, start=1):
        InstanceLatest.objects.filter(instance__name=f"pgpool-{number}").update(children_used=children)
    added(cluster, stands_before_pgpools=True)

    answer = api_client("operator").post(RUNS, asked(topology="endpoint:bouncer-1", clients=most + 1), format="json")

    assert targets.limits_of(cluster, BenchmarkAccess.objects.get(cluster=cluster)).rooms["bouncer-1"].free == most
    assert answer.status_code == 400
    assert f"at most {most} there" in answer.json()["errors"][0]["reason"]


def test_of_a_pgpool_that_nobody_has_polled_no_room_is_known(cluster: Cluster) -> None:
    InstanceLatest.objects.filter(instance__name="pgpool-2").delete()
    added(cluster, stands_before_pgpools=True)

    rooms = targets.limits_of(cluster, BenchmarkAccess.objects.get(cluster=cluster)).rooms

    assert rooms["bouncer-1"].free is None


def test_what_writes_is_refused_where_it_only_reads(cluster: Cluster, api_client: Client) -> None:
    added(cluster, takes_writes=False)

    wish = asked(topology="endpoint:bouncer-1", workload="pgbench-tpcb-like")
    answer = api_client("operator").post(RUNS, wish, format="json")

    assert answer.status_code == 400
    assert "takes no writes" in answer.json()["errors"][0]["reason"]


def test_trying_one_tells_what_is_there_or_why_nothing(cluster: Cluster, api_client: Client) -> None:
    place = connection.settings_dict
    BenchmarkAccess.objects.update(username=place["USER"], password=place["PASSWORD"], database=place["NAME"])
    # Lifeguard's own server stands for what is behind it: a row may name it, though no door takes it.
    added(cluster, host=place["HOST"], port=place["PORT"])
    added(cluster, name="nobody", port=1)
    operator = api_client("operator")

    there, nobody = (operator.post(f"{ENDPOINTS}{name}/try/").json() for name in ("bouncer-1", "nobody"))

    assert (there["is_open"], there["is_in_recovery"], there["refusal"]) == (True, False, "")
    assert there["server_version"].split(".")[0].isdigit()
    assert there["connect_ms"] > 0
    # Nobody answers at the primary of this scene.
    assert (there["is_of_cluster"], nobody["is_of_cluster"]) == (None, None)
    assert there["whose"].startswith("127.0.0.1:5000: ")
    assert (nobody["is_open"], nobody["connect_ms"]) == (False, None)
    assert "refused" in nobody["refusal"].lower()
    assert nobody["fix"]
    BenchmarkAccess.objects.update(is_on=False)
    answer = operator.post(f"{ENDPOINTS}bouncer-1/try/")
    assert (answer.status_code, SECRET in str(answer.content)) == (409, False)


def test_trying_one_tells_whether_it_leads_to_the_clusters_database(cluster: Cluster, api_client: Client) -> None:
    place = connection.settings_dict
    cluster.backends.filter(node_id=0).update(hostname=place["HOST"], port=place["PORT"])
    BenchmarkAccess.objects.update(username=place["USER"], password=place["PASSWORD"], database=place["NAME"])
    added(cluster, host=place["HOST"], port=place["PORT"])
    operator = api_client("operator")

    with leading_to("postgres") as port:
        added(cluster, name="elsewhere", port=port)
        same, other = (operator.post(f"{ENDPOINTS}{name}/try/").json() for name in ("bouncer-1", "elsewhere"))
    cluster.primary_node_id = None
    cluster.save()
    unknown = operator.post(f"{ENDPOINTS}bouncer-1/try/").json()

    assert (same["is_of_cluster"], same["whose"]) == (True, "")
    assert (other["is_open"], other["refusal"], other["is_of_cluster"]) == (True, "", False)
    assert other["whose"].startswith("another database: postgres at ")
    assert (unknown["is_of_cluster"], unknown["whose"]) == (None, "no pgpool has named the primary")
