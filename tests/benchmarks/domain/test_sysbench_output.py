"""What sysbench 1.0.20 printed, and the forms of 1.1."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.benchmarks.domain.printed import UnreadableOutputError
from apps.benchmarks.domain.sysbench_output import (
    Intermediate,
    SysbenchReport,
    SysbenchResult,
    parse_intermediate,
    parse_result,
    percentile_of,
)

CAPTURED = Path(__file__).parents[2] / "captured" / "sysbench-1.0.20"
RUNS = sorted(path.name for path in CAPTURED.iterdir() if path.name != "sysbench_prepare.txt")

# The fixed lines of 1.1 stand here; the figures are made up.
VERSION_1_1 = """\
sysbench 1.1.0-3ceba0b (using bundled LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 24
Target transaction rate: 500/sec
Report intermediate results every 5 second(s)
Initializing random number generator from current time


Initializing worker threads...

Threads started!

[ 5s ] thds: 24 tps: 400.20 qps: 8004.00 (r/w/o: 5602.80/1600.80/800.40) lat (ms,95%): 70.55 err/s: 0.20 reconn/s: 0.00
[ 5s ] queue length: 3, concurrency: 24
SQL statistics:
    queries performed:
        read:                            56000
        write:                           16000
        other:                           8000
        total:                           80000
    transactions:                        4000   (400.00 per sec.)
    queries:                             80000  (8000.00 per sec.)
    ignored errors:                      2      (0.20 per sec.)
    reconnects:                          0      (0.00 per sec.)

Throughput:
    events/s (eps):                      400.0000
    time elapsed:                        10.0000s
    total number of events:              4000

Latency (ms):
         min:                                    5.50
         avg:                                   59.90
         max:                                  500.25
         95th percentile:                       70.55
         sum:                               239600.00

Threads fairness:
    events (avg/stddev):           166.6667/ 4.50
    execution time (avg/stddev):   9.9833/0.01

"""


def captured(name: str) -> SysbenchResult:
    return parse_result((CAPTURED / name).read_text())


def report_of(result: SysbenchResult) -> SysbenchReport:
    assert result.report is not None
    return result.report


def test_a_report_and_the_lines_before_it_are_read() -> None:
    result = captured("sysbench_rw_ps_auto.txt")

    assert (result.version, result.threads, result.report_interval_s, result.rate_per_s) == ("1.0.20", 4, 1, None)
    report = report_of(result)
    assert (report.reads, report.writes, report.others, report.queries) == (20720, 5913, 2965, 29598)
    assert (report.transactions, report.tps, report.queries_per_s) == (1479, 368.38, 7372.05)
    assert (report.errors, report.errors_per_s, report.reconnects, report.reconnects_per_s) == (1, 0.25, 0, 0.0)
    assert (report.total_time_s, report.events) == (4.0137, 1479)
    assert (report.latency_min_ms, report.latency_mean_ms, report.latency_max_ms) == (2.06, 10.83, 179.16)
    assert (report.percentiles_ms, report.latency_sum_ms) == (((95.0, 24.38),), 16014.51)
    assert (report.threads_events, report.threads_time_s) == ((369.75, 51.81), (4.0036, 0.0))
    assert result.intermediates[2] == Intermediate(
        3.0, 4, 375.25, 7516.13, 5257.55, 1506.06, 752.52, 95.0, 19.29, 1.01, 0.0
    )
    assert not result.partial


@pytest.mark.parametrize("name", RUNS)
def test_every_captured_report_agrees_with_itself(name: str) -> None:
    report = report_of(captured(name))

    assert report.tps == pytest.approx(report.transactions / report.total_time_s, rel=0.01)
    assert report.latency_sum_ms is not None
    assert report.latency_mean_ms == pytest.approx(report.latency_sum_ms / report.transactions, abs=0.01)


def test_the_histogram_gives_the_printed_percentile() -> None:
    result = captured("sysbench_ps_hist.txt")

    assert sum(count for _, count in result.histogram) == 32422
    assert report_of(result).percentiles_ms == ((99.0, 2.48),)
    assert percentile_of(result.histogram, 99) == pytest.approx(2.48, abs=0.005)
    assert percentile_of([], 99) is None


def test_version_1_1_calls_its_figures_otherwise() -> None:
    result = parse_result(VERSION_1_1)

    assert (result.version, result.rate_per_s, result.threads) == ("1.1.0-3ceba0b", 500, 24)
    report = report_of(result)
    assert (report.total_time_s, report.events, report.events_per_s) == (10.0, 4000, 400.0)
    assert (report.tps, report.latency_mean_ms, report.threads_events) == (400.0, 59.9, (166.6667, 4.5))
    assert len(result.intermediates) == 1


def test_a_run_without_percentile_has_none() -> None:
    line = "        95th percentile:                       70.55\n"
    assert line in VERSION_1_1

    report = report_of(parse_result(VERSION_1_1.replace(line, "         percentile stats:               disabled\n")))

    assert report.percentiles_ms == ()


def test_a_run_without_a_transaction_has_no_latency() -> None:
    none = VERSION_1_1.replace("4000   (400.00 per sec.)", "0      (0.00 per sec.)")

    report = report_of(parse_result(none))

    assert (report.tps, report.latency_mean_ms, report.percentiles_ms) == (0.0, None, ())


def test_of_a_stopped_run_the_lines_meanwhile_remain() -> None:
    """sysbench ends on SIGINT at once, without a report."""
    text = (CAPTURED / "sysbench_sigint.txt").read_text()

    result = parse_result(text[: text.index("[ 8s ]")])

    assert result.partial
    assert result.report is None
    assert [line.at_s for line in result.intermediates] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


def test_a_report_that_is_cut_counts_as_none() -> None:
    result = parse_result(VERSION_1_1[: VERSION_1_1.index("         max:")])

    assert result.partial
    assert result.report is None


def test_a_run_that_was_forced_to_end_is_partial() -> None:
    text = VERSION_1_1.replace(
        "SQL statistics:", "FATAL: The --max-time limit has expired, forcing shutdown...\nSQL statistics:"
    ).replace("Throughput:", "Number of unfinished transactions on forced shutdown: 5\n\nThroughput:")

    result = parse_result(text)

    assert result.partial
    assert report_of(result).unfinished == 5


def test_what_a_driver_said_is_kept_where_nothing_else_is() -> None:
    result = parse_result(
        "FATAL: Connection to database failed: connection refused\nFATAL: unable to connect, aborting"
    )

    assert result.partial
    assert result.fatal == (
        "FATAL: Connection to database failed: connection refused",
        "FATAL: unable to connect, aborting",
    )


def test_a_checkpoint_on_the_way_is_not_the_report() -> None:
    block = VERSION_1_1[VERSION_1_1.index("SQL statistics:") :]
    checkpoint = "[ 10s ] Checkpoint report:\n" + block
    later = block.replace("4000   (400.00", "3000   (300.00")

    only = parse_result(VERSION_1_1.replace(block, checkpoint))
    both = parse_result(VERSION_1_1.replace(block, checkpoint + later))

    assert only.report is None
    assert only.partial
    assert (report_of(both).transactions, report_of(both).after_checkpoints) == (3000, True)
    assert not report_of(parse_result(VERSION_1_1)).after_checkpoints


@pytest.mark.parametrize(
    ("text", "line_number", "expected"),
    [
        ("", 0, "begins with 'SQL statistics:'"),
        ((CAPTURED / "sysbench_prepare.txt").read_text(), 0, "begins with 'SQL statistics:'"),
        (VERSION_1_1.replace("4000   (400.00 per sec.)", "4000   (400,00 per sec.)"), 22, "'transactions: 1770"),
        (VERSION_1_1.replace("59.90", "5.9.90"), 34, "'avg: 20'"),
        (VERSION_1_1 + VERSION_1_1, 58, "one report only"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line_and_what_was_expected(
    text: str, line_number: int, expected: str
) -> None:
    with pytest.raises(UnreadableOutputError) as refused:
        parse_result(text)

    assert refused.value.line_number == line_number
    assert expected in str(refused.value)


@pytest.mark.parametrize("line", ["", "[ 5s ] queue length: 3, concurrency: 24", "[ 5s ] thds: 24 tps: 40"])
def test_other_lines_are_not_lines_meanwhile(line: str) -> None:
    assert parse_intermediate(line) is None


@pytest.mark.parametrize("name", RUNS)
def test_a_text_that_is_cut_anywhere_is_read_or_refused(name: str) -> None:
    lines = (CAPTURED / name).read_text().splitlines()

    for end in range(len(lines)):
        try:
            parse_result("\n".join(lines[:end]))
        except UnreadableOutputError as refused:
            assert refused.expected


LINES = sorted(set(VERSION_1_1.splitlines()))


@given(st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=60)), max_size=40).map("\n".join) | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_result(text)
    except UnreadableOutputError as refused:
        assert refused.expected
    parse_intermediate(text)
