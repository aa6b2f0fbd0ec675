"""Final reports and lines of progress, as pgbench 15 printed them, and in the forms of other versions."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.benchmarks.domain.pgbench_output import parse_result
from apps.benchmarks.domain.pgbench_progress import Progress, parse_progress
from apps.benchmarks.domain.pgbench_result import PgbenchResult, Statement, TpsMeaning
from apps.benchmarks.domain.printed import UnreadableOutputError

CAPTURED = Path(__file__).parents[2] / "captured" / "pgbench-15"
WITH_REPORT = [
    "pgbench_C.txt",
    "pgbench_readonly.txt",
    "pgbench_retried.txt",
    "pgbench_serializable.txt",
    "pgbench_t200.txt",
    "pgbench_P1_r_merged.txt",
    "pgbench_R_limit.stdout",
    "pgbench_multi_script.stdout",
    "pgbench_pgpool_killed.out",
    "pgbench_sig_INT.out",
    "pgbench_tpcb.stdout",
]

# The fixed lines of each version stand here; the figures are made up.
VERSION_11 = """\
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 1
query mode: prepared
number of clients: 80
number of threads: 8
duration: 600 s
number of transactions actually processed: 6445
latency average = 7448.431 ms
tps = 10.740517 (including connections establishing)
tps = 10.740645 (excluding connections establishing)
statement latencies in milliseconds:
         2.326  BEGIN;
      3018.764  SELECT 1 FROM a;
"""
VERSION_13_LIMITED = """\
transaction type: script.sql
scaling factor: 1
partition method: hash
partitions: 4
query mode: simple
number of clients: 2
number of threads: 1
number of transactions per client: 100
number of transactions actually processed: 190/200
number of transactions skipped: 10 (5.000 %)
number of transactions above the 20.0 ms latency limit: 3/190 (1.579 %)
latency average = 9.500 ms
latency stddev = 1.250 ms
rate limit schedule lag: avg 0.145 (max 3.546) ms
tps = 99.500000 (including connections establishing)
tps = 99.750000 (excluding connections establishing)
"""
VERSION_14_RECONNECTING = """\
pgbench (14.4 (Ubuntu 14.4-1.pgdg20.04+1), server 13.7)
transaction type: <builtin: select only>
scaling factor: 50
query mode: simple
number of clients: 10
number of threads: 2
number of transactions per client: 10
number of transactions actually processed: 100/100
latency average = 12.500 ms
average connection time = 2.750 ms
tps = 800.000000 (including reconnection times)
"""
VERSION_17_FAILURES = """\
pgbench (17.5)
transaction type: w.sql
scaling factor: 10
query mode: extended
number of clients: 4
number of threads: 1
maximum number of tries: 3
duration: 10 s
number of transactions actually processed: 900
number of failed transactions: 100 (10.000%)
number of serialization failures: 60 (6.000%)
number of deadlock failures: 40 (4.000%)
number of transactions retried: 200 (20.000%)
total number of retries: 250
latency average = 40.000 ms (including failures)
initial connection time = 5.000 ms
tps = 90.000000 (without initial connection time)
"""
LATER_SCRIPTS = """\
transaction type: multiple scripts
scaling factor: 1
query mode: simple
number of clients: 1
number of threads: 1
maximum number of tries: 1
duration: 10 s
number of transactions actually processed: 90
number of failed transactions: 10 (10.000%)
number of other failures: 10 (10.000%)
latency average = 100.000 ms (including failures)
initial connection time = 5.000 ms
tps = 9.000000 (without initial connection time)
SQL script 1: a: b.sql
 - weight: 1 (targets 50.0% of total)
 - 100 transactions (100.0% of total)
 - number of transactions actually processed: 90 (tps = 9.000000)
 - number of failed transactions: 10 (10.000%)
 - number of other failures: 10 (10.000%)
 - latency average = 99.000 ms
 - latency stddev = 1.000 ms
SQL script 2: c.sql
 - weight: 1 (targets 50.0% of total)
 - 0 transactions (0.0% of total)
