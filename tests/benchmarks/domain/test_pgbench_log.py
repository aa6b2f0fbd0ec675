"""Files of pgbench -l, and the percentiles that come from them."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.benchmarks.domain.latency_histogram import LatencyHistogram, counted
from apps.benchmarks.domain.pgbench_log import (
    LoggedInterval,
    LoggedTransaction,
    Outcome,
    read_intervals,
    read_latencies,
    read_latencies_by_script,
    read_transactions,
)
from apps.benchmarks.domain.printed import UnreadableOutputError

CAPTURED = Path(__file__).parents[2] / "captured" / "pgbench-15" / "pgbench_log_files.txt"


def captured(name: str) -> list[str]:
    """The lines of one of the files that were put together under headings."""
    lines = CAPTURED.read_text().splitlines(keepends=True)
    begins = next(at for at, line in enumerate(lines) if line.startswith(f"== {name} ")) + 1
    ends = next((at for at in range(begins, len(lines)) if lines[at].startswith("==")), len(lines))
    return lines[begins:ends]


def test_lines_of_transactions_are_read() -> None:
    first, *others = read_transactions(captured("tx.31709"))

    assert first == LoggedTransaction(0, 1, Outcome.DONE, 2127, 0, 1795195720_280620)
    assert len(others) == 5


def test_latencies_are_those_of_the_transactions() -> None:
    lines = captured("tx.31709")

    histogram = read_latencies(lines)

    assert histogram.count == 6
    took = [one.latency_us for one in read_transactions(lines) if one.latency_us is not None]
    assert histogram.mean_ms == pytest.approx(sum(took) / 6000)


def test_a_throttled_run_has_its_lag_in_every_line() -> None:
    first, *_ = read_transactions(captured("rate.31726"), throttled=True)

    assert (first.latency_us, first.schedule_lag_us, first.retries) == (2035, 79, None)


def test_captured_lines_of_a_run_that_tries_again_are_read() -> None:
    lines = (CAPTURED.parent / "pgbench_log_retried.txt").read_text().splitlines(keepends=True)

    first, second, *_ = read_transactions(lines, throttled=True, retrying=True)

    assert (first.outcome, first.latency_us, first.schedule_lag_us, first.retries) == (Outcome.DONE, 7577, 39, 0)
    assert (second.outcome, second.latency_us) == (Outcome.SERIALIZATION, None)


def test_sampled_lines_are_lines_like_others() -> None:
    histogram = read_latencies(captured("samp.31716"))

    # 326, 374, 145, 133, 138, 154: the third of six is 145.
    assert histogram.count == 6
    assert histogram.percentile_ms(50) == 0.145
    assert (histogram.min_ms, histogram.max_ms) == (0.133, 0.374)


def test_lines_of_intervals_are_read() -> None:
    first, *_ = read_intervals(captured("agg.31672"))

    assert (first.start_s, first.transactions, first.latency_min_us, first.latency_max_us) == (
        1795195717,
        8576,
        50,
        5772,
    )
    assert (first.skipped, first.deadlock_failures, first.other_failures) == (0, 0, None)
    assert first.latency_ms == pytest.approx(738740 / 8576 / 1000)
    mean = 738740 / 8576
    assert first.latency_stddev_ms == pytest.approx(math.sqrt(193923858 / 8576 - mean * mean) / 1000)


@pytest.mark.parametrize(
    ("line", "interval"),
    [
        # 11 to 14: plain, with -R, and with -R and -L
        ("100 2 30 500 10 20\n", LoggedInterval(100, 2, 30, 500, 10, 20)),
        ("100 2 30 500 10 20 4 8 1 3\n", LoggedInterval(100, 2, 30, 500, 10, 20, 4, 8, 1, 3)),
        ("100 2 30 500 10 20 4 8 1 3 7\n", LoggedInterval(100, 2, 30, 500, 10, 20, 4, 8, 1, 3, 7)),
        (
            "100 2 30 500 10 20 4 8 1 3 7 1 2 3 4 5\n",
            LoggedInterval(100, 2, 30, 500, 10, 20, 4, 8, 1, 3, 7, 1, 2, 3, 4, 5),
        ),
    ],
)
def test_intervals_of_other_versions_are_read(line: str, interval: LoggedInterval) -> None:
    assert list(read_intervals([line])) == [interval]


def test_an_interval_in_which_nothing_ended_has_no_latency() -> None:
    (interval,) = read_intervals(["100 0 0 0 0 0\n"])

    assert (interval.latency_ms, interval.latency_stddev_ms) == (None, None)


@pytest.mark.parametrize(
    ("line", "throttled", "retrying", "transaction"),
    [
        (
            "3 7 skipped 1 100 5 250\n",
            True,
            False,
            LoggedTransaction(3, 7, Outcome.SKIPPED, None, 1, 100_000005, schedule_lag_us=250),
        ),
        ("3 7 failed 1 100 5\n", False, False, LoggedTransaction(3, 7, Outcome.FAILED, None, 1, 100_000005)),
        (
            "3 7 deadlock 1 100 5 2\n",
            False,
            True,
            LoggedTransaction(3, 7, Outcome.DEADLOCK, None, 1, 100_000005, retries=2),
        ),
        (
            "3 7 900 1 100 5 250 2\n",
            True,
            True,
            LoggedTransaction(3, 7, Outcome.DONE, 900, 1, 100_000005, schedule_lag_us=250, retries=2),
        ),
    ],
)
def test_what_was_not_done_has_no_latency_and_a_reason(
    line: str, throttled: bool, retrying: bool, transaction: LoggedTransaction
) -> None:
    assert list(read_transactions([line], throttled=throttled, retrying=retrying)) == [transaction]
    histogram = read_latencies([line], throttled=throttled, retrying=retrying)
    assert histogram.count == (transaction.outcome == Outcome.DONE)


def test_a_last_line_without_an_end_was_cut_and_does_not_count() -> None:
    whole, cut = "0 1 2127 0 100 5\n", "0 2 21"

    assert len(list(read_transactions([whole, cut]))) == 1
    assert len(list(read_intervals(["100 2 30 500 10 20\n", "101 2 30"]))) == 1


@pytest.mark.parametrize(
    "line", ["0 1 2127 0 100\n", "0 1 done 0 100 5\n", "0 1 soon 0 100 5\n", "0 1 -5 0 100 5\n", "a b c d e f\n"]
)
def test_a_line_of_another_form_is_refused_with_its_number(line: str) -> None:
    with pytest.raises(UnreadableOutputError) as refused:
        list(read_transactions(["0 1 2127 0 100 5\n", line]))

    assert refused.value.line_number == 2
    assert "6 columns: client, number, took" in str(refused.value)


def test_columns_that_the_options_do_not_bring_are_refused() -> None:
    """The seventh column would be a lag or a number of tries: only the options tell which."""
    with pytest.raises(UnreadableOutputError):
        list(read_transactions(captured("rate.31726")))


@given(st.lists(st.text(max_size=40).map(lambda text: text + "\n") | st.text(max_size=40), max_size=5))
def test_any_lines_are_read_or_refused(lines: list[str]) -> None:
    for read in (
        lambda: list(read_transactions(lines)),
        lambda: read_latencies(lines),
        lambda: list(read_intervals(lines)),
    ):
        try:
            read()
        except UnreadableOutputError as refused:
            assert refused.expected


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=200), st.sampled_from([1, 50, 90, 95, 99, 99.9, 100]))
def test_percentiles_are_those_of_all_latencies_within_half_a_thousandth(values: list[int], percent: float) -> None:
    exact = sorted(values)[max(1, math.ceil(percent * len(values) / 100 - 1e-9)) - 1] / 1000

    measured = counted(values).percentile_ms(percent)

    assert measured == pytest.approx(exact, rel=0.0005)


@given(st.lists(st.integers(0, 10**9)), st.lists(st.integers(0, 10**9)))
def test_histograms_added_are_one_of_everything(some: list[int], others: list[int]) -> None:
    together = counted(some)
    together.add(counted(others))
    at_once = counted(some + others)

    assert together.buckets() == at_once.buckets()
    assert (together.count, together.mean_ms) == (at_once.count, at_once.mean_ms)
    assert (together.min_ms, together.max_ms) == (at_once.min_ms, at_once.max_ms)


def test_an_empty_histogram_has_no_figures() -> None:
    histogram = LatencyHistogram()

    assert (histogram.mean_ms, histogram.percentile_ms(99), histogram.min_ms) == (None, None, None)


def test_what_is_no_latency_is_not_counted() -> None:
    with pytest.raises(ValueError, match="-1 us"):
        LatencyHistogram().record(-1)
    with pytest.raises(ValueError, match="no percentile"):
        LatencyHistogram().percentile_ms(0)


def test_latencies_are_told_apart_by_script() -> None:
    lines = ["0 1 100 0 1700000000 0\n", "0 2 300 1 1700000000 9\n", "0 3 500 1 1700000001 0\n"]

    found = read_latencies_by_script(lines)

    assert {script: (one.count, one.mean_ms) for script, one in found.items()} == {0: (1, 0.1), 1: (2, 0.4)}
