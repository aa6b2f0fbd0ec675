"""TPC-C-like runs against the real cluster: straight to the primary, and through a pgpool that reads at standbys."""

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.benchmarks.control import run_engine
from deploy.lab import Lab
from tests.clusters.callers_at_doors import script

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = "/api/v1/benchmarks/runs/"
# Some hundreds within two seconds, so that each of the five is among them, and no standby falls behind for it.
SMALL = {"warehouses": 1, "size_percent": 3, "throttle_per_s": 200}
KINDS = ["new order", "payment", "order status", "delivery", "stock level"]


def measured(operator: APIClient, topology: str, **parameters: Any) -> dict[str, Any]:
    """By REST, of three clients and two seconds."""
    wish = {
        "cluster": "orders", "workload": "tpcc-like", "topology": topology, "clients": 3, "duration_s": 2,
        "parameters": {**SMALL, **parameters},
    }  # fmt: skip
    answer = operator.post(RUNS, wish, format="json")
    assert answer.status_code == 202, answer.content
    pk = answer.json()["id"]
    run_engine.carry_out(run_id=pk, holder="test", clock=timezone.now)
    body: dict[str, Any] = operator.get(f"{RUNS}{pk}/").json()
    assert (body["state"], body["error"], body["is_partial"], body["failed"]) == ("done", "", False, 0)
    return body


def reads(lab: Lab) -> list[int]:
    """How many SELECTs pgpool-1 has sent to each backend, by its node_id. CALL is none."""
    return [int(node["select_cnt"]) for node in lab.pgpools.nodes(lab.plan.pgpools[0])]


def test_the_same_data_serves_the_primary_and_a_pgpool_whose_standbys_take_what_reads(loadable: Lab) -> None:
    operator = script("operator")
    straight = measured(operator, "primary")
    before = reads(loadable)
    through = measured(operator, "pgpool:pgpool-1", protocol="prepared")
    grown = [now - then for now, then in zip(reads(loadable), before, strict=True)]

    for body in (straight, through):
        assert [one["name"] for one in body["scripts"]] == KINDS
        assert all(one["transactions"] > 0 for one in body["scripts"])
        checks = {one["check"]: one["ok"] for one in body["findings"]}
        assert [checks[f"consistency_{number}"] for number in (1, 2, 3, 4)] == [True] * 4
        assert (checks["few_warehouses"], checks["small_data"]) == (False, False)
        assert any("no tpmC" in note for note in body["environment"]["notes"])
    assert [one["name"] for one in straight["outputs"]] == ["preparation"] * 5 + [loadable.backends.primary.name]
    assert [one["name"] for one in through["outputs"]] == ["pgpool-1"]
    # The primary has weight 0 here, and what writes would have failed on a standby, which none did.
    assert max(grown[1:]) > 0
    assert grown[0] < sum(one["transactions"] for one in through["scripts"] if one["name"] in {"new order", "payment"})
