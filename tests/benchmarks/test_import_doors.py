"""Results of others by REST: taken whole or not at all, checked, recomputed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import AuditEntry
from apps.benchmarks.domain.published_examples import published_texts
from apps.benchmarks.models import BenchmarkImport
from tests.clusters.callers_at_doors import script

pytestmark = pytest.mark.django_db

Client = Callable[..., APIClient]
IMPORTS = "/api/v1/benchmarks/imports/"
CAPTURED = Path(__file__).parents[1] / "captured"


def test_a_published_example_is_checked_and_recomputed(api_client: Client) -> None:
    operator = api_client("operator")
    examples = operator.get(f"{IMPORTS}examples/").json()["results"]
    assert [one["key"] for one in examples] == sorted(published_texts())

    answer = operator.post(IMPORTS, {"example": "pgpool_kubernetes"}, format="json")

    body = answer.json()
    assert answer.status_code == 201, body
    wrong = [one for one in body["recomputed"] if not one["agrees"]]
    slips = [figure["printed"] for result in body["results"] for figure in result["figures"] if figure["is_slip"]]
    failed = [check for result in body["results"] for check in result["checks"] if not check["ok"]]
    assert [check["check"] for check in failed if round(check["expected"], 6) == 9.564161] == ["littles_law"]
    assert body["flagged"] == len(wrong) + len(slips) + len(failed)
    assert [(one["printed"], one["recomputed"]) for one in wrong] == [("-6.27.74899", "-627.749")]
    assert body["source"]["title"]
    listed = api_client("viewer").get(IMPORTS).json()["results"]
    assert [(one["id"], one["flagged"], one["results_count"]) for one in listed] == [
        (body["id"], body["flagged"], len(body["results"]))
    ]
    assert AuditEntry.objects.get(action="benchmarks.import.taken").target_id == str(body["id"])


@pytest.mark.parametrize("key", sorted(published_texts()))
def test_every_example_can_be_taken_as_object_and_as_text(api_client: Client, key: str) -> None:
    operator, text = api_client("operator"), published_texts()[key]

    as_text = operator.post(IMPORTS, {"document": text}, format="json").json()
    as_object = operator.post(IMPORTS, {"document": json.loads(text), "name": "mine"}, format="json").json()

    assert as_object["name"] == "mine"
    assert as_text["results"] == as_object["results"]
    assert as_text["results"]


def captured(tool: str) -> str:
    """The first captured report of a whole run."""
    begin = {"pgbench-15": "transaction type:", "sysbench-1.0.20": "SQL statistics:"}[tool]
    texts = (path.read_text() for path in sorted((CAPTURED / tool).iterdir()) if path.is_file())
    return next(text for text in texts if text.count(begin) == 1)


@pytest.mark.parametrize("tool", ["pgbench-15", "sysbench-1.0.20"])
def test_what_a_tool_printed_is_taken(api_client: Client, tool: str) -> None:
    body = api_client("operator").post(IMPORTS, {"output": captured(tool), "note": "by hand"}, format="json").json()

    [result] = body["results"]
    assert (body["kind"], body["note"], body["name"]) == ("output", "by hand", f"Output of {tool.partition('-')[0]}")
    assert float(next(one["number"] for one in result["figures"] if one["column"] == "tps")) > 0
    assert result["checks"]


def document(**changes: Any) -> dict[str, Any]:
    """A base and another row, with the difference that the source printed."""
    return {
        "format": "lifeguard-benchmarks-1", "name": "mine", "title": "Mine", "source": {"title": "a notebook"},
        "columns": [{"name": "tps", "unit": "1/s", "role": "tps"}],
        "results": [
            {"name": "base", "figures": {"tps": "1"}},
            {"name": "other", "figures": {"tps": "123456789012345678"}},
        ],
        "derived": {
            "baseline": "base",
            "columns": [{"of": "tps", "kind": "difference", "values": {"other": "1.000000000001"}}],
        },
        **changes,
    }  # fmt: skip


def test_figures_of_very_different_sizes_are_recomputed(api_client: Client) -> None:
    body = api_client("operator").post(IMPORTS, {"document": document()}, format="json")

    assert body.status_code == 201, body.json()
    assert body.json()["recomputed"][0]["recomputed"] == "123456789012345677.0000000000000"


@pytest.mark.parametrize(
    "conditions", [{"\ud800": "x"}, {"a\nb": "x"}, {"a\0": "x"}, {"": "x"}, {f"n{at}": "x" for at in range(101)}]
)
def test_names_of_conditions_are_held_to_what_texts_are(api_client: Client, conditions: dict[str, str]) -> None:
    text = json.dumps(document(conditions=conditions))

    answer = api_client("operator").post(IMPORTS, {"document": text}, format="json")

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"].startswith("document.conditions")
    assert not BenchmarkImport.objects.exists()


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({}, "body", "found none of them"),
        ({"example": "tri_node_messaging", "output": "x"}, "body", "found output and example"),
        ({"example": "tpc"}, "example", "there are"),
        ({"output": "no benchmark at all"}, "output", "expected"),
        ({"document": "{"}, "document", "expected"),
        ({"document": {"format": "lifeguard-benchmarks-1"}}, "document.name", "is missing"),
        ({"document": {"format": "lifeguard-benchmarks-9"}}, "document", "expected"),
        ({"output": "x" * 2_000_001}, "output", "at most 2,000,000"),
        ({"colour": "red"}, "colour", "is no field here"),
    ],
)
def test_what_cannot_be_read_is_refused_whole(
    api_client: Client, given: dict[str, Any], field: str, words: str
) -> None:
    answer = api_client("operator").post(IMPORTS, given, format="json")

    assert answer.status_code == 400
    error = answer.json()["errors"][0]
    assert error["field"].startswith(field)
    assert words in error["reason"]
    assert not BenchmarkImport.objects.exists()


def test_viewers_and_strangers_take_and_remove_nothing(api_client: Client) -> None:
    pk = api_client("operator").post(IMPORTS, {"example": "spqr_router"}, format="json").json()["id"]
    viewer, stranger = api_client("viewer"), script("admin", organisation="globex")

    assert viewer.post(IMPORTS, {"example": "spqr_router"}, format="json").status_code == 403
    assert viewer.delete(f"{IMPORTS}{pk}/").status_code == 403
    assert viewer.get(f"{IMPORTS}{pk}/").status_code == 200
    assert stranger.get(f"{IMPORTS}{pk}/").status_code == 404
    assert stranger.delete(f"{IMPORTS}{pk}/").status_code == 404
    assert stranger.get(IMPORTS).json()["results"] == []


def test_one_is_removed(api_client: Client) -> None:
    operator = api_client("operator")
    pk = operator.post(IMPORTS, {"example": "spqr_router"}, format="json").json()["id"]

    assert operator.delete(f"{IMPORTS}{pk}/").status_code == 204

    assert operator.get(f"{IMPORTS}{pk}/").status_code == 404
    assert AuditEntry.objects.get(action="benchmarks.import.removed").target_id == str(pk)
