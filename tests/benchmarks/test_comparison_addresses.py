"""Comparisons whose topologies moved, or differ in more: an endpoint that was changed, a failover, a pooler."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.benchmarks.domain.environment_words import NOT_PREPARED
from apps.benchmarks.models import BenchmarkComparison
from apps.clusters.models import Cluster
from tests.benchmarks.comparison_scene import COMPARISONS, finish, finish_all, replicated, wanted
from tests.benchmarks.scene import made_run

pytestmark = pytest.mark.django_db

Client = Callable[..., APIClient]
OLD, NEW = "127.0.0.1:6432", "10.9.9.9:6432"


def at(address: str) -> dict[str, Any]:
    """The environment of a run that was measured there."""
    host, _, port = address.rpartition(":")
    return {"topology": {"servers": [{"name": address, "host": host, "port": int(port)}]}}


def measured(cluster: Cluster, address: str, tps: float, *, topology: str = "endpoint:bouncer-1", **more: Any) -> int:
    run = made_run(cluster, topology=topology, environment={**at(address), **more.pop("environment", {})}, **more)
    finish(run, tps)
    return run.pk


def test_blocks_that_were_measured_at_different_addresses_are_a_finding(cluster: Cluster, api_client: Client) -> None:
    # Arm 0 is the primary, which failed over after the second block; the pgpools stayed.
    pk = api_client("operator").post(COMPARISONS, wanted(repetitions=3), format="json").json()["id"]
    finish_all(pk, [1000, 1000])
    for member in BenchmarkComparison.objects.get(pk=pk).members.select_related("run"):
        primary = "10.0.0.1:5432" if member.block < 3 else "10.0.0.2:5432"
        member.run.environment = at("10.0.0.9:9999" if member.arm else primary)
        member.run.save()

    body = api_client("viewer").get(f"{COMPARISONS}{pk}/").json()

    [found] = [one for one in body["findings"] if one["check"] == "address_differs"]
    assert "primary direct" in found["sentence"]
    assert "(2 runs: 10.0.0.1:5432; 1 run: 10.0.0.2:5432)" in found["sentence"]
    assert [arm["addresses"] for arm in body["arms_compared"]] == [
        ["10.0.0.1:5432", "10.0.0.2:5432"], ["10.0.0.9:9999"]
    ]  # fmt: skip


def test_picked_runs_of_an_endpoint_that_moved_are_different_arms(cluster: Cluster, api_client: Client) -> None:
    runs = [measured(cluster, OLD, tps) for tps in (1000, 1010)] + [measured(cluster, NEW, tps) for tps in (800, 810)]

    body = api_client("operator").post(COMPARISONS, {"runs": runs}, format="json").json()

    assert body["arms"] == [f"at {OLD}", f"at {NEW}"]
    assert [arm["addresses"] for arm in body["arms_compared"]] == [[OLD], [NEW]]
    assert "address_differs" not in {one["check"] for one in body["findings"]}


def test_an_address_is_in_the_name_of_an_arm_only_where_its_topology_moved(
    cluster: Cluster, api_client: Client
) -> None:
    runs = [
        measured(cluster, OLD, 1000), measured(cluster, NEW, 900),
        measured(cluster, "10.0.0.1:5432", 1200, topology="primary"),
    ]  # fmt: skip
    client = api_client("operator")

    moved = client.post(COMPARISONS, {"runs": runs}, format="json").json()
    stayed = client.post(COMPARISONS, {"runs": runs[1:]}, format="json").json()

    assert moved["arms"] == [f"bouncer-1, at {OLD}", f"bouncer-1, at {NEW}", "primary direct"]
    assert stayed["arms"] == ["bouncer-1", "primary direct"]


def test_another_server_is_no_cost_of_durability(cluster: Cluster, api_client: Client) -> None:
    def said_of(address: str) -> list[str]:
        runs = [
            measured(
                cluster, where, tps * off, topology="primary", workload="pgbench-tpcb-like",
                environment=replicated(mode),
            )
            for where, mode, tps in (("10.0.0.1:5432", "asynchronous", 1000), (address, "no standby", 800))
            for off in (1.0, 1.01, 0.99)
        ]  # fmt: skip
        return list(api_client("operator").post(COMPARISONS, {"runs": runs}, format="json").json()["durability"])

    assert len(said_of("10.0.0.1:5432")) == 1
    assert said_of("10.0.0.2:5432") == []


def test_runs_that_could_not_prepare_beside_others_that_did_are_a_finding(cluster: Cluster, api_client: Client) -> None:
    messaging = {"workload": "pubsub", "environment": {"workload": "pubsub"}}
    through = {"workload": "pubsub", "environment": {"workload": "pubsub", "notes": [NOT_PREPARED]}}
    runs = [
        *(measured(cluster, "10.0.0.1:5432", tps, topology="primary", **messaging) for tps in (1000, 1010)),
        *(measured(cluster, OLD, tps, **through) for tps in (800, 810)),
    ]

    body = api_client("operator").post(COMPARISONS, {"runs": runs}, format="json").json()

    [found] = [one for one in body["findings"] if one["check"] == "preparing_differs"]
    assert found["sentence"].startswith("Of 4 runs 2 did not prepare their statements")


def test_rates_of_different_workloads_are_no_ranking(cluster: Cluster, api_client: Client) -> None:
    arms = [{"topology": "primary"}, {"topology": "primary", "workload": "sysbench-point-select", "parameters": {}}]
    pk = api_client("operator").post(COMPARISONS, wanted(*arms, repetitions=3), format="json").json()["id"]
    before = api_client("viewer").get(f"{COMPARISONS}{pk}/").json()["sentence"]
    finish_all(pk, [1000, 5000])

    body = api_client("viewer").get(f"{COMPARISONS}{pk}/").json()

    assert before == ""
    assert body["sentence"] == "The arms run different workloads, so their rates are no ranking."
    assert "workloads_differ" in {one["check"] for one in body["findings"]}
