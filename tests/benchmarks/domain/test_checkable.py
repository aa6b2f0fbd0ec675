"""Measured and imported results, held against the sanity checks: published slips are found, and nothing else."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.benchmarks.domain.checkable import figures_of_imported, figures_of_measured
from apps.benchmarks.domain.pasted import recognise
from apps.benchmarks.domain.pgbench_result import TpsMeaning
from apps.benchmarks.domain.printed import UnreadableOutputError
from apps.benchmarks.domain.published_examples import published
from apps.benchmarks.domain.sanity import check_run

CAPTURED = Path(__file__).parents[2] / "captured"


def objections_to_published() -> set[tuple[str, str, str]]:
    return {
        (document.name, result.name, finding.check)
        for document in published().values()
        for result in document.results
        if (run := figures_of_imported(document, result)) is not None
        for finding in check_run(run)[0]
        if not finding.ok
    }


def checks_of(text: str) -> dict[str, bool]:
    run = figures_of_measured(recognise(text))
    assert run is not None
    return {finding.check: finding.ok for finding in check_run(run)[0]}


def test_of_all_published_figures_those_that_cannot_be_are_found() -> None:
    """A lost digit; statements of another run; a throttle that was taken for a rate."""
    assert objections_to_published() == {
        ("pgpool_kubernetes", "one pgpool", "littles_law"),
        ("pgpool_kubernetes", "three pgpools", "statement_sum"),
        ("tri_node_messaging", "writes", "throttle_bound"),
    }


def test_what_has_no_figure_of_a_run_is_not_checked() -> None:
    document = published()["tri_node_messaging"]

    price = document.result("price, all")

    assert price is not None
    assert figures_of_imported(document, price) is None


@pytest.mark.parametrize(
    "name",
    [
        "pgbench-15/pgbench_C.txt",
        "pgbench-15/pgbench_P1_r_merged.txt",
        "pgbench-15/pgbench_serializable.txt",
        "pgbench-15/pgbench_multi_script.stdout",
        "pgbench-15/pgbench_pgpool_killed.out",
        "pgbench-15/pgbench_sig_INT.out",
        "pgbench-15/pgbench_tpcb.stdout",
        "sysbench-1.0.20/sysbench_ro_ps_auto.txt",
        "sysbench-1.0.20/sysbench_rw_ps_disable.txt",
    ],
)
def test_captured_runs_keep_littles_law_and_are_short(name: str) -> None:
    checks = checks_of((CAPTURED / name).read_text())

    assert checks["littles_law"]
    assert not checks["too_short"]
    assert checks.get("statement_sum", True)


def test_clients_that_wait_for_their_turn_say_nothing_of_the_rate() -> None:
    """pgbench does not print the rate of -R: 4 clients at 1.760 ms would make 2,272 tps, and it was to be 90."""
    measured = recognise((CAPTURED / "pgbench-15" / "pgbench_R_limit.stdout").read_text())
    run = figures_of_measured(measured)

    assert measured.throttled
    assert run is not None
    assert "littles_law" not in {finding.check for finding in check_run(run)[0]}


def test_clients_that_connect_anew_wait_outside_of_a_measured_latency() -> None:
    text = (CAPTURED / "pgbench-15" / "pgbench_tpcb.stdout").read_text()
    reconnecting = text.replace("(without initial connection time)", "(including reconnection times)")

    measured = recognise(reconnecting)
    run = figures_of_measured(measured)

    assert measured.tps_meaning == TpsMeaning.INCLUDING_RECONNECTIONS
    assert run is not None
    assert run.clients is None
    assert checks_of(text)["littles_law"]


def test_a_run_in_which_nothing_was_done_has_little_to_check() -> None:
    run = figures_of_measured(
        recognise(
            "transaction type: a.sql\nnumber of clients: 80\nduration: 60 s\n"
            "number of transactions actually processed: 0\n"
        )
    )

    assert run is not None
    assert (run.tps, run.latency_ms) == (None, None)


REPORTS = ["pgbench-15/pgbench_P1_r_merged.txt", "sysbench-1.0.20/sysbench_rw_ps_auto.txt"]
LINES = sorted({line for name in REPORTS for line in (CAPTURED / name).read_text().splitlines()})
DIGITS = st.from_regex(r"number of (clients|transactions actually processed): \d{1,18}|tps = \d{1,18}\.\d{6} "
                       r"\(without initial connection time\)|duration: \d{1,18} s", fullmatch=True)  # fmt: skip


@given(st.lists(st.sampled_from(LINES) | DIGITS, max_size=30).map("\n".join))
def test_whatever_was_recognised_can_be_checked(text: str) -> None:
    try:
        measured = recognise("transaction type: a.sql\nnumber of clients: 4\n" + text)
    except UnreadableOutputError:
        return
    run = figures_of_measured(measured)
    if run is not None:
        check_run(run)
