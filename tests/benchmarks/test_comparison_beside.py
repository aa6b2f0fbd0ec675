"""Imported results beside the arms of a comparison: shown with their rate, judged by nobody."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser
from rest_framework.test import APIClient

from apps.clusters.models import Cluster
from tests.benchmarks.comparison_scene import COMPARISONS, SIX, finish_all, wanted
from tests.clusters.callers_at_doors import script

pytestmark = pytest.mark.django_db

IMPORTS = "/api/v1/benchmarks/imports/"
PAGES = "/o/acme/benchmarks/comparisons/"
Client = Callable[..., APIClient]
Browsers = Callable[..., Browser]


def compared(operator: APIClient) -> int:
    pk = operator.post(COMPARISONS, wanted(repetitions=6), format="json").json()["id"]
    finish_all(pk, [1000, 800], spread=SIX)
    return int(pk)


def document(*results: dict[str, Any], role: str | None = "tps") -> str:
    column = {"name": "rate", "unit": "1/s" if role else "1", **({"role": role} if role else {})}
    whole = {"format": "lifeguard-benchmarks-1", "name": "theirs", "title": "Theirs", "source": {"title": "A page"}}
    return json.dumps({**whole, "columns": [column], "results": list(results)})


def taken(operator: APIClient, text: str) -> int:
    answer = operator.post(IMPORTS, {"document": text}, format="json")
    assert answer.status_code == 201, answer.content
    return int(answer.json()["id"])


THEIRS = {"name": "their primary", "clients": 80, "runs": 3, "figures": {"rate": "1500.50"}}
ALONE = {"name": "their pgpool", "figures": {"rate": "500"}}


def test_imported_rates_stand_beside_the_arms_without_a_verdict(cluster: Cluster, api_client: Client) -> None:
    operator = api_client("operator")
    pk, imported = compared(operator), taken(operator, document(THEIRS, ALONE))

    body = operator.get(f"{COMPARISONS}{pk}/?beside={imported}").json()

    first, second = body["beside"]
    assert (first["name"], first["printed"], first["tps"], first["runs"]) == ("their primary", "1500.50", 1500.5, 3)
    typical = body["arms_compared"][0]["figures"]["tps"]["middle"]
    assert first["share"] == pytest.approx(1500.5 / typical)
    assert "one number of 3 runs as it was printed, without an interval" in first["sentence"]
    assert "called neither faster nor slower" in second["sentence"]
    assert len(body["arms_compared"]) == 2
    assert "their primary" not in body["sentence"]
    assert operator.get(f"{COMPARISONS}{pk}/").json()["beside"] == []


def test_what_has_no_rate_stands_nowhere(cluster: Cluster, api_client: Client, client_for: Browsers) -> None:
    operator = api_client("operator")
    pk, imported = compared(operator), taken(operator, document(ALONE, role=None))

    assert operator.get(f"{COMPARISONS}{pk}/?beside={imported}").json()["beside"] == []
    text = client_for("viewer").get(f"{PAGES}{pk}/?beside={imported}").content.decode()
    assert "What was imported has no rate in tps to show here." in text


def test_imports_of_others_and_odd_ids_are_refused(cluster: Cluster, api_client: Client) -> None:
    operator = api_client("operator")
    pk, theirs = compared(operator), taken(script("operator", organisation="globex"), document(THEIRS))

    assert operator.get(f"{COMPARISONS}{pk}/?beside={theirs}").status_code == 404
    assert operator.get(f"{COMPARISONS}{pk}/?beside=x").status_code == 400


def test_the_page_lets_one_choose_and_marks_what_is_imported(
    cluster: Cluster, api_client: Client, client_for: Browsers
) -> None:
    operator = api_client("operator")
    pk, imported = compared(operator), taken(operator, document(THEIRS))
    theirs = taken(script("operator", organisation="globex"), document(THEIRS))
    viewer = client_for("viewer")

    plain = viewer.get(f"{PAGES}{pk}/").content.decode()
    text = viewer.get(f"{PAGES}{pk}/?beside={imported}").content.decode()
    odd = viewer.get(f"{PAGES}{pk}/?beside={theirs}").content.decode()

    assert f'<option value="{imported}">' in plain
    assert "their primary" not in plain
    assert f'<option value="{imported}" selected>' in text
    assert '<b class="md">their primary</b> <span class="tag">imported</span>' in text
    assert "1500.50 tps" in text
    assert "one number, no verdict" in text
    assert "their primary" not in odd
