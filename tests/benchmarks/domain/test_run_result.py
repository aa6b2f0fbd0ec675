"""Figures of several processes put together."""

from pathlib import Path

import pytest

from apps.benchmarks.domain.latency_histogram import counted
from apps.benchmarks.domain.pgbench_output import parse_result
from apps.benchmarks.domain.pgbench_progress import Progress
from apps.benchmarks.domain.run_result import Part, Seconds, merge, pooled

CAPTURED = Path(__file__).parents[2] / "captured" / "pgbench-15"


def test_means_and_deviations_of_groups_are_those_of_all_values() -> None:
    mean, stddev = pooled([(2, 10.0, 1.0), (2, 20.0, 1.0)])  # 9, 11 and 19, 21

    assert mean == 15.0
    assert stddev == pytest.approx(26**0.5)
    assert pooled([(0, 5.0, 1.0), (3, None, None)]) == (None, None)
    assert pooled([(1, 5.0, None), (1, 7.0, 0.0)]) == (6.0, None)


def test_rates_and_counts_add_up_and_percentiles_are_of_all_together() -> None:
    report = parse_result((CAPTURED / "pgbench_P1_r_merged.txt").read_text())
    parts = [Part("pgpool-1", report, counted([1000] * 97)), Part("pgpool-2", report, counted([9000] * 3))]

    found = merge(parts)

    assert report.tps is not None
    assert found["tps"] == pytest.approx(2 * report.tps)
    assert found["tps_by_server"] == {"pgpool-1": report.tps, "pgpool-2": report.tps}
    assert found["transactions"] == 2 * report.transactions
    assert found["latency_ms"]["mean"] == pytest.approx(report.latency_ms)
    assert found["latency_ms"]["p50"] == pytest.approx(1.0, rel=0.001)
    assert found["latency_ms"]["p99"] == pytest.approx(9.0, rel=0.001)
    assert [one["text"] for one in found["statements"]] == [one.text for one in report.statements]


def test_no_rate_is_told_where_one_process_told_none() -> None:
    assert merge([])["tps"] is None


def test_a_second_is_whole_once_every_process_has_told_of_it() -> None:
    seconds = Seconds(processes=2)
    seconds.take("one", Progress(1.0, False, 100.0, 2.0, 0.0, failed=0))
    seconds.take("one", Progress(2.0, False, 110.0, 2.0, 0.0, failed=0))
    assert seconds.whole() == []

    seconds.take("two", Progress(1.1, False, 300.0, 4.0, 0.0, failed=1))

    [second] = seconds.whole()
    assert (second.at_s, second.tps, second.latency_ms, second.failed) == (1, 400.0, 3.5, 1)
    assert seconds.whole() == []