"""
ALL_TEXTS = [VERSION_11, VERSION_13_LIMITED, VERSION_14_RECONNECTING, VERSION_17_FAILURES, LATER_SCRIPTS]


def captured(name: str) -> PgbenchResult:
    return parse_result((CAPTURED / name).read_text())


def test_a_report_among_progress_and_a_shell_is_read() -> None:
    result = captured("pgbench_P1_r_merged.txt")

    assert result.version == "15.18"
    assert result.server_version is None
    assert (result.transaction_type, result.scale, result.query_mode) == ("<builtin: select only>", 10, "simple")
    assert (result.clients, result.threads, result.max_tries, result.duration_s) == (4, 2, 1, 4)
    assert (result.transactions, result.counts.failed) == (62280, 0)
    assert (result.latency_ms, result.latency_stddev_ms, result.latency_is_derived) == (0.251, 0.717, False)
    assert result.initial_connection_ms == 20.222
    assert (result.tps, result.tps_meaning) == (15644.428368, TpsMeaning.WITHOUT_INITIAL_CONNECTIONS)
    assert result.statements == (
        Statement("\\set aid random(1, 100000 * :scale)", 0.0, 0),
        Statement("SELECT abalance FROM pgbench_accounts WHERE aid = :aid;", 0.25, 0),
    )
    assert not result.partial


def test_a_throttled_run_tells_its_limit_and_its_lag() -> None:
    result = captured("pgbench_R_limit.stdout")

    assert (result.latency_limit_ms, result.above_latency_limit, result.counts.skipped) == (5.0, 4, 0)
    assert (result.schedule_lag_ms, result.schedule_lag_max_ms) == (0.145, 3.546)
    assert not result.latency_is_derived


def test_each_of_several_scripts_has_its_figures_and_statements() -> None:
    result = captured("pgbench_multi_script.stdout")

    assert result.latency_is_derived  # 4 clients / 11798.477 tps = 0.339 ms
    assert result.statements == ()
    warm, writes = result.scripts
    assert (warm.name, warm.weight, warm.target_percent, warm.share_percent) == ("warm.sql", 3, 75.0, 75.1)
    assert (warm.transactions, warm.tps, warm.latency_ms, warm.latency_stddev_ms) == (17578, 8864.86999, 0.28, 0.418)
    assert (warm.counts.retried, warm.counts.retries, warm.counts.deadlock_failures) == (0, 0, 0)
    assert warm.statements[1].text.startswith("SELECT abalance")
    assert writes.statements == (
        Statement("UPDATE pgbench_accounts SET abalance = abalance WHERE aid = 1000;", 0.428, 0, 0),
    )


def test_the_statements_of_tpc_b_are_read_in_order() -> None:
    result = captured("pgbench_tpcb.stdout")

    assert [statement.latency_ms for statement in result.statements] == [
        0.001, 0.0, 0.0, 0.0, 0.23, 0.31, 0.294, 0.278, 0.308, 0.178, 0.226,
    ]  # fmt: skip
    assert result.statements[-1].text == "END;"


def test_a_report_after_aborted_clients_is_partial() -> None:
    printed = (CAPTURED / "pgbench_pgpool_killed.out").read_text()
    said = (CAPTURED / "pgbench_pgpool_killed.err").read_text()

    assert not parse_result(printed).partial
    assert parse_result(said + printed).partial
    assert parse_result(printed + said).partial


def test_a_captured_run_that_reconnects_divides_its_latency_by_all_of_it() -> None:
    result = captured("pgbench_C.txt")

    assert (result.tps, result.tps_meaning) == (64.33559, TpsMeaning.INCLUDING_RECONNECTIONS)
    assert (result.average_connection_ms, result.latency_is_derived) == (15.366, True)
    assert result.latency_ms == 31.087  # 2 clients / 64.335590


def test_captured_failures_are_counted_and_told_by_statement() -> None:
    result = captured("pgbench_serializable.txt")

    assert (result.transactions, result.counts.failed, result.counts.serialization_failures) == (8631, 2597, 2597)
    assert result.latency_includes_failures
    assert result.statements[1].failures == 2597


def test_captured_tries_and_a_throttle_are_read_together() -> None:
    result = captured("pgbench_retried.txt")

    counts = result.counts
    assert (counts.failed, counts.retried, counts.retries, counts.skipped, result.max_tries) == (4, 42, 42, 0, 20)
    assert (result.above_latency_limit, result.schedule_lag_max_ms) == (4, 6.412)


def test_a_run_of_which_all_clients_gave_up_has_counts_and_no_figures() -> None:
    """pgbench divides by zero there and prints NaN%."""
    result = captured("pgbench_readonly.txt")

    assert (result.transactions, result.counts.failed, result.tps, result.latency_ms) == (0, 0, None, None)
    assert result.partial


def test_before_14_tps_is_printed_twice() -> None:
    result = parse_result(VERSION_11)

    assert (result.tps, result.tps_meaning) == (10.740645, TpsMeaning.EXCLUDING_CONNECTIONS)
    assert result.tps_including_connections == 10.740517
    assert result.latency_is_derived
    assert result.counts.failed is None
    assert result.statements == (Statement("BEGIN;", 2.326), Statement("SELECT 1 FROM a;", 3018.764))


def test_of_one_line_of_tps_the_meaning_is_kept() -> None:
    result = parse_result(VERSION_11.replace("tps = 10.740645 (excluding connections establishing)\n", ""))

    assert (result.tps, result.tps_meaning) == (10.740517, TpsMeaning.INCLUDING_CONNECTIONS)


def test_limits_of_13_have_a_space_before_the_percent_sign() -> None:
    result = parse_result(VERSION_13_LIMITED)

    assert (result.transactions, result.transactions_wanted, result.transactions_per_client) == (190, 200, 100)
    assert (result.counts.skipped, result.above_latency_limit, result.latency_limit_ms) == (10, 3, 20.0)
    assert (result.partition_method, result.partitions) == ("hash", 4)
    assert result.duration_s is None


def test_a_reconnecting_run_says_so() -> None:
    result = parse_result(VERSION_14_RECONNECTING)

    assert (result.version, result.server_version) == ("14.4", "13.7")
    assert (result.average_connection_ms, result.initial_connection_ms) == (2.75, None)
    assert result.tps_meaning == TpsMeaning.INCLUDING_RECONNECTIONS
    assert result.max_tries is None


def test_failures_are_told_apart_and_in_the_latency() -> None:
    result = parse_result(VERSION_17_FAILURES)

    counts = result.counts
    assert (counts.failed, counts.serialization_failures, counts.deadlock_failures) == (100, 60, 40)
    assert (counts.retried, counts.retries, counts.other_failures) == (200, 250, None)
    assert result.latency_includes_failures
    assert result.latency_is_derived


def test_scripts_that_count_only_what_succeeded_are_read() -> None:
    first, second = parse_result(LATER_SCRIPTS).scripts

    assert (first.name, first.transactions, first.tps, first.counts.other_failures) == ("a: b.sql", 90, 9.0, 10)
    assert (second.transactions, second.tps, second.latency_ms) == (0, None, None)


def test_nothing_processed_has_no_rate_and_no_latency() -> None:
    head = VERSION_11[: VERSION_11.index("number of transactions actually")]

    result = parse_result(head + "number of transactions actually processed: 0\n")

    assert (result.transactions, result.tps, result.tps_meaning, result.latency_ms) == (0, None, None, None)
    assert not result.latency_is_derived


def test_what_pgbench_divided_by_zero_is_no_figure() -> None:
    result = parse_result(VERSION_13_LIMITED.replace("avg 0.145 (max 3.546)", "avg -nan (max 0.000)"))

    assert (result.schedule_lag_ms, result.schedule_lag_max_ms) == (None, 0.0)


def test_a_carriage_return_at_the_end_of_lines_does_no_harm() -> None:
    assert parse_result(VERSION_13_LIMITED.replace("\n", "\r\n")) == parse_result(VERSION_13_LIMITED)


def test_a_statement_may_hold_what_looks_like_the_end_of_a_line() -> None:
    result = parse_result(VERSION_11.replace("SELECT 1 FROM a;", "SELECT 'a\x0cb', 7;"))

    assert result.statements[1].text == "SELECT 'a\x0cb', 7;"


@pytest.mark.parametrize(
    ("text", "line_number", "expected"),
    [
        ("", 0, "begins with 'transaction type:'"),
        ("progress: 1.0 s, 5.0 tps, lat 1.000 ms stddev 0.100, 0 failed", 0, "begins with 'transaction type:'"),
        (VERSION_11.replace("number of clients: 80", "number of clients: many"), 4, "'number of clients: 4'"),
        (VERSION_11.replace("number of clients: 80\n", ""), 0, "'number of clients: 4'"),
        (VERSION_11.replace("number of clients: 80", "number of clients: " + "9" * 5000), 4, "'number of clients: 4'"),
        (VERSION_11.replace("7448.431 ms", "7.448.431 ms"), 8, "'latency average = 1.826 ms'"),
        (VERSION_11.replace("excluding", "without"), 10, "(excluding connections establishing)"),
        (VERSION_11 + VERSION_11, 14, "one report only"),
        (VERSION_11[: VERSION_11.index("tps = ")], 0, "'tps = 2185.290015"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line_and_what_was_expected(
    text: str, line_number: int, expected: str
) -> None:
    with pytest.raises(UnreadableOutputError) as refused:
        parse_result(text)

    assert refused.value.line_number == line_number
    assert expected in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("name", sorted(path.name for path in CAPTURED.iterdir() if path.name not in WITH_REPORT))
def test_captured_output_without_a_report_is_refused(name: str) -> None:
    with pytest.raises(UnreadableOutputError):
        captured(name)


@pytest.mark.parametrize("name", WITH_REPORT)
def test_a_report_that_is_cut_anywhere_is_read_or_refused(name: str) -> None:
    text = (CAPTURED / name).read_text()

    for end in range(len(text)):
        try:
            parse_result(text[:end])
        except UnreadableOutputError as refused:
            assert refused.expected


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        # 15 and later
        (
            "progress: 1.0 s, 13417.9 tps, lat 0.283 ms stddev 0.517, 0 failed",
            Progress(1.0, False, 13417.9, 0.283, 0.517, failed=0),
        ),
        (
            "progress: 2.0 s, 101.0 tps, lat 1.809 ms stddev 1.043, 0 failed, lag 0.175 ms, 0 skipped",
            Progress(2.0, False, 101.0, 1.809, 1.043, failed=0, lag_ms=0.175, skipped=0),
        ),
        (
            "progress: 5.0 s, 90.0 tps, lat 8.100 ms stddev 2.200, 3 failed, lag 1.500 ms, 7 retried, 9 retries",
            Progress(5.0, False, 90.0, 8.1, 2.2, failed=3, lag_ms=1.5, retried=7, retries=9),
        ),
        # 11 to 14
        ("progress: 5.0 s, 1234.5 tps, lat 8.100 ms stddev 2.200", Progress(5.0, False, 1234.5, 8.1, 2.2)),
        (
            "progress: 5.0 s, 1234.5 tps, lat 8.100 ms stddev 2.200, lag 0.100 ms, 4 skipped",
            Progress(5.0, False, 1234.5, 8.1, 2.2, lag_ms=0.1, skipped=4),
        ),
        # --progress-timestamp
        (
            "progress: 1795195718.123 s, 10.0 tps, lat 1.000 ms stddev 0.500, 0 failed",
            Progress(1795195718.123, True, 10.0, 1.0, 0.5, failed=0),
        ),
        # Nothing ended in these seconds: no latency was measured.
        (
            "progress: 9.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed",
            Progress(9.0, False, 0.0, None, None, failed=0),
        ),
        (
            "progress: 9.0 s, 1.0 tps, lat 5.000 ms stddev -nan, 0 failed\r\n",
            Progress(9.0, False, 1.0, 5.0, None, failed=0),
        ),
    ],
)
def test_progress_is_read(line: str, progress: Progress) -> None:
    assert parse_progress(line) == progress


@pytest.mark.parametrize("line", ["", "pgbench (15.18)", "progress: 1.0 s, 13417.9 tps, la", "progress: nan s"])
def test_other_lines_are_no_progress(line: str) -> None:
    assert parse_progress(line) is None


@pytest.mark.parametrize("name", ["pgbench_sig_INT.err", "pgbench_sig_TERM.err", "pgbench_R_limit.stderr"])
def test_every_captured_line_of_progress_is_read(name: str) -> None:
    lines = [line for line in (CAPTURED / name).read_text().splitlines() if line.startswith("progress")]

    assert lines
    assert all(parse_progress(line) for line in lines)


LINES = sorted({line for text in ALL_TEXTS for line in text.splitlines()})


@given(st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=60)), max_size=40).map("\n".join) | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_result(text)
    except UnreadableOutputError as refused:
        assert refused.expected
    parse_progress(text)
