"""Pages of comparisons: the list, the verdict with its intervals, files, stop."""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.benchmarks.models import BenchmarkComparison, BenchmarkRun
from apps.clusters.models import Cluster
from tests.benchmarks.comparison_scene import COMPARISONS, DIRECT, SIX, advance, finish, finish_all, wanted
from tests.clusters.callers_at_doors import browser

pytestmark = pytest.mark.django_db

PAGES = "/o/acme/benchmarks/comparisons/"
Script = Callable[..., APIClient]
Browsers = Callable[..., Client]


def asked(script: Script, *arms: dict[str, Any], **changes: Any) -> int:
    answer = script("operator").post(COMPARISONS, wanted(*arms, **changes), format="json")
    return int(answer.json()["id"])


def shown(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_list_is_empty_at_first_and_says_what_a_comparison_is_for(cluster: Cluster, client_for: Browsers) -> None:
    text = shown(client_for("viewer"), PAGES)
    assert "No comparisons yet" in text
    assert "operators begin comparisons" in text


def test_the_list_says_how_far_each_one_is(cluster: Cluster, api_client: Script, client_for: Browsers) -> None:
    pk = asked(api_client)
    finish(BenchmarkRun.objects.order_by("pk")[0], 1000)

    text = shown(client_for("viewer"), PAGES)

    assert f'href="{PAGES}{pk}/"' in text
    assert "1 of 6" in text
    assert "Under way" in text


def test_it_says_that_it_is_too_early_then_who_is_faster(
    cluster: Cluster, api_client: Script, client_for: Browsers
) -> None:
    pk = asked(api_client, repetitions=6)
    operator = client_for("operator")
    early = shown(operator, f"{PAGES}{pk}/")
    assert "Too early to tell: two blocks of runs are needed." in early
    assert f'href="{PAGES}{pk}/stop/"' in early

    finish_all(pk, [1000, 800], spread=SIX)
    advance(pk)
    text = shown(operator, f"{PAGES}{pk}/")

    assert "With all pgpools the rate is 20.0 % lower than with primary direct." in text
    assert "−20.0 %" in text
    assert "set apart" in text
    assert 'class="ci"' in text
    assert f'href="{PAGES}{pk}/stop/"' not in text
    assert "P95 latency" in text


def test_another_baseline_and_another_latency_are_in_the_address(
    cluster: Cluster, api_client: Script, client_for: Browsers
) -> None:
    pk = asked(api_client, repetitions=6)
    finish_all(pk, [1000, 800], spread=SIX)
    viewer = client_for("viewer")

    text = shown(viewer, f"{PAGES}{pk}/?baseline=1&latency=p50_ms")

    assert "With primary direct the rate is 25.0 % higher than with all pgpools." in text
    assert "P50 latency" in text
    assert "With all pgpools the rate is" in shown(viewer, f"{PAGES}{pk}/?baseline=7&latency=colour")
    assert "With all pgpools the rate is" in shown(viewer, f"{PAGES}{pk}/?baseline={'9' * 5000}")


def test_statements_are_a_heat_table(cluster: Cluster, api_client: Script, client_for: Browsers) -> None:
    pk = asked(api_client, repetitions=6)
    for member in BenchmarkComparison.objects.get(pk=pk).members.select_related("run"):
        slow = 1.0 + 2 * member.arm
        statements = [
            {"text": "SELECT <b>1</b>;", "latency_ms": 2.0 + member.block / 100},
            {"text": "SELECT 2;", "latency_ms": (3.0 + member.block / 100) * slow},
        ]
        finish(member.run, 1000 + member.block, statements=statements)

    text = shown(client_for("viewer"), f"{PAGES}{pk}/")

    assert "Which statements pay for it?" in text
    assert 'class="slower"' in text
    assert "3.0×" in text
    assert "SELECT &lt;b&gt;1&lt;/b&gt;;" in text


def test_a_sweep_says_where_it_is_best(cluster: Cluster, api_client: Script, client_for: Browsers) -> None:
    pk = asked(api_client, *({**DIRECT, "clients": clients} for clients in (1, 2, 4)), over="clients", repetitions=6)
    finish_all(pk, [500, 900, 1600], spread=SIX)

    text = shown(client_for("viewer"), f"{PAGES}{pk}/")

    assert "The rate is highest at clients = 4" in text
    assert "The optimum is not bracketed: it lies at an edge of what was measured." in text
    assert "clients are the limit</span>" in text


def test_its_runs_are_there_as_files(cluster: Cluster, api_client: Script, client_for: Browsers) -> None:
    label = '=HYPERLINK("http://example.org")'
    pk = asked(api_client, {**DIRECT, "label": label}, {"topology": "pgpools"})
    finish_all(pk, [1000, 800])
    viewer = client_for("viewer")

    lines = list(csv.DictReader(io.StringIO(shown(viewer, f"{PAGES}{pk}/comparison.csv"))))

    assert len(lines) == 6
    assert {line["arm"] for line in lines} == {f"'{label}", "all pgpools"}
    assert {(line["block"], line["counts"]) for line in lines} == {("0", "0"), ("1", "1"), ("2", "1")}
    assert viewer.get(f"{PAGES}{pk}/comparison.json").json()["sentence"].endswith("than with " + label + ".")
    assert viewer.get(f"{PAGES}{pk}/comparison.xls").status_code == 404


def test_an_operator_stops_it_after_being_asked(cluster: Cluster, api_client: Script, client_for: Browsers) -> None:
    pk = asked(api_client)
    operator = client_for("operator")
    assert f"Stop comparison #{pk}?" in shown(operator, f"{PAGES}{pk}/stop/")

    answer = operator.post(f"{PAGES}{pk}/stop/", follow=True)

    assert "What was measured stays." in answer.content.decode()
    assert BenchmarkComparison.objects.get().state == "stopped"
    assert operator.post(f"{PAGES}{pk}/stop/").status_code == 409
    assert client_for("viewer").get(f"{PAGES}{pk}/stop/").status_code == 403


def test_another_organisation_sees_none_of_it(cluster: Cluster, api_client: Script) -> None:
    pk = asked(api_client)
    stranger = browser("admin", organisation="globex")

    assert "No comparisons yet" in shown(stranger, "/o/globex/benchmarks/comparisons/")
    for address in ("", "now/", "stop/", "comparison.csv"):
        assert stranger.get(f"/o/globex/benchmarks/comparisons/{pk}/{address}").status_code == 404
        assert stranger.get(f"{PAGES}{pk}/{address}").status_code == 404
