"""The calculators of the query cache by REST: what they answer, and what they refuse by name."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.query_cache.domain.test_break_even import KEY_LOOK_UP

BREAK_EVEN, WARM_UP = "/api/v1/calculators/break-even/", "/api/v1/calculators/warm-up/"
POINT = {"hit_ratio": 0.149, "tps": 12029, "no_cache_tps": 16161}


@pytest.fixture
def viewer(api_client: Callable[..., APIClient]) -> APIClient:
    return api_client("viewer", scope="read")


def test_pairs_give_the_ratio_from_which_it_pays(viewer: APIClient) -> None:
    points = [dict(zip(POINT, pair, strict=True)) for pair in KEY_LOOK_UP]

    answer = viewer.post(BREAK_EVEN, {"points": points})

    found = answer.json()
    assert answer.status_code == 200
    assert found["state"] == "pays_above"
    assert found["low"] < found["break_even"] < found["high"]
    assert found["break_even"] == pytest.approx(0.40, abs=0.01)
    assert found["relative_miss_cost"] == pytest.approx(1.46, abs=0.02)
    assert found["relative_hit_cost_low"] < found["relative_hit_cost"] < found["relative_hit_cost_high"]
    assert "pays from 40 % hits" in found["sentence"]


def test_too_few_pairs_are_no_fit_and_no_error(viewer: APIClient) -> None:
    found = viewer.post(BREAK_EVEN, {"points": [POINT]}).json()

    assert (found["state"], found["break_even"], found["relative_hit_cost"]) == ("not_a_fit", None, None)
    assert "at least 4 pairs" in found["sentence"]


def test_a_cache_warms_up(viewer: APIClient) -> None:
    found = viewer.post(WARM_UP, {"keys": 50000, "queries": 120000}).json()

    assert found["operating_hit_ratio"] == pytest.approx(0.9093, abs=1e-4)
    assert found["cumulative_hit_ratio"] == pytest.approx(0.6211, abs=1e-4)
    assert found["expected_misses"] == pytest.approx(45464.2, abs=0.1)
    assert found["queries_until_wanted"] is None


def test_how_long_until_it_is_warm(viewer: APIClient) -> None:
    body = {"keys": 1000, "queries": 0, "wanted_ratio": 0.5, "per_s": 100}

    found = viewer.post(WARM_UP, body).json()

    assert found["queries_until_wanted"] == pytest.approx(692.8, abs=0.1)
    assert found["seconds_until_wanted"] == pytest.approx(6.928, abs=0.001)
    # 1 − (1 − e^−x) / x is 0.5 at x = 1.594
    assert found["queries_until_shown"] == pytest.approx(1594, abs=1)
    assert found["seconds_until_shown"] == pytest.approx(15.94, abs=0.01)


@pytest.mark.parametrize(
    ("address", "body", "field", "said"),
    [
        (BREAK_EVEN, {}, "points", "required"),
        (BREAK_EVEN, {"points": []}, "points", "at least 1"),
        (BREAK_EVEN, {"points": [POINT | {"tps": 0}]}, "points.0.tps", "expected a number above 0"),
        (BREAK_EVEN, {"points": [POINT, POINT | {"hit_ratio": 14.9}]}, "points.1.hit_ratio", "less than or equal to 1"),
        (BREAK_EVEN, {"points": [POINT | {"tps": "12029"}]}, "points.0.tps", "expected a number"),
        (BREAK_EVEN, {"points": [POINT | {"no_cache_tps": None}]}, "points.0.no_cache_tps", "null"),
        (BREAK_EVEN, {"points": [POINT | {"no_cash_tps": 1}]}, "points.0.no_cash_tps", "is no field here"),
        (WARM_UP, {"queries": 1}, "keys", "required"),
        (WARM_UP, {"keys": 0, "queries": 1}, "keys", "greater than or equal to 1"),
        (WARM_UP, {"keys": 10, "queries": -1}, "queries", "greater than or equal to 0"),
        (WARM_UP, {"keys": 10, "queries": 1, "wanted_ratio": 1}, "wanted_ratio", "less than or equal to 0.999999"),
        (WARM_UP, {"keys": 10, "queries": 1, "per_s": 0}, "per_s", "above 0"),
    ],
)
def test_what_is_refused_is_named(viewer: APIClient, address: str, body: dict[str, Any], field: str, said: str) -> None:
    answer = viewer.post(address, body)

    assert answer.status_code == 400
    [error] = answer.json()["errors"]
    assert error["field"] == field
    assert said in str(error)


@pytest.mark.parametrize("address", [BREAK_EVEN, WARM_UP])
def test_strangers_are_turned_away(viewer: APIClient, address: str) -> None:
    assert APIClient().post(address, {}).status_code == 401
    assert viewer.get(address).status_code == 405
