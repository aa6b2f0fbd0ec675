"""The page of all runs: who sees which, by what it is narrowed, and where it leads when it is empty."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Organisation
from apps.benchmarks.models import BenchmarkAccess, BenchmarkRun, RunSample
from apps.clusters.models import Cluster
from tests.benchmarks.scene import made_run
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

RUNS = "/o/acme/benchmarks/"
Browsers = Callable[..., Client]


def shown(browser: Client, query: str = "") -> set[int]:
    text = browser.get(f"{RUNS}{query}").content.decode()
    return {pk for pk in BenchmarkRun.objects.values_list("pk", flat=True) if f'id="run-{pk}"' in text}


def test_a_run_is_shown_with_its_figures_and_their_units(cluster: Cluster, client_for: Browsers) -> None:
    latency = {"mean": 3.2, "stddev": 1, "p50": 2.9, "p95": 7.44, "p99": 12.31}
    finding = {"check": "too_short", "ok": False, "sentence": "It is too short."}
    made_run(cluster, state="done", tps=1234.5, result={"latency_ms": latency}, findings=[finding], note="first try")

    told = text_of(client_for("viewer").get(RUNS))

    for words in ("1,234 tps", "7.44 ms", "scale 10; first try", "on the primary", "Done", "Ann"):
        assert words in told


def test_one_that_waits_says_how_many_go_first_and_one_that_measures_what_it_has(
    cluster: Cluster, client_for: Browsers
) -> None:
    running = made_run(cluster, state="running", attempts=2)
    RunSample.objects.create(run=running, attempt=1, at_s=40, tps=7)
    for at_s, tps in ((1, 100), (2, 110)):
        RunSample.objects.create(run=running, attempt=2, at_s=at_s, tps=tps)
    made_run(cluster)
    made_run(cluster)

    told = text_of(client_for("viewer").get(RUNS))

    assert "Queued, 1 before it" in told
    assert "Queued, 2 before it" in told
    assert "105 tps so far: 2 s of 1 min are measured." in told


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {"done", "queued", "writes", "other"}),
        ("?cluster=orders", {"done", "queued", "writes"}),
        ("?state=active", {"queued", "writes", "other"}),
        ("?state=done&cluster=orders", {"done"}),
        ("?workload=pgbench-tpcb-like", {"writes"}),
        ("?state=odd&workload=odd&cluster=odd", {"done", "queued", "writes", "other"}),
    ],
)
def test_the_list_is_narrowed(cluster: Cluster, client_for: Browsers, query: str, expected: set[str]) -> None:
    other = Cluster.objects.create(organisation=cluster.organisation, slug="carts", name="Carts", username="x")
    made = {
        "done": made_run(cluster, state="done"),
        "queued": made_run(cluster),
        "writes": made_run(cluster, workload="pgbench-tpcb-like"),
        "other": made_run(other),
    }

    assert shown(client_for("viewer"), query) == {made[name].pk for name in expected}


def test_a_long_list_asks_no_more_of_the_database_than_a_short_one(cluster: Cluster, client_for: Browsers) -> None:
    browser = client_for("viewer")

    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            browser.get(RUNS)
        return len(captured)

    made_run(cluster)
    made_run(cluster, state="stopped", is_partial=True)
    asked()
    few = asked()
    for _ in range(10):
        made_run(cluster)
        made_run(cluster, state="stopped", is_partial=True)

    assert asked() == few


def test_runs_of_another_organisation_are_not_listed(
    cluster: Cluster, other_organisation: Organisation, client_for: Browsers
) -> None:
    made_run(cluster)
    stranger = client_for("admin", of=other_organisation)

    assert stranger.get(RUNS).status_code == 404
    assert "No cluster is registered yet" in text_of(stranger.get("/o/rival/benchmarks/"))


@pytest.mark.parametrize(
    ("is_on", "words"), [(True, "Load is allowed on Orders"), (False, "may be put under load yet")]
)
def test_an_empty_list_says_what_is_possible(cluster: Cluster, client_for: Browsers, is_on: bool, words: str) -> None:
    BenchmarkAccess.objects.update(is_on=is_on)

    assert words in text_of(client_for("viewer").get(RUNS))


def test_every_page_leads_to_the_benchmarks(cluster: Cluster, client_for: Browsers) -> None:
    assert f'href="{RUNS}"' in client_for("viewer").get("/o/acme/").content.decode()


def test_the_end_of_a_long_list_is_on_its_next_page(cluster: Cluster, client_for: Browsers) -> None:
    made: list[Any] = [made_run(cluster) for _ in range(51)]
    browser = client_for("viewer")

    assert made[0].pk not in shown(browser, "?state=active")
    assert shown(browser, f"?state=active&before={made[1].pk}") == {made[0].pk}
    assert browser.get(f"{RUNS}?before=x").status_code == 404
