"""Figures of several processes put together."""

import pytest

from apps.benchmarks.domain.latency_histogram import counted
from apps.benchmarks.domain.load_report import LoadReport, LoadSecond, ScriptReport, StatementReport
from apps.benchmarks.domain.run_result import Part, Seconds, merge, pooled


def test_means_and_deviations_of_groups_are_those_of_all_values() -> None:
    mean, stddev = pooled([(2, 10.0, 1.0), (2, 20.0, 1.0)])  # 9, 11 and 19, 21

    assert mean == 15.0
    assert stddev == pytest.approx(26**0.5)
    assert pooled([(0, 5.0, 1.0), (3, None, None)]) == (None, None)
    assert pooled([(1, 5.0, None), (1, 7.0, 0.0)]) == (6.0, None)


def test_rates_and_counts_add_up_and_percentiles_are_of_all_together() -> None:
    report = LoadReport(
        2000.5, 4001, failed=3, latency_ms=1.5, connect_ms=8.0, statements=(StatementReport("SELECT 1", 1.25),),
        own={"empty_polls": 7},
    )  # fmt: skip
    parts = [Part("pgpool-1", report, counted([1000] * 89)), Part("pgpool-2", report, counted([9000] * 11))]

    found = merge(parts)

    assert found["tps"] == 4001.0
    assert found["tps_by_server"] == {"pgpool-1": 2000.5, "pgpool-2": 2000.5}
    assert (found["transactions"], found["failed"], found["connect_ms"]) == (8002, 6, 8.0)
    assert found["latency_ms"]["mean"] == pytest.approx(1.5)
    assert found["latency_ms"]["p50"] == pytest.approx(1.0, rel=0.001)
    assert found["latency_ms"]["p90"] == pytest.approx(9.0, rel=0.001)
    assert found["latency_ms"]["p99"] == pytest.approx(9.0, rel=0.001)
    assert found["statements"] == [{"text": "SELECT 1", "latency_ms": 1.25}]
    assert found["own"] == {"pgpool-1": {"empty_polls": 7}, "pgpool-2": {"empty_polls": 7}}


def test_scripts_are_put_together_by_name() -> None:
    def part(server: str, fast: int, slow_ms: float) -> Part:
        scripts = (
            ScriptReport("pay", 3, fast, 30.0, 0, 2.0, 0.0, (StatementReport("UPDATE", 1.5),)),
            ScriptReport("look", 1, 10, 10.0, 1, slow_ms, 0.0),
        )
        return Part(server, LoadReport(40.0, fast + 10, scripts=scripts), by_script={"look": counted([8000] * 10)})

    pay, look = merge([part("one", 30, 8.0), part("two", 90, 4.0)])["scripts"]

    assert (pay["name"], pay["weight"], pay["transactions"], pay["tps"], pay["failed"]) == ("pay", 3, 120, 60.0, 0)
    assert (pay["latency_ms"]["mean"], pay["latency_ms"]["p50"]) == (2.0, None)
    assert pay["statements"] == [{"text": "UPDATE", "latency_ms": 1.5}]
    assert (look["latency_ms"]["mean"], look["failed"]) == (6.0, 2)  # (10 x 8 + 10 x 4) / 20
    assert look["latency_ms"]["p99"] == pytest.approx(8.0, rel=0.001)


def test_a_script_that_one_process_does_not_tell_of_is_left_out() -> None:
    told = LoadReport(1.0, 1, scripts=(ScriptReport("pay"),))

    assert merge([Part("one", told), Part("two", LoadReport(1.0, 1))])["scripts"] == []
    assert merge([Part("one", told)])["scripts"][0]["tps"] is None


def test_no_rate_is_told_where_one_process_told_none() -> None:
    assert merge([])["tps"] is None


def test_a_second_is_whole_once_every_process_has_told_of_it() -> None:
    seconds = Seconds(processes=2)
    seconds.take("one", LoadSecond(1.0, 100.0, 2.0, 0.0, failed=0))
    seconds.take("one", LoadSecond(2.0, 110.0, 2.0, 0.0, failed=0))
    assert seconds.whole() == []

    seconds.take("two", LoadSecond(1.1, 300.0, 4.0, 0.0, failed=1))

    [second] = seconds.whole()
    assert (second.at_s, second.tps, second.latency_ms, second.failed) == (1, 400.0, 3.5, 1)
    assert seconds.whole() == []
