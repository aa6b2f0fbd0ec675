"""Comparisons of runs that were replicated differently: arms, what durability cost, and what is to be known."""

from collections.abc import Callable

import pytest
from django.test import Client as Browser
from rest_framework.test import APIClient

from apps.benchmarks.models import BenchmarkComparison
from apps.clusters.models import Cluster
from tests.benchmarks.comparison_scene import COMPARISONS, finish, finish_all, replicated, wanted
from tests.benchmarks.scene import made_run

pytestmark = pytest.mark.django_db

Client = Callable[..., APIClient]
Browsers = Callable[..., Browser]


def measured(cluster: Cluster, mode: str | None, tps: float, *, level: str = "on", topology: str = "primary") -> int:
    run = made_run(cluster, topology=topology, workload="pgbench-tpcb-like", environment=replicated(mode, level=level))
    finish(run, tps)
    return run.pk


def test_picked_runs_that_were_replicated_differently_are_different_arms(cluster: Cluster, api_client: Client) -> None:
    one, other = "asynchronous", "1 synchronous, 1 potential"
    first = [measured(cluster, one, tps) for tps in (1000, 1010, 990, 1005, 995)]
    second = [measured(cluster, other, tps) for tps in (800, 810, 790, 805, 795)]

    body = api_client("operator").post(COMPARISONS, {"runs": first + second}, format="json").json()

    assert body["arms"] == [one, other]
    assert [arm["replication"] for arm in body["arms_compared"]] == [[one], [other]]
    # 3000 / 1000 and 3000 / 800 ms at p50, 8000 / 1000 and 8000 / 800 ms at p99: a quarter more of each.
    [said] = body["durability"]
    assert said.startswith(
        f"What commits with {other} cost against {one}: +0.75\u00a0ms at p50 (+25.0 %, 95 % interval"
    )
    assert "; +2.00\u00a0ms at p99 (+25.0 %, 95 % interval" in said
    assert "replication_differs" not in {finding["check"] for finding in body["findings"]}


def test_a_level_of_the_role_sets_runs_apart_and_one_of_the_topology_is_not_said_twice(
    cluster: Cluster, api_client: Client
) -> None:
    mode = "asynchronous"
    runs = [
        measured(cluster, mode, 1000),
        measured(cluster, mode, 1100, level="off"),
        measured(cluster, mode, 1200, level="local", topology="commit:local"),
    ]

    body = api_client("operator").post(COMPARISONS, {"runs": runs}, format="json").json()

    assert body["arms"] == [
        "primary direct, synchronous_commit = on", "primary direct, synchronous_commit = off",
        "synchronous_commit = local",
    ]  # fmt: skip


def test_blocks_that_were_replicated_differently_are_a_finding(cluster: Cluster, api_client: Client) -> None:
    pk = api_client("operator").post(COMPARISONS, wanted(), format="json").json()["id"]
    finish_all(pk, [1000, 800])
    for member in BenchmarkComparison.objects.get(pk=pk).members.select_related("run"):
        member.run.environment = replicated("no standby" if member.block == 2 else "asynchronous")
        member.run.save()

    body = api_client("viewer").get(f"{COMPARISONS}{pk}/").json()

    [found] = [one for one in body["findings"] if one["check"] == "replication_differs"]
    assert "(2 runs: asynchronous; 2 runs: no standby)" in found["sentence"]
    assert [arm["replication"] for arm in body["arms_compared"]] == [["asynchronous", "no standby"]] * 2
    assert body["durability"] == []


def test_the_page_says_what_durability_cost(cluster: Cluster, api_client: Client, client_for: Browsers) -> None:
    runs = [
        measured(cluster, "asynchronous", 1000 * off / (1 + position), topology=f"commit:{level}")
        for position, level in enumerate(("local", "remote_apply"))
        for off in (1.0, 1.01, 0.99, 1.005, 0.995)
    ]
    pk = api_client("operator").post(COMPARISONS, {"runs": runs}, format="json").json()["id"]

    text = client_for("viewer").get(f"/o/acme/benchmarks/comparisons/{pk}/").content.decode()

    assert "What does durability cost?" in text
    assert "What commits with synchronous_commit = remote_apply cost against synchronous_commit = local: +3.0" in text
