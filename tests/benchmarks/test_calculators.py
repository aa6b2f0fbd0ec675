"""The calculators by REST: what they answer, what they refuse by name, and that they load nothing beforehand."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

COMPARE, SANITY = "/api/v1/calculators/compare/", "/api/v1/calculators/sanity/"
TWO = [402.0, 403.0]


@pytest.fixture
def viewer(api_client: Callable[..., APIClient]) -> APIClient:
    return api_client("viewer", scope="read")


def test_two_lists_are_compared(viewer: APIClient) -> None:
    answer = viewer.post(COMPARE, {"baseline": [100] * 6, "candidate": [101, 102, 103, 104, 105, 106]})

    found = answer.json()
    assert answer.status_code == 200
    assert (found["verdict"], found["is_paired"], found["more_runs"]) == ("faster", True, None)
    assert (found["low"], found["high"]) == pytest.approx((1, 6))
    assert found["difference_percent"] == pytest.approx(3.489, abs=1e-3)  # of 21 averages the middle: √(1.02 · 1.05)
    assert 0 < found["smallest_detectable_percent"] < 10
    assert found["sentence"].startswith("The candidate is faster: +3.5 %")


def test_latency_is_better_when_it_is_lower(viewer: APIClient) -> None:
    body = {"baseline": [100] * 6, "candidate": [90, 91, 92, 90.5, 89, 91], "higher_is_better": False, "unit": "ms"}

    found = viewer.post(COMPARE, body).json()

    assert found["verdict"] == "faster"
    assert "90.750 ms" in found["sentence"]


def test_what_is_open_is_told_in_minutes(viewer: APIClient) -> None:
    body = {"baseline": [100, 104, 97], "candidate": [102, 91, 103], "run_s": 60, "margin_percent": 2, "paired": None}

    found = viewer.post(COMPARE, body).json()

    assert found["verdict"] == "inconclusive"
    assert found["more_minutes"] == 2 * found["more_runs"]


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({}, "candidate", "required"),
        ({"candidate": None}, "candidate", "null"),
        ({"candidate": [402.0]}, "candidate", "'1 value' is not possible; expected 2 to 1000"),
        ({"candidate": [402.0, 0]}, "candidate.1", "a number above 0"),
        ({"candidate": [402.0, -1]}, "candidate.1", "a number above 0"),
        ({"candidate": [402.0, "403"]}, "candidate.1", "expected a number"),
        ({"candidate": [402.0, True]}, "candidate.1", "expected a number"),
        ({"candidate": [402.0, [403]]}, "candidate.1", "expected a number"),
        ({"candidate": "402 403"}, "candidate", "a list of numbers"),
        ({"candidate": TWO, "paired": 1}, "paired", "neither true nor false"),
        ({"candidate": [*TWO, 404], "paired": True}, "paired", "2 and 3 runs make no pairs"),
        ({"candidate": TWO, "higher_is_better": "no"}, "higher_is_better", "neither true nor false"),
        ({"candidate": TWO, "margin_percent": "5"}, "margin_percent", "expected a number"),
        ({"candidate": TWO, "margin_percent": True}, "margin_percent", "expected a number"),
        ({"candidate": TWO, "margin_percent": 10**400}, "margin_percent", "expected a number"),
        ({"candidate": TWO, "margin_percent": 0}, "margin_percent", "from 0.01 to 100"),
        ({"candidate": TWO, "run_s": -60}, "run_s", "from 0.001"),
        ({"candidate": TWO, "unit": "x" * 21}, "unit", "20"),
        ({"candidate": TWO, "margin": 5}, "margin", "is no field here"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(
    viewer: APIClient, body: dict[str, Any], field: str, said: str
) -> None:
    answer = viewer.post(COMPARE, {"baseline": TWO} | body)

    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert said in answer.json()["detail"]


def test_the_lost_digit_is_found(viewer: APIClient) -> None:
    body = {
        "clients": 80,
        "tps": 9.54162,
        "latency_ms": 8364.56,
        "latency_is_derived": True,
        "statements_ms": None,
        "throttle_per_s": None,
        "batch": None,
        "duration_s": 600,
    }

    answer = viewer.post(SANITY, body)

    found = {each["check"]: each for each in answer.json()["findings"]}
    assert answer.status_code == 200
    assert {check: each["ok"] for check, each in found.items()} == {"littles_law": False, "too_short": True}
    assert (found["littles_law"]["printed"], found["littles_law"]["expected"]) == (9.54162, 9.564161)
    assert "9.564161 tps" in found["littles_law"]["sentence"]
    missing = {each["check"]: each["missing"] for each in answer.json()["not_checked"]}
    assert missing == {
        "statement_sum": ["statements_ms"],
        "throttle_bound": ["throttle_per_s"],
        "client_bound": [],
    }


@pytest.mark.parametrize("given", [{"clients": 80}, {"tps": "9.54162"}, {"duration_s": 600.5}, {"statements_ms": [1]}])
def test_all_but_one_figure_may_be_unknown(viewer: APIClient, given: dict[str, Any]) -> None:
    unknown = dict.fromkeys(
        ("clients", "tps", "latency_ms", "latency_is_derived", "statements_ms", "throttle_per_s", "batch", "duration_s")
    )

    assert viewer.post(SANITY, unknown | given).status_code == 200


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({}, "tps", "at least one figure"),
        ({"tps": "8,364.56"}, "tps", "no commas"),
        ({"tps": 0}, "tps", "a number from"),
        ({"tps": True}, "tps", "a number from"),
        ({"tps": {"a": 1}}, "tps", "a number from"),
        ({"clients": 1.5}, "clients", "a whole number"),
        ({"statements_ms": [1, "x"]}, "statements_ms.1", "a number from 0"),
        ({"statements_ms": 3}, "statements_ms", "a list"),
        ({"tps": 1, "latency_is_derived": "yes"}, "latency_is_derived", "neither true nor false"),
        ({"tps": 1, "latency": 3}, "latency", "is no field here"),
    ],
)
def test_what_is_no_figure_is_refused_by_name(viewer: APIClient, body: dict[str, Any], field: str, said: str) -> None:
    answer = viewer.post(SANITY, body)

    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert said in answer.json()["detail"]


@pytest.mark.parametrize("address", [COMPARE, SANITY])
def test_strangers_and_bodies_that_are_no_object_are_turned_away(viewer: APIClient, address: str) -> None:
    assert APIClient().post(address, {}).status_code == 401
    assert viewer.post(address, [1, 2]).json()["errors"][0]["field"] == "body"
    assert viewer.generic("POST", address, '{"tps": NaN}', content_type="application/json").status_code == 400
    assert viewer.get(address).status_code == 405


def test_what_serves_requests_loads_no_scipy_before_somebody_compares() -> None:
    program = "import sys, django; django.setup(); import controlplane.urls, controlplane.api; "
    program += "print([name for name in ('numpy', 'scipy') if name in sys.modules])"

    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert told.stdout.strip() == "[]"
