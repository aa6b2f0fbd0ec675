"""Comparisons by REST: blocks of runs queued, refused by field, ended, judged."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import AuditEntry
from apps.benchmarks.control import comparison_rows
from apps.benchmarks.models import BenchmarkComparison, BenchmarkRun
from apps.clusters.models import Cluster
from tests.benchmarks.comparison_scene import (
    COMPARISONS,
    DIRECT,
    POOLED,
    SIX,
    advance,
    fail,
    finish,
    finish_all,
    wanted,
)
from tests.clusters.callers_at_doors import script

pytestmark = pytest.mark.django_db

Client = Callable[..., APIClient]


def test_blocks_of_runs_are_queued_and_each_measures_every_arm_once(cluster: Cluster, api_client: Client) -> None:
    answer = api_client("operator").post(COMPARISONS, wanted(repetitions=20), format="json")

    body = answer.json()
    assert answer.status_code == 202, body
    assert (body["state"], body["runs_whole"], body["runs_done"], body["can_stop"]) == ("under_way", 42, 0, True)
    assert body["arms"] == ["primary direct", "all pgpools"]
    assert body["name"] == "2 arms: primary direct, all pgpools"
    comparison = BenchmarkComparison.objects.get()
    places = list(comparison.members.order_by("run_id").values_list("block", "arm"))
    assert [block for block, _ in places] == [block for block in range(21) for _ in range(2)]
    orders = {tuple(arm for block, arm in places if block == number) for number in range(21)}
    assert orders == {(0, 1), (1, 0)}
    run = comparison.members.get(arm=1, block=0).run
    assert (run.topology, run.clients, run.threads, run.duration_s, run.queue) == ("pgpools", 4, 4, 10, "bench")
    assert AuditEntry.objects.get(action="benchmarks.comparison.requested").target_id == str(comparison.pk)


def test_it_ends_with_a_verdict_and_the_first_block_is_set_apart(cluster: Cluster, api_client: Client) -> None:
    operator = api_client("operator")
    pk = operator.post(COMPARISONS, wanted(repetitions=6), format="json").json()["id"]
    finish_all(pk, [1000, 800], spread=(5.0, 0.99, 1.0, 1.01, 1.02, 1.005, 0.995))

    assert advance(pk).state == "done"
    body = operator.get(f"{COMPARISONS}{pk}/").json()

    direct, pooled = body["arms_compared"]
    assert (body["blocks_whole"], body["is_active"], body["eta_s"]) == (6, False, None)
    assert direct["is_baseline"]
    assert direct["against_baseline"] == {}
    assert direct["figures"]["tps"]["middle"] == pytest.approx(1002, abs=5)  # 5,000 of the first block is not in it
    assert direct["figures"]["tps"]["low"] < direct["figures"]["tps"]["middle"] < direct["figures"]["tps"]["high"]
    rate = pooled["against_baseline"]["tps"]
    assert (rate["verdict"], rate["is_paired"]) == ("slower", True)
    assert rate["difference_percent"] == pytest.approx(-20, abs=0.1)
    assert pooled["against_baseline"]["p99_ms"]["verdict"] == "slower"
    assert pooled["against_baseline"]["p99_ms"]["difference_percent"] == pytest.approx(25, abs=0.1)
    assert pooled["figures"]["tps_with_connecting"]["middle"] < pooled["figures"]["tps"]["middle"]
    assert body["sentence"] == "With all pgpools the rate is 20.0 % lower than with primary direct."
    assert (direct["words"], pooled["words"]) == ("", "slower")
    assert [run["counts"] for run in pooled["runs"]] == [False] + [True] * 6


def test_any_arm_can_be_the_baseline(cluster: Cluster, api_client: Client) -> None:
    operator = api_client("operator")
    pk = operator.post(COMPARISONS, wanted(baseline=1), format="json").json()["id"]
    finish_all(pk, [1000, 800])

    assert operator.get(f"{COMPARISONS}{pk}/").json()["shown_baseline"] == 1
    body = operator.get(f"{COMPARISONS}{pk}/", {"baseline": 0}).json()
    assert (body["baseline"], body["shown_baseline"]) == (1, 0)
    assert body["arms_compared"][1]["against_baseline"]["tps"]["verdict"] == "slower"
    assert operator.get(f"{COMPARISONS}{pk}/", {"baseline": "9" * 5000}).status_code == 400
    refused = operator.get(f"{COMPARISONS}{pk}/", {"baseline": 2})
    assert refused.json()["errors"] == [{"field": "baseline", "reason": "'2' is no arm; they are counted from 0 to 1"}]


def test_statements_are_compared_one_by_one(cluster: Cluster, api_client: Client) -> None:
    operator = api_client("operator")
    pk = operator.post(COMPARISONS, wanted(repetitions=6), format="json").json()["id"]
    for member in BenchmarkComparison.objects.get(pk=pk).members.select_related("run"):
        slow = 1.0 + member.arm
        statements = [
            {"text": "SELECT 1;", "latency_ms": 2.0 + member.block / 100},
            {"text": "SELECT 2;", "latency_ms": (3.0 + member.block / 100) * slow},
            {"text": "SELECT 2;", "latency_ms": 1.0},
        ]
        finish(member.run, 1000 + member.block, statements=statements)

    cells = operator.get(f"{COMPARISONS}{pk}/").json()["arms_compared"][1]["statements"]

    assert [cell["text"] for cell in cells] == ["SELECT 1;", "SELECT 2;", "SELECT 2; (2)"]
    assert [cell["is_sure"] for cell in cells] == [False, True, False]
    assert cells[1]["change_percent"] == pytest.approx(100)


def test_each_arm_has_the_clients_that_its_parameters_make(cluster: Cluster, api_client: Client) -> None:
    common = {"workload": "pubsub", "topology": "primary", "duration_s": 10, "parameters": {"readers_per_group": 1}}
    arms = [{"parameters": {"groups": groups}} for groups in (1, 2, 3)]

    answer = api_client("operator").post(
        COMPARISONS, wanted(common=common, arms=arms, over="parameters.groups"), format="json"
    )

    body = answer.json()
    assert answer.status_code == 202, body
    assert body["arms"] == ["groups 1", "groups 2", "groups 3"]
    # Four writers, and a reader of each group.
    assert [(arm["clients"], arm["x"]) for arm in body["arms_compared"]] == [(5, 1.0), (6, 2.0), (7, 3.0)]


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"arms": [DIRECT]}, "arms", "2 to 12"),
        ({"arms": [DIRECT, DIRECT]}, "arms.1.label", "asks for the same as arm 0"),
        ({"arms": [DIRECT, {"topology": "standby:7"}]}, "arms.1.topology", "is none of this cluster"),
        ({"arms": [DIRECT, {**POOLED, "clients": 101}]}, "arms.1.clients", "from 1 to 100"),
        ({"arms": [DIRECT, {**POOLED, "parameters": {"scale": 0}}]}, "arms.1.parameters.scale", "from 1 to 10000"),
        ({"arms": [DIRECT, {"clients": 2}]}, "arms.1.topology", "is needed, here or in `common`"),
        ({"arms": [DIRECT, {**POOLED, "clients": None}]}, "arms.1.clients", "is missing; say how many"),
        ({"arms": [DIRECT, {**POOLED, "workload": "pubsub"}]}, "arms.1.clients", "'4' must be 24, or left out"),
        ({"arms": [DIRECT, {**POOLED, "clint": 4}]}, "arms.1.clint", "is no field here"),
        ({"arms": [DIRECT, {**DIRECT, "parameters": {"scale": 10}}]}, "arms.1.label", "asks for the same as arm 0"),
        ({"arms": [{**DIRECT, "label": "a"}, {**POOLED, "label": "a"}]}, "arms.1.label", "stands for two arms"),
        ({"repetitions": 1}, "repetitions", "from 2 to 60"),
        (
            {"arms": [{**DIRECT, "clients": n} for n in range(1, 11)], "repetitions": 40},
            "repetitions",
            "at most 39 fit",
        ),
        ({"baseline": 2}, "baseline", "from 0 to 1"),
        ({"margin_percent": 0}, "margin_percent", "from 0.01 to 100"),
        ({"over": "colour"}, "over", "can be clients, pgpools"),
        ({"over": "pgpools"}, "arms.0.pgpools", "a number above 0"),
        ({"over": "clients"}, "arms", "3 or more"),
        ({"over": "clients", "arms": [DIRECT, POOLED, {**DIRECT, "clients": 2}]}, "arms.1.clients", "another arm"),
        ({"over": "x"}, "arms.0.x", "a number above 0"),
        ({"runs": [1, 2]}, "cluster", "give one of them"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_its_field(
    cluster: Cluster, api_client: Client, changes: dict[str, Any], field: str, words: str
) -> None:
    answer = api_client("operator").post(COMPARISONS, wanted(**changes), format="json")

    assert answer.status_code == 400, answer.json()
    error = answer.json()["errors"][0]
    assert error["field"] == field
    assert words in error["reason"]
    assert not BenchmarkRun.objects.exists()
    assert not BenchmarkComparison.objects.exists()


def test_a_block_that_lacks_a_figure_is_measured_again(cluster: Cluster, api_client: Client) -> None:
    pk = api_client("operator").post(COMPARISONS, wanted(), format="json").json()["id"]
    lacking = BenchmarkComparison.objects.get().members.get(block=2, arm=0).run
    lacking.state, lacking.stop_reason = "stopped", "Rollout 7 is under way."
    lacking.save()
    finish_all(pk, [1000, 800])

    comparison = advance(pk)

    assert (comparison.state, comparison.extra_blocks) == ("under_way", 1)
    again = comparison.members.filter(block=3).order_by("run_id")
    assert sorted(member.arm for member in again) == [0, 1]
    assert {member.run.state for member in again} == {"queued"}
    finish_all(pk, [1000, 800])
    assert advance(pk).state == "done"
    body = api_client("operator").get(f"{COMPARISONS}{pk}/").json()
    assert body["arms_compared"][1]["against_baseline"]["tps"]["is_paired"]
    assert body["blocks_whole"] == 2


def test_it_is_given_up_when_runs_fail_one_after_the_other(cluster: Cluster, api_client: Client) -> None:
    pk = api_client("operator").post(COMPARISONS, wanted(repetitions=4), format="json").json()["id"]
    runs = [member.run for member in BenchmarkComparison.objects.get().members.order_by("run_id")]
    finish(runs[0], 1000)
    for run in runs[1:3]:
        fail(run)
    assert advance(pk).state == "under_way"
    fail(runs[3])

    comparison = advance(pk)

    assert comparison.state == "failed"
    assert comparison.reason.endswith(f"run #{runs[3].pk}: primary: connection refused")
    rest = BenchmarkRun.objects.filter(pk__gt=runs[3].pk)
    assert {(run.state, run.is_stop_requested) for run in rest} == {("stopped", True)}


def test_too_few_whole_blocks_are_no_comparison(cluster: Cluster, api_client: Client) -> None:
    pk = api_client("operator").post(COMPARISONS, wanted(), format="json").json()["id"]
    for _ in range(1 + comparison_rows.MOST_EXTRA_BLOCKS):
        for member in BenchmarkComparison.objects.get().members.filter(run__state="queued").select_related("run"):
            member.run.state, member.run.finished_at = "stopped", timezone.now()
            member.run.save()
        comparison = advance(pk)

    assert (comparison.state, comparison.extra_blocks) == ("failed", 3)
    assert comparison.reason == "0 of 2 blocks have the figures of every arm: that is too few."


def test_one_that_is_stopped_keeps_what_it_measured(cluster: Cluster, api_client: Client) -> None:
    operator = api_client("operator")
    pk = operator.post(COMPARISONS, wanted(), format="json").json()["id"]
    first, second = (member.run for member in BenchmarkComparison.objects.get().members.order_by("run_id")[:2])
    finish(first, 1000)
    BenchmarkRun.objects.filter(pk=second.pk).update(state="running")

    body = operator.post(f"{COMPARISONS}{pk}/stop/").json()

    assert (body["state"], body["reason"], body["can_stop"]) == ("stopped", "stopped by Operator", False)
    second.refresh_from_db()
    assert (second.state, second.is_stop_requested) == ("running", True)
    rest = BenchmarkRun.objects.exclude(pk__in=[first.pk, second.pk])
    assert {run.state for run in rest} == {"stopped"}
    again = operator.post(f"{COMPARISONS}{pk}/stop/")
    assert (again.status_code, again.json()["type"]) == (409, "urn:lifeguard:run-refused")
    assert AuditEntry.objects.filter(action="benchmarks.comparison.stopped").count() == 1


def picked(cluster: Cluster, topology: str, tps: float) -> int:
    run = BenchmarkRun.objects.create(
        cluster=cluster, workload="pgbench-select-only", topology=topology, clients=4, threads=4, duration_s=60,
        parameters={"scale": 10}, requested_by_name="Ann",
    )  # fmt: skip
    finish(run, tps)
    return run.pk


def test_runs_that_are_there_are_compared_without_pairs(cluster: Cluster, api_client: Client) -> None:
    direct = [picked(cluster, "primary", tps) for tps in (1000, 1010, 990, 1005, 995)]
    pooled = [picked(cluster, "pgpools", tps) for tps in (800, 810, 790, 805, 795)]

    given = {"runs": direct + pooled, "margin_percent": 0.5}
    body = api_client("operator").post(COMPARISONS, given, format="json").json()

    assert (body["state"], body["repetitions"], body["arms"]) == ("done", 0, ["primary direct", "all pgpools"])
    assert (body["margin_percent"], body["finished_at"] is None) == (0.5, False)
    rate = body["arms_compared"][1]["against_baseline"]["tps"]
    assert (rate["is_paired"], rate["verdict"]) == (False, "slower")


def test_what_cannot_be_picked_is_named(cluster: Cluster, api_client: Client) -> None:
    operator = api_client("operator")
    first, alike = picked(cluster, "primary", 1000), picked(cluster, "primary", 1010)
    waits = BenchmarkRun.objects.create(
        cluster=cluster, workload="pgbench-select-only", topology="pgpools", clients=4, threads=4, duration_s=60
    )
    other = Cluster.objects.create(
        organisation=cluster.organisation, slug="ledger", name="Ledger", username="lifeguard", password="x"
    )
    elsewhere = picked(other, "pgpools", 900)

    def reason(*runs: int) -> str:
        answer = operator.post(COMPARISONS, {"runs": list(runs)}, format="json")
        assert answer.status_code == 400
        [error] = answer.json()["errors"]
        assert error["field"] == "runs"
        return str(error["reason"])

    assert "pick 2 to 200" in reason(first)
    assert "asked to be the same" in reason(first, alike)
    assert "is queued" in reason(first, waits.pk)
    assert "was run on Ledger" in reason(first, elsewhere)
    assert "is no run of" in reason(first, 2**31 - 1)


def test_an_arm_may_be_compared_with_itself_under_another_name(cluster: Cluster, api_client: Client) -> None:
    arms = [{**DIRECT, "label": "A"}, {**DIRECT, "label": "A again"}]
    assert api_client("operator").post(COMPARISONS, wanted(*arms), format="json").status_code == 202


def test_a_list_of_no_possible_cluster_is_not_there(cluster: Cluster, api_client: Client) -> None:
    for address in (COMPARISONS, "/api/v1/benchmarks/campaigns/", "/api/v1/benchmarks/runs/"):
        assert api_client("viewer").get(address, {"cluster": "\0"}).status_code == 404


def test_more_kinds_of_run_than_arms_are_refused_by_the_runs(cluster: Cluster, api_client: Client) -> None:
    runs = [picked(cluster, f"pgpools:{number}", 1000) for number in range(13)]

    answer = api_client("operator").post(COMPARISONS, {"runs": runs}, format="json")

    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"field": "runs", "reason": "'13' kinds of run; at most 12 are compared"},
    ]


def test_names_that_come_out_alike_are_told_apart(cluster: Cluster, api_client: Client) -> None:
    """Of two runs whose long parameters differ behind what a name has room for."""
    runs = [picked(cluster, "primary", 1000) for _ in range(2)]
    for pk, end in zip(runs, "ab", strict=True):
        BenchmarkRun.objects.filter(pk=pk).update(parameters={"sql": "SELECT 1; " * 20 + end})

    body = api_client("operator").post(COMPARISONS, {"runs": runs}, format="json").json()

    assert len(set(body["arms"])) == 2
    assert body["arms"][1].endswith(" (2)")


def test_viewers_and_strangers_start_and_stop_nothing(cluster: Cluster, api_client: Client) -> None:
    pk = api_client("operator").post(COMPARISONS, wanted(), format="json").json()["id"]
    viewer, stranger = api_client("viewer"), script("admin", organisation="globex")

    assert viewer.post(COMPARISONS, wanted(), format="json").status_code == 403
    assert viewer.post(f"{COMPARISONS}{pk}/stop/").status_code == 403
    assert viewer.get(f"{COMPARISONS}{pk}/").json()["can_stop"] is False
    assert stranger.get(f"{COMPARISONS}{pk}/").status_code == 404
    assert stranger.post(f"{COMPARISONS}{pk}/stop/").status_code == 404
    assert stranger.get(COMPARISONS).json()["results"] == []
    assert stranger.post(COMPARISONS, wanted(), format="json").status_code == 404


def test_a_sweep_names_its_best_place(cluster: Cluster, api_client: Client) -> None:
    operator = api_client("operator")
    arms = [{**DIRECT, "clients": clients} for clients in (1, 2, 4, 8)]
    pk = operator.post(COMPARISONS, wanted(*arms, over="clients", repetitions=6), format="json").json()["id"]
    finish_all(pk, [500, 900, 1600, 1200], spread=SIX)

    curve = operator.get(f"{COMPARISONS}{pk}/").json()["sweep"]

    assert [point["x"] for point in curve["points"]] == [1, 2, 4, 8]
    assert (curve["best_x"], curve["rivals"], curve["is_bracketed"]) == (4, [], True)
    assert curve["sentence"].startswith("The rate is highest at clients = 4 (1,6")


def test_a_sweep_marks_where_the_throttle_was_measured(cluster: Cluster, api_client: Client) -> None:
    operator = api_client("operator")
    arms = [{**DIRECT, "parameters": {"throttle_per_s": rate}} for rate in (100, 200, 400)]
    given = wanted(*arms, over="parameters.throttle_per_s")
    pk = operator.post(COMPARISONS, given, format="json").json()["id"]
    finish_all(pk, [100, 200, 250])
    bound = {"check": "throttle_bound", "ok": False, "sentence": "This is the throttle."}
    BenchmarkRun.objects.filter(places__arm__in=[0, 1]).update(findings=[bound])

    curve = operator.get(f"{COMPARISONS}{pk}/").json()["sweep"]

    assert [point["limit"] for point in curve["points"]] == ["throttle", "throttle", ""]
    assert "At throttle_per_s = 100, 200 the throttle was measured" in curve["sentence"]
