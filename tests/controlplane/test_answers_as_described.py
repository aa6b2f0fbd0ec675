"""What REST answers is what its OpenAPI description says: every field there is, and null only where it says so."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft202012Validator
from rest_framework.test import APIClient

from apps.accounts.models import ApiToken, Organisation
from apps.benchmarks.domain.published_examples import published_texts
from apps.benchmarks.models import (
    BenchmarkAccess,
    BenchmarkCampaign,
    BenchmarkComparison,
    BenchmarkEndpoint,
    BenchmarkImport,
    BenchmarkRun,
)
from apps.clusters.control import backend_operations, convergence
from apps.clusters.history.metrics import METRICS
from apps.clusters.models import BackendOperation, Cluster, RollingRestart, Rollout
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import scene
from tests.clusters.seen_cluster import NOW, count, poll, register

pytestmark = pytest.mark.django_db


@pytest.fixture
def rollout(db: None, tmp_path: Path, settings: Any) -> Rollout:
    """Verified and judged, on a cluster that was polled and counted reads; beside it one that was never asked."""
    with scene(tmp_path, settings, pgpools=2) as acme:
        found = acme.advance(acme.request(note="more for pg3"))
        poll(acme.cluster)
        for instance in acme.instances:
            count(instance, {1: 250, 2: 750})
        assert found.finished_at is not None
        backend = acme.cluster.backends.get(node_id=2)
        backend_operations.request(
            caller=acme.caller, cluster=acme.cluster, backend=backend, kind="detach", now=found.finished_at
        )
        restart = RollingRestart.objects.create(pk=found.pk, cluster=acme.cluster, state="done")
        restart.steps.create(position=0, instance_name="pgpool-1", way="hand", parameters=["max_pool"])
        measured_run(pk=found.pk, cluster=acme.cluster)
        convergence.judge(rollout=found, now=found.finished_at + timedelta(minutes=1))
    register(Organisation.objects.get(slug="acme"), "silent")
    return found


def measured_run(*, pk: int, cluster: Cluster) -> None:
    """A benchmark run with all that one can have."""
    latency = {"mean": 4.0, "stddev": 1.0, "p50": 4.0, "p95": 5.0, "p99": 6.0}
    ordered = {
        "name": "new order", "weight": 45, "transactions": 500, "tps": 250.0, "failed": 0, "latency_ms": latency,
        "statements": [],
    }  # fmt: skip
    result = {
        "tps": 250.0, "tps_by_server": {"pg1": 250.0}, "latency_ms": latency, "transactions": 500, "failed": 0,
        "connect_ms": 3.0, "statements": [{"text": "SELECT 1", "latency_ms": 3.9}], "scripts": [ordered],
    }  # fmt: skip
    run = BenchmarkRun.objects.create(
        pk=pk, cluster=cluster, workload="pgbench-select-only", topology="primary", clients=1, threads=1, duration_s=2,
        parameters={"scale": 1}, state="done", attempts=1, tps=250.0, result=result, environment={"postgresql": "15.8"},
        findings=[{"check": "too_short", "ok": False, "sentence": "2 s are too short."}], requested_by_name="Ann",
    )  # fmt: skip
    run.samples.create(attempt=1, at_s=1, tps=250.0)
    run.outputs.create(attempt=1, name="pg1", command="pgbench", output="tps = 250", exit_code=0)
    BenchmarkAccess.objects.create(cluster=cluster, is_on=True, database="shop", username="app", password="x")
    BenchmarkEndpoint.objects.create(cluster=cluster, name="pgbouncer", host="127.0.0.1", port=6432)
    compared(run)
    text = published_texts()["pgpool_kubernetes"]
    BenchmarkImport.objects.create(
        pk=pk, organisation=cluster.organisation, name="published", kind="document", text=text, imported_by_name="Ann"
    )


def compared(run: BenchmarkRun) -> None:
    """The same run as three arms of three blocks: a sweep."""
    arm = {
        "workload": run.workload, "topology": run.topology, "clients": 1, "threads": 1, "duration_s": 2, "warm_up_s": 0,
        "parameters": {"scale": 1},
    }  # fmt: skip
    comparison = BenchmarkComparison.objects.create(
        pk=run.pk, cluster=run.cluster, name="scales", baseline=0, repetitions=2, over="x", order_seed=1, state="done",
        arms=[{**arm, "label": f"x {x}", "x": float(x)} for x in (1, 2, 4)], requested_by_name="Ann",
    )  # fmt: skip
    campaign = BenchmarkCampaign.objects.create(
        pk=run.pk, cluster=run.cluster, name="nightly", arms=[{**arm, "label": f"x {x}"} for x in (1, 2, 4)],
        repetitions=2, over="x", cron="0 2 * * *", window_min=60, budget_min=60, requested_by_name="Ann",
    )  # fmt: skip
    campaign.rounds.create(due_at=NOW, comparison=comparison)
    campaign.rounds.create(due_at=NOW, kind="by_hand", reason="busy")
    for position in range(9):
        again = BenchmarkRun.objects.get(pk=run.pk)
        again.pk, again.tps = 1_000_000 + position, 250.0 + position
        again.result = {**run.result, "tps": again.tps}
        again.save(force_insert=True)
        comparison.members.create(run=again, arm=position % 3, block=position // 3)


@pytest.fixture
def description(db: None) -> dict[str, Any]:
    found: dict[str, Any] = Client().get("/api/v1/schema/").json()
    return found


def as_json_schema(schema: Any) -> Any:
    """From OpenAPI 3.0, which says null in a way of its own; and strict: a field that is not described fails."""
    if isinstance(schema, list):
        return [as_json_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: as_json_schema(inner) for name, inner in schema.items() if name != "nullable"}
    if isinstance(found.get("properties"), dict):
        found.setdefault("additionalProperties", False)
    return {"anyOf": [found, {"type": "null"}]} if schema.get("nullable") is True else found


def troubles(description: dict[str, Any], operation: dict[str, Any], answer: Any) -> list[str]:
    described = operation["responses"][str(answer.status_code)]["content"]
    schema = as_json_schema(described[answer.headers["Content-Type"].partition(";")[0]]["schema"])
    whole = Draft202012Validator({**schema, "components": as_json_schema(description["components"])})
    return [f"{error.json_path}: {error.message}"[:300] for error in whole.iter_errors(answer.json())]


def addresses(path: str, ids: Mapping[str, object]) -> list[str]:
    """The path for a cluster that was asked and for one that never was; of a series, every metric."""
    around = f"start={(NOW - timedelta(hours=1)).timestamp()}&end={NOW.timestamp() + 1}"
    queries = [f"?metric={metric}&{around}" for metric in METRICS] if path.endswith("/series/") else [""]
    only_of_one = ("endpoints/{name}", "revisions/{number}", "operations/{operation_id}", "restarts/{id}")
    slugs = ["orders"] if any(part in path for part in only_of_one) else ["orders", "silent"]
    return sorted({path.format(slug=slug, **ids) + query for slug in slugs for query in queries})


def test_every_answer_is_as_described(rollout: Rollout, description: dict[str, Any]) -> None:
    asker = script("admin")
    ids = {"id": rollout.pk, "number": 1, "token_id": ApiToken.objects.get().pk, "node_id": 2}
    ids["name"] = "pgbouncer"
    ids["operation_id"] = BackendOperation.objects.get().pk
    doors = {path: operations["get"] for path, operations in description["paths"].items() if "get" in operations}
    doors = {path: door for path, door in doors.items() if "application/json" in door["responses"]["200"]["content"]}

    assert len(doors) >= 13
    for path, operation in doors.items():
        for address in addresses(path, ids):
            answer = asker.get(address)
            assert answer.status_code == 200, address
            assert troubles(description, operation, answer) == [], address


def test_a_gap_is_null_and_described_so(rollout: Rollout, description: dict[str, Any]) -> None:
    path, asker = "/api/v1/clusters/{slug}/series/", script("viewer")
    answers = [asker.get(address) for address in addresses(path, {}) if "=children_used&" in address]

    points = [point for answer in answers for one in answer.json()["series"] for point in one["points"]]
    assert any(value is None for _, value in points)
    assert all(troubles(description, description["paths"][path]["get"], answer) == [] for answer in answers)


def test_every_refusal_is_as_described(rollout: Rollout, description: dict[str, Any]) -> None:
    asker, none = (
        script("admin"),
        {"slug": "none", "id": 0, "node_id": 0, "operation_id": 0, "number": 0, "token_id": 0, "name": "none"},
    )

    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            answers = [getattr(APIClient(), method)(path.format(**none))]
            if "{" in path:
                answers.append(getattr(asker, method)(path.format(**none), format="json"))
            assert [answer.status_code for answer in answers] == [401, 404][: len(answers)], (method, path)
            for answer in answers:
                assert troubles(description, operation, answer) == [], (method, path)


def test_who_a_browser_speaks_for_is_as_described(description: dict[str, Any]) -> None:
    answer = browser("viewer").get("/api/v1/me/")

    assert answer.json()["token"] is None
    assert troubles(description, description["paths"]["/api/v1/me/"]["get"], answer) == []
