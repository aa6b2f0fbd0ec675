"""A TPC-C-like run on its page and by REST: its kinds of transactions, the new-order rate, rules that were broken."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.benchmarks.domain.tpcc import CONDITIONS, KINDS, Looked, of_condition
from apps.benchmarks.models import BenchmarkRun
from apps.clusters.models import Cluster
from tests.benchmarks.scene import RUNS, made_run
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

HOLDS = Looked(100, 0, "")
COUNTS = (460, 420, 35, 45, 40)


def latency(mean: float) -> dict[str, float | None]:
    return {"mean": mean, "stddev": 1.0, "p50": mean, "p90": mean * 2, "p95": mean * 3, "p99": mean * 4}


def tpcc_run(cluster: Cluster, *, looked: Looked = HOLDS, **changes: Any) -> BenchmarkRun:
    """Of 10 s and 1,000 transactions."""
    scripts = [
        {
            "name": kind.name, "weight": kind.weight, "transactions": count, "tps": count / 10,
            "failed": 7 if kind.name == "payment" else 0, "latency_ms": latency(position + 1.0), "statements": [],
        }
        for position, (kind, count) in enumerate(zip(KINDS, COUNTS, strict=True))
    ]  # fmt: skip
    result = {
        "tps": 100.0, "tps_by_server": {"pg1": 100.0}, "latency_ms": latency(1.5), "transactions": 1000, "failed": 0,
        "connect_ms": 10.0, "statements": [], "scripts": scripts, "own": {},
    }  # fmt: skip
    facts = {"workload": "tpcc-like", "parameters": {"warehouses": 10, "size_percent": 100}, **changes}
    return made_run(
        cluster, state="done", tps=100.0, result=result, findings=[of_condition(CONDITIONS[2], looked)], **facts
    )


def test_each_kind_of_transaction_has_its_share_its_rate_and_its_percentiles(
    cluster: Cluster, client_for: Callable[..., Client]
) -> None:
    run = tpcc_run(cluster)

    answer = client_for("viewer").get(f"/o/acme/benchmarks/runs/{run.pk}/")

    told = text_of(answer)
    for words in (
        "TPC-C-like: five transactions of an order desk",
        "New-order rate 2,760 per min",  # 46 a second
        "new order 46.0 % of 45.0 % 460 46.00 tps 1.00 ms 1.00 ms 2.00 ms 3.00 ms 4.00 ms",
        "stock level 4.0 % of 4.0 % 40 4.00 tps 5.00 ms 5.00 ms 10.0 ms 15.0 ms 20.0 ms",
        "payment 42.0 % of 43.0 % 420 7 failed 42.00 tps",
        "Holds Consistency condition 3 holds for 100 districts",
    ):
        assert words in told
    assert "tpmC" not in told
    assert 'role="alert"' not in answer.content.decode()


def test_rules_that_were_broken_stand_above_all_figures(cluster: Cluster, client_for: Callable[..., Client]) -> None:
    run = tpcc_run(cluster, looked=Looked(100, 2, "district 9 of warehouse 4 (NO_O_ID 22 to 30, count 8)"))

    answer = client_for("viewer").get(f"/o/acme/benchmarks/runs/{run.pk}/")

    told, page = text_of(answer), answer.content.decode()
    assert (
        "Its data broke the rules that it must keep Consistency condition 3 is VIOLATED in 2 of 100 districts" in told
    )
    assert told.count("count 8)") == 2  # and among what the figures carry
    assert page.index("is VIOLATED") < page.index("New-order rate")
    assert 'role="alert"' in page


def test_rest_tells_the_mix_and_the_new_order_rate(cluster: Cluster, api_client: Callable[..., APIClient]) -> None:
    run, other = tpcc_run(cluster), made_run(cluster)

    body = api_client("viewer").get(f"{RUNS}{run.pk}/").json()

    assert body["new_orders_per_min"] == 2760.0
    ordered = body["scripts"][0]
    assert (ordered["name"], ordered["share"], ordered["wanted_share"]) == ("new order", 0.46, 0.45)
    assert ordered["latency_ms"]["p90"] == 2.0
    assert api_client("viewer").get(f"{RUNS}{other.pk}/").json()["new_orders_per_min"] is None


def test_a_result_kept_before_p90_was_told_has_none(cluster: Cluster, api_client: Callable[..., APIClient]) -> None:
    run = tpcc_run(cluster)
    for figures in (run.result, *run.result["scripts"]):
        del figures["latency_ms"]["p90"]
    run.save()

    body = api_client("viewer").get(f"{RUNS}{run.pk}/").json()

    assert [one["latency_ms"]["p90"] for one in (body, *body["scripts"])] == [None] * 6
    assert body["latency_ms"]["p95"] == 4.5
