"""Weights as what sets runs apart, and as the axis of a sweep: of runs that are there, and of pgpools that differ."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser
from django.utils import timezone
from rest_framework.test import APIClient

from apps.benchmarks.models import BenchmarkComparison
from apps.clusters.models import Cluster, InstanceLatest, PgpoolInstance
from tests.benchmarks.comparison_scene import COMPARISONS, finish, finish_all, wanted
from tests.benchmarks.scene import made_run
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

Client = Callable[..., APIClient]


def under(*weights: int, pgpool: str = "pgpool-1") -> dict[str, Any]:
    """The environment of a run that went through it while backends had these weights."""
    told = {str(node_id): weight for node_id, weight in enumerate(weights)}
    servers = [{"name": pgpool, "host": "127.0.0.1", "port": 9999}]
    return {
        "topology": {"servers": servers, "is_through_pgpool": True},
        "pgpools": [{"name": pgpool, "weights": told}, {"name": "another", "weights": {"0": 9}}],
    }


def measured(cluster: Cluster, environment: dict[str, Any], tps: float) -> int:
    run = made_run(cluster, topology="pgpool:pgpool-1", environment=environment)
    finish(run, tps)
    return run.pk


def second(cluster: Cluster) -> str:
    return cluster.backends.get(node_id=1).shown_name


def test_runs_before_and_after_a_rollout_of_weights_are_different_arms(cluster: Cluster, api_client: Client) -> None:
    runs = [measured(cluster, under(0, 1, 1), tps) for tps in (1000, 1010)]
    runs += [measured(cluster, under(0, 3, 1), tps) for tps in (800, 810)]

    body = api_client("operator").post(COMPARISONS, {"runs": runs}, format="json").json()

    assert body["arms"] == ["weights 0/1/1", "weights 0/3/1"]
    assert "weights_differ" not in {one["check"] for one in body["findings"]}


def test_picked_runs_make_a_sweep_over_the_share_of_a_backend(cluster: Cluster, api_client: Client) -> None:
    places = ((25, 75, 900.0), (50, 50, 1000.0), (75, 25, 950.0))
    runs = [
        measured(cluster, under(0, one, other), tps * around)
        for one, other, tps in places
        for around in (0.995, 1.0, 1.005)
    ]

    over = f"weight.{second(cluster)}"
    body = api_client("operator").post(COMPARISONS, {"runs": runs, "over": over}, format="json").json()

    assert [point["x"] for point in body["sweep"]["points"]] == [25.0, 50.0, 75.0]
    assert body["sweep"]["best_x"] == 50.0
    assert f"at weight of {second(cluster)} in % = 50" in body["sweep"]["sentence"]


def test_pgpools_of_different_weights_are_swept_by_turns(cluster: Cluster, api_client: Client) -> None:
    third = PgpoolInstance.objects.create(
        cluster=cluster, name="pgpool-3", host="127.0.0.1", port=9003, delivery_kind="manual"
    )
    InstanceLatest.objects.create(
        instance=third, polled_at=timezone.now(), state="answering", state_since=timezone.now(), children_total=32
    )
    for position, instance in enumerate(cluster.instances.order_by("name")):
        instance.shown_weights = {"0": 0, "1": position + 1, "2": 3 - position}
        instance.save()
    arms = [{"topology": f"pgpool:pgpool-{number}"} for number in (1, 2, 3)]

    asked = wanted(*arms, over=f"weight.{second(cluster)}")
    assert api_client("operator").post(COMPARISONS, asked, format="json").status_code == 202

    placed = [arm["x"] for arm in BenchmarkComparison.objects.get().arms]
    assert placed == [25.0, 50.0, 75.0]


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ("weight.nobody", "names no backend of Orders"),
        ("weight", "names no backend of Orders"),
        ("load", "can be clients, pgpools, parameters.NAME, weight.BACKEND"),
    ],
)
def test_a_backend_that_is_not_there_is_refused(cluster: Cluster, api_client: Client, over: str, said: str) -> None:
    runs = [measured(cluster, under(0, one, 1), 1000) for one in (1, 2, 3)]

    answer = api_client("operator").post(COMPARISONS, {"runs": runs, "over": over}, format="json")

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "over")
    assert said in answer.json()["detail"]


def test_an_arm_past_all_pgpools_has_no_place(cluster: Cluster, api_client: Client) -> None:
    runs = [measured(cluster, under(0, one, 1), 1000) for one in (1, 2)]
    direct = made_run(cluster, topology="primary", environment={})
    finish(direct, 1000)

    asked = {"runs": [*runs, direct.pk], "over": f"weight.{second(cluster)}"}
    answer = api_client("operator").post(COMPARISONS, asked, format="json")

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == f"arms.2.weight.{second(cluster)}"
    assert not BenchmarkComparison.objects.exists()


def test_weights_that_were_rolled_out_amid_a_comparison_are_a_finding(cluster: Cluster, api_client: Client) -> None:
    pk = api_client("operator").post(COMPARISONS, wanted(repetitions=3), format="json").json()["id"]
    finish_all(pk, [1000, 1000])
    for member in BenchmarkComparison.objects.get(pk=pk).members.select_related("run"):
        if member.arm:
            member.run.environment = under(0, 1, 1) if member.block < 3 else under(0, 3, 1)
            member.run.save()

    body = api_client("viewer").get(f"{COMPARISONS}{pk}/").json()

    [found] = [one for one in body["findings"] if one["check"] == "weights_differ"]
    assert "(2 runs: weights 0/1/1; 1 run: weights 0/3/1)" in found["sentence"]


def test_the_page_of_picked_runs_offers_an_axis(cluster: Cluster, client_for: Callable[..., Browser]) -> None:
    runs = [measured(cluster, under(0, one, 1), 1000) for one in (1, 2, 3)]
    operator, page = client_for("operator"), "/o/acme/benchmarks/comparisons/pick/"

    offered = text_of(operator.get(page))
    made = operator.post(page, {"run": runs, "over": f"weight.{second(cluster)}"}, follow=True)

    assert f"weight of {second(cluster)} in %" in offered
    assert f"Over weight of {second(cluster)} in %" in text_of(made)
