"""How often each script ran, against how often it should have; and their latencies as a comparison takes them."""

from apps.benchmarks.domain import run_metrics
from apps.benchmarks.domain.script_mix import shares


def test_shares_are_of_all_transactions_and_of_all_weights() -> None:
    pay, look = shares([{"transactions": 60, "weight": 3}, {"transactions": 40, "weight": 1}])

    assert (pay, look) == ({"share": 0.6, "wanted_share": 0.75}, {"share": 0.4, "wanted_share": 0.25})


def test_of_what_is_not_known_of_one_no_share_is_told() -> None:
    assert (
        shares([{"transactions": None, "weight": 1}, {"transactions": 4, "weight": 1}])
        == [{"share": None, "wanted_share": 0.5}] * 2
    )
    assert shares([{"transactions": 0, "weight": None}]) == [{"share": None, "wanted_share": None}]
    assert shares([]) == []


def test_scripts_without_statements_are_compared_by_their_means() -> None:
    pay = {"name": "pay", "statements": [], "latency_ms": {"mean": 2.0}}
    look = {"name": "look", "statements": [], "latency_ms": {"mean": None}}
    slow = {"name": "slow", "statements": [], "latency_ms": {"mean": 3.0, "p90": 7.0}}
    told = {**pay, "statements": [{"text": "SELECT 1", "latency_ms": 1.0}]}

    assert run_metrics.statements({"scripts": [pay, look]}) == {"pay": 2.0}
    assert run_metrics.statements({"scripts": [slow, pay]}) == {"slow": 3.0, "slow, p90": 7.0, "pay": 2.0}
    assert run_metrics.statements({"scripts": [told, look]}) == {}
    assert run_metrics.statements({"statements": told["statements"], "scripts": [pay]}) == {"SELECT 1": 1.0}
