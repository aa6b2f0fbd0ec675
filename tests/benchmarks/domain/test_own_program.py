"""What load programs of Lifeguard print, read back."""

import pytest

from apps.benchmarks.domain.latency_histogram import counted
from apps.benchmarks.domain.load_report import LoadReport, LoadSecond, StatementReport
from apps.benchmarks.domain.own_program import (
    latencies_text,
    line,
    parse_failure,
    parse_latencies,
    parse_report,
    parse_second,
)
from apps.benchmarks.domain.printed import UnreadableOutputError

SECOND = line("second", {"at_s": 3, "tps": 4980.2, "latency_ms": 2.1, "stddev_ms": 0.4, "failed": 0})


def test_a_second_is_read_and_any_other_line_is_not() -> None:
    assert parse_second(SECOND) == LoadSecond(3.0, 4980.2, 2.1, 0.4, 0)
    assert parse_second('{"second": {"at_s": 3, "tps": 0}}') == LoadSecond(3.0, 0.0, None)


@pytest.mark.parametrize(
    "text",
    [
        "", "warming up", SECOND[:-2], '{"second": 3}', '{"second": {"at_s": 3}}',
        '{"second": {"at_s": 3, "tps": NaN}}', '{"second": {"at_s": true, "tps": 1}}',
        '{"report": {"at_s": 3, "tps": 1}}',
    ],
)  # fmt: skip
def test_what_is_no_whole_second_is_none(text: str) -> None:
    assert parse_second(text) is None


def test_the_report_stands_after_seconds_and_words_for_people() -> None:
    told = {
        "tps": 10.5, "transactions": 21, "failed": 1, "latency_ms": 2.0, "latency_stddev_ms": 0.5, "connect_ms": 7,
        "statements": [{"text": "SELECT 1", "latency_ms": 1.5}, {"text": "of no use"}], "own": {"empty_polls": 3},
        "is_partial": True,
    }  # fmt: skip
    printed = "\n".join(["connected", SECOND, line("report", told), ""])

    assert parse_report(printed) == LoadReport(
        10.5, 21, 1, 2.0, 0.5, 7.0, (StatementReport("SELECT 1", 1.5),), own={"empty_polls": 3}, is_partial=True
    )


@pytest.mark.parametrize("text", ["", SECOND, '{"report": {"tps": 10.5}}', '{"report": {"tps": 10.5, "transac'])
def test_without_a_whole_report_there_is_none(text: str) -> None:
    with pytest.raises(UnreadableOutputError, match="transactions"):
        parse_report(text)


def test_why_it_failed_is_told_in_its_own_words() -> None:
    printed = "\n".join([SECOND, line("failure", {"reason": "There is no table q.", "fix": "Prepare it."}), ""])

    assert parse_failure(printed) == "There is no table q. Prepare it."
    assert parse_failure(SECOND) == ""


def test_latencies_come_back_to_a_thousandth() -> None:
    kept = parse_latencies(latencies_text(counted(range(1, 100_001))))

    assert kept.count == 100_000
    assert kept.percentile_ms(50) == pytest.approx(50.0, rel=0.001)
    assert kept.percentile_ms(99) == pytest.approx(99.0, rel=0.001)
    for text in ("", "{}[", "[[1]]", "[[-1, 1]]", '{"a": 1}'):
        with pytest.raises(UnreadableOutputError):
            parse_latencies(text)
