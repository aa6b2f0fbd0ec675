"""A worker of benchmarks that is killed amid a comparison: another one goes on, and nothing of it is lost."""

from typing import Any

import pytest

from tests.product import Product, wait_until

pytestmark = pytest.mark.timeout(400)

WISH = {
    "cluster": "orders",
    "repetitions": 2,
    "arms": [{"topology": "primary"}, {"topology": "pgpool"}],
    "common": {"workload": "pgbench-select-only", "clients": 1, "duration_s": 2, "parameters": {"scale": 1}},
}


@pytest.fixture
def comparison(loadable_product: Product) -> str:
    """Its address by REST. It is asked for on a cluster that an admin has opened to load."""
    app = loadable_product.lab.addresses["app"]
    allowed = loadable_product.ask("clusters/orders/benchmarks/", body={"is_on": True, **app}, method="PUT")
    assert allowed.status == 200, allowed
    asked = loadable_product.ask("benchmarks/comparisons/", body=WISH, method="POST")
    assert asked.status == 202, asked
    return f"benchmarks/comparisons/{asked.content['id']}/"


def measured_now(product: Product) -> list[int]:
    found = product.get("benchmarks/runs/?cluster=orders")["results"]
    return [run["id"] for run in found if run["state"] == "running"]


def test_another_worker_measures_what_the_killed_one_did_not_end(loadable_product: Product, comparison: str) -> None:
    caught: list[int] = []

    def has_caught_one() -> bool:
        caught[:] = measured_now(loadable_product)
        return bool(caught)

    def compared() -> dict[str, Any]:
        found: dict[str, Any] = loadable_product.get(comparison)
        return found

    wait_until(has_caught_one, "a run is measured", told=lambda: compared()["state"])
    loadable_product.kill("--queues=bench")
    wait_until(
        lambda: not compared()["is_active"], "the comparison ends", within_s=180, told=lambda: compared()["state"]
    )

    body = compared()
    assert (body["state"], body["blocks_whole"], body["runs_done"]) == ("done", 2, 6), body["reason"]
    struck = loadable_product.get(f"benchmarks/runs/{caught[0]}/")
    assert (struck["state"], struck["attempts"]) == ("done", 2)
    assert struck["tps"] > 0
