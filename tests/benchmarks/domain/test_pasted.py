"""Pasted output of either tool, in one common shape, or refused with its line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.benchmarks.domain.pasted import MeasuredStatement, recognise
from apps.benchmarks.domain.pgbench_result import TpsMeaning
from apps.benchmarks.domain.printed import UnreadableOutputError

CAPTURED = Path(__file__).parents[2] / "captured"


def captured(name: str) -> str:
    return (CAPTURED / name).read_text()


def test_pgbench_is_recognised() -> None:
    measured = recognise(captured("pgbench-15/pgbench_P1_r_merged.txt"))

    assert (measured.tool, measured.version) == ("pgbench", "15.18")
    assert (measured.tps, measured.tps_meaning) == (15644.428368, TpsMeaning.WITHOUT_INITIAL_CONNECTIONS)
    assert (measured.latency_ms, measured.latency_stddev_ms, measured.latency_is_derived) == (0.251, 0.717, False)
    assert (measured.clients, measured.duration_s, measured.transactions, measured.failed) == (4, 4.0, 62280, 0)
    assert measured.statements[1] == MeasuredStatement("SELECT abalance FROM pgbench_accounts WHERE aid = :aid;", 0.25)
    assert not measured.partial


def test_the_rate_behind_a_derived_latency_holds_clients_over_latency() -> None:
    """80 / 10.740517 s = 7448.431 ms, with connections; 4 x 100 s / 1000 = 400 ms, with failures."""
    before_14 = recognise(
        "transaction type: a.sql\nnumber of clients: 80\nnumber of transactions actually processed: 6445\n"
        "latency average = 7448.431 ms\ntps = 10.740517 (including connections establishing)\n"
        "tps = 10.740645 (excluding connections establishing)\n"
    )
    with_failures = recognise(
        "transaction type: a.sql\nnumber of clients: 4\nduration: 100 s\n"
        "number of transactions actually processed: 900\nnumber of failed transactions: 100 (10.000%)\n"
        "latency average = 400.000 ms (including failures)\ntps = 9.000000 (without initial connection time)\n"
    )

    assert before_14.tps == 10.740645
    assert before_14.tps_behind_latency == 10.740517
    assert with_failures.tps_behind_latency == pytest.approx(10.0)  # 4 / 0.400 s


def test_of_several_scripts_no_statements_are_summed_up() -> None:
    measured = recognise(captured("pgbench-15/pgbench_multi_script.stdout"))

    assert (measured.scripts, measured.statements, measured.latency_is_derived) == (2, (), True)


def test_sysbench_is_recognised() -> None:
    measured = recognise(captured("sysbench-1.0.20/sysbench_rw_ps_auto.txt"))

    assert (measured.tool, measured.version, measured.clients) == ("sysbench", "1.0.20", 4)
    assert (measured.tps, measured.latency_ms, measured.percentile_ms(95)) == (368.38, 10.83, 24.38)
    assert (measured.duration_s, measured.transactions, measured.failed) == (4.0137, 1479, 1)
    assert measured.percentile_ms(99) is None


def test_the_duration_of_a_number_of_transactions_follows_from_the_rate() -> None:
    text = captured("pgbench-15/pgbench_sig_INT.out").replace(
        "duration: 20 s", "number of transactions per client: 136573"
    )

    measured = recognise(text)

    assert measured.duration_s == pytest.approx(273147 / 13664.828077)


def test_a_pgbench_that_was_killed_is_partial_and_read_from_its_progress() -> None:
    measured = recognise(captured("pgbench-15/pgbench_sig_KILL.err"))

    # 13977.2 and 13024.4 tps of one second each; latencies by the transactions of each second.
    assert measured.partial
    assert measured.tps == pytest.approx((13977.2 + 13024.4) / 2)
    assert measured.latency_ms == pytest.approx((13977.2 * 0.138 + 13024.4 * 0.150) / (13977.2 + 13024.4))
    assert (measured.duration_s, measured.failed, measured.clients, measured.tps_meaning) == (2.0, 0, None, None)


def test_timestamps_tell_their_seconds_by_the_line_after() -> None:
    measured = recognise(
        "progress: 1000.000 s, 10.0 tps, lat 1.000 ms stddev 0.100, 0 failed\n"
        "progress: 1005.000 s, 30.0 tps, lat 3.000 ms stddev 0.100, 1 failed\n"
    )

    # 5 s of 10 tps and 5 s of 30 tps; 1 ms x 50 and 3 ms x 150 transactions.
    assert (measured.tps, measured.duration_s, measured.failed) == (20.0, 10.0, 1)
    assert measured.latency_ms == pytest.approx(2.5)


def test_a_sysbench_that_was_stopped_is_partial_and_read_from_its_lines() -> None:
    text = captured("sysbench-1.0.20/sysbench_sigint.txt")

    measured = recognise(text[: text.index("[ 3s ]")])

    assert measured.partial
    assert measured.tps == pytest.approx((344.28 + 516.27) / 2)
    assert (measured.clients, measured.duration_s, measured.latency_ms) == (2, 2.0, None)


@pytest.mark.parametrize(
    ("text", "line_number", "told"),
    [
        ("", 1, "what pgbench prints at the end of a run"),
        ("\n\nDear colleague,\nit was fast.", 3, "'transaction type:'"),
        ("tps = 9.54162 (excluding connections establishing)", 1, "'transaction type:'"),
        (captured("pgbench-15/pgbench_nodb.txt"), 1, "nosuchdb"),
        ("FATAL: unable to connect to PostgreSQL server", 1, "this run failed: FATAL: unable"),
        (captured("sysbench-1.0.20/sysbench_prepare.txt"), 1, "'SQL statistics:'"),
        (
            captured("pgbench-15/pgbench_tpcb.stdout") + captured("sysbench-1.0.20/sysbench_ro_ps_auto.txt"),
            44,  # 26 lines of pgbench, and line 18 of sysbench
            "the output of one tool",
        ),
    ],
)
def test_what_is_neither_is_refused_with_a_line_and_what_was_expected(text: str, line_number: int, told: str) -> None:
    with pytest.raises(UnreadableOutputError) as refused:
        recognise(text)

    assert refused.value.line_number == line_number
    assert told in str(refused.value)


REPORTS = ["pgbench-15/pgbench_P1_r_merged.txt", "sysbench-1.0.20/sysbench_rw_ps_auto.txt"]
LINES = sorted(
    {line for name in REPORTS for line in captured(name).splitlines()} | {"FATAL: gone", "pgbench: error: x"}
)


@given(st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=60)), max_size=40).map("\n".join) | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        recognise(text)
    except UnreadableOutputError as refused:
        assert refused.expected
