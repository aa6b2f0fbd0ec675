"""The new-order rate of a TPC-C-like workload as a metric of comparisons, and the p90 of each kind of transaction."""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.benchmarks.domain.tpcc import KINDS
from apps.benchmarks.models import BenchmarkComparison
from apps.clusters.models import Cluster
from tests.benchmarks.comparison_scene import COMPARISONS, SIX, finish, finish_all, wanted
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

PAGES = "/o/acme/benchmarks/comparisons/"
Script = Callable[..., APIClient]
ORDERING = {"workload": "tpcc-like", "clients": 4, "duration_s": 10}


def scripts(tps: float, *, slow: float) -> list[dict[str, Any]]:
    """As the weights ask for. The p90 of new orders alone grows with slow."""
    return [
        {
            "name": kind.name, "weight": kind.weight, "transactions": 100, "failed": 0, "statements": [],
            "tps": tps * kind.weight / 100,
            "latency_ms": {"mean": 2.0, "p90": 5.0 * (slow if kind.name == "new order" else 1)},
        }
        for kind in KINDS
    ]  # fmt: skip


@pytest.fixture
def ordered(cluster: Cluster, api_client: Script) -> int:
    """Six blocks of two arms: 100 tps direct, 80 through the pgpools, where the p90 of new orders is twice as long."""
    pk = int(
        api_client("operator").post(COMPARISONS, wanted(common=ORDERING, repetitions=6), format="json").json()["id"]
    )
    for member in BenchmarkComparison.objects.get(pk=pk).members.select_related("run"):
        # The two arms of a block are not off by quite the same.
        off = SIX[member.block % len(SIX)]
        tps = 80 * off**1.1 if member.arm else 100 * off
        finish(member.run, tps, scripts=scripts(tps, slow=off * (1 + member.arm)))
    return pk


def test_the_new_order_rate_is_estimated_and_judged_beside_tps(ordered: int, api_client: Script) -> None:
    body = api_client("viewer").get(f"{COMPARISONS}{ordered}/").json()

    direct, pooled = body["arms_compared"]
    rate = direct["figures"]["new_orders_per_min"]
    assert rate["middle"] == pytest.approx(2700, rel=0.01)  # 45 of 100 tps, in a minute
    assert rate["low"] < rate["middle"] < rate["high"]
    against = pooled["against_baseline"]["new_orders_per_min"]
    assert against["verdict"] == "slower"
    assert against["low"] < against["difference_percent"] < against["high"] < 0
    assert against["difference_percent"] == pytest.approx(-20, abs=1)
    assert against["sentence"].endswith("new orders per min.")
    assert pooled["new_orders_sentence"].startswith("all pgpools is slower than primary direct: −")
    assert " new orders per min, 95 % interval −" in pooled["new_orders_sentence"]
    assert direct["new_orders_sentence"] == ""
    assert [run["new_orders_per_min"] for run in direct["runs"]] == [
        pytest.approx(run["tps"] * 27) for run in direct["runs"]
    ]


def test_the_p90_of_each_kind_of_transaction_is_compared(ordered: int, api_client: Script) -> None:
    _, pooled = api_client("viewer").get(f"{COMPARISONS}{ordered}/").json()["arms_compared"]

    cells = {cell["text"]: cell for cell in pooled["statements"]}
    assert len(cells) == 10
    assert (cells["new order"]["is_sure"], cells["payment, p90"]["is_sure"]) == (False, False)
    slowed = cells["new order, p90"]
    assert slowed["is_sure"]
    assert slowed["change_percent"] == pytest.approx(100, abs=1)
    assert slowed["latency_ms"] == pytest.approx(10, abs=0.2)


def test_the_page_and_the_table_of_runs_tell_it(ordered: int, client_for: Callable[..., Client]) -> None:
    viewer = client_for("viewer")

    text = text_of(viewer.get(f"{PAGES}{ordered}/"))

    assert "How many new orders?" in text
    assert "all pgpools is slower than primary direct" in text
    assert "New-order rate" in text
    assert "per min" in text
    assert "Q0 Q0 p90 Q1 Q1 p90" in text
    assert "p90 where it says so" in text
    assert "tpmC" not in text
    lines = list(csv.DictReader(io.StringIO(viewer.get(f"{PAGES}{ordered}/comparison.csv").content.decode())))
    assert [float(line["new_orders_per_min"]) for line in lines] == [
        pytest.approx(float(line["tps"]) * 27) for line in lines
    ]
    kept = viewer.get(f"{PAGES}{ordered}/comparison.json").json()
    assert "new_orders_per_min" in kept["arms_compared"][1]["against_baseline"]


def test_no_other_workload_tells_of_new_orders(
    cluster: Cluster, api_client: Script, client_for: Callable[..., Client]
) -> None:
    pk = api_client("operator").post(COMPARISONS, wanted(repetitions=2), format="json").json()["id"]
    finish_all(pk, [1000, 800])

    for arm in api_client("viewer").get(f"{COMPARISONS}{pk}/").json()["arms_compared"]:
        assert "new_orders_per_min" not in {*arm["figures"], *arm["against_baseline"]}
        assert (arm["new_orders_sentence"], {run["new_orders_per_min"] for run in arm["runs"]}) == ("", {None})
    viewer = client_for("viewer")
    assert "new orders" not in text_of(viewer.get(f"{PAGES}{pk}/"))
    assert "new_orders_per_min" not in viewer.get(f"{PAGES}{pk}/comparison.csv").content.decode()
