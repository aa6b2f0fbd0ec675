"""What sysbench is asked to do, and what is made of what it prints."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from apps.benchmarks.domain.endpoints import Endpoint, topology
from apps.benchmarks.domain.environment_words import NOT_PREPARED, UNPREPARED_AS_ASKED
from apps.benchmarks.domain.printed import UnreadableOutputError
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server, Topology
from apps.benchmarks.domain.workloads import WORKLOADS
from apps.benchmarks.drivers.driver import Account
from apps.benchmarks.drivers.sysbench import Sysbench

CAPTURED = Path(__file__).parents[1] / "captured" / "sysbench-1.0.20"
ACCOUNT = Account("app", "load me gently", "shop", "disable")
STANDBYS = tuple(Server(f"pg{number}", "127.0.0.1", 5000 + number) for number in (1, 2))


def wished(workload: str = "sysbench-read-only", **parameters: Any) -> Wish:
    """Three clients at two standbys."""
    chosen = WORKLOADS[workload]
    values = {name: one.default for name, one in chosen.parameters.items()} | parameters
    return Wish(chosen, Topology("standbys", "standbys", STANDBYS, takes_writes=False), 3, 3, 10, 0, values)


def words_of(wish: Wish, folder: Path, *, is_measured: bool = True) -> list[set[str]]:
    commands = Sysbench().load("sysbench", wish, ACCOUNT, duration_s=10, folder=folder, is_measured=is_measured)
    return [set(one.words) for one in commands]


def test_each_server_gets_a_sysbench_with_its_share_of_clients_and_throttle(tmp_path: Path) -> None:
    first, second = words_of(wished(throttle_per_s=10, skip_trx=True, tables=2, table_size=1000), tmp_path)

    assert {"oltp_read_only", "--threads=2", "--rate=7", "--pgsql-port=5001", "--skip-trx=on", "run"} <= first
    assert {"--threads=1", "--rate=3", "--pgsql-port=5002", "--tables=2", "--table-size=1000"} <= second
    assert {"--db-ps-mode=auto", "--report-interval=1", "--histogram=on", "--time=10"} <= first & second


@pytest.mark.parametrize(
    ("per_s", "rates"),
    [
        (10, [3, 4, 3]),  # thirds end at 3.3, 6.7 and 10; each rounded alone would make 9
        (200, [67, 66, 67]),
        (2, [1, 1, 1]),  # 0 would be none
    ],
)
def test_the_throttles_of_all_servers_make_the_one_asked_for(per_s: int, rates: list[int], tmp_path: Path) -> None:
    three = Topology("all", "all", (*STANDBYS, Server("pg3", "127.0.0.1", 5003)), takes_writes=False)

    words = words_of(replace(wished(throttle_per_s=per_s), topology=three), tmp_path)

    assert [next(word for word in one if word.startswith("--rate")) for one in words] == [f"--rate={n}" for n in rates]


def test_what_is_not_asked_for_is_not_done(tmp_path: Path) -> None:
    [first, _] = words_of(wished(prepared=False), tmp_path, is_measured=False)

    assert "--db-ps-mode=disable" in first
    assert not [word for word in first if word.startswith(("--rate", "--skip-trx", "--report", "--histogram"))]
    [slow, _] = words_of(wished(throttle_per_s=1), tmp_path)
    assert "--rate=1" in slow  # 2 / 3 of 1 would be no throttle


@pytest.mark.parametrize(
    ("kind", "asked", "mode", "said"),
    [
        ("pooler", None, "disable", [NOT_PREPARED]),
        ("pooler", True, "auto", []),  # a PgBouncer from 1.21 on, or one that pools sessions, can do that
        ("pooler", False, "disable", [UNPREPARED_AS_ASKED]),
        ("other", None, "auto", []),
        ("other", False, "disable", [UNPREPARED_AS_ASKED]),
    ],
)
def test_behind_a_pooler_statements_are_prepared_only_if_asked_for(
    kind: str, asked: bool | None, mode: str, said: list[str], tmp_path: Path
) -> None:
    reached = topology(Endpoint("bouncer-1", "10.0.0.5", 6432, kind, takes_writes=True))
    wish = replace(wished(prepared=asked), topology=reached)

    [words] = words_of(wish, tmp_path)

    assert f"--db-ps-mode={mode}" in words
    assert Sysbench().notes(wish)[1:] == said


def test_tables_are_dropped_before_they_are_made() -> None:
    commands = Sysbench().preparation("sysbench", wished("sysbench-point-select"), STANDBYS[0], ACCOUNT)

    assert [one.words[-1] for one in commands] == ["cleanup", "prepare"]
    assert all(one.words[1] == "oltp_point_select" for one in commands)


def test_its_report_and_its_histogram_are_read(tmp_path: Path) -> None:
    printed = (CAPTURED / "sysbench_ps_hist.txt").read_text()

    part = Sysbench().report(wished(), "pg1", printed, tmp_path)

    assert (part.report.tps, part.report.transactions, part.report.failed) == (10759.84, 32422, 0)
    assert (part.report.latency_ms, part.report.own["queries_per_s"]) == (0.37, 10759.84)
    assert part.latencies is not None
    assert part.latencies.count == 32422
    assert part.latencies.percentile_ms(99) == pytest.approx(2.48, rel=0.02)  # as it printed itself


def test_its_seconds_tell_no_mean_latency() -> None:
    lines = (CAPTURED / "sysbench_rw_ps_disable.txt").read_text().splitlines()

    seconds = [one for line in lines if (one := Sysbench().second(line)) is not None]

    assert [(one.at_s, one.tps, one.latency_ms, one.failed) for one in seconds[:2]] == [
        (1.0, 524.14, None, 1),
        (2.0, 434.11, None, 0),
    ]


def test_one_that_was_stopped_has_no_report(tmp_path: Path) -> None:
    printed = (CAPTURED / "sysbench_rw_ps_disable.txt").read_text().split("SQL statistics:", maxsplit=1)[0]

    with pytest.raises(UnreadableOutputError, match="whole report"):
        Sysbench().report(wished(), "pg1", printed, tmp_path)


def test_why_it_failed_is_told() -> None:
    refused = (
        'FATAL: Connection to database failed: connection to server at "127.0.0.1", port 30828 failed: FATAL:  '
        'password authentication failed for user "lifeguard"\n\nFATAL: Thread initialization failed!\n'
    )

    assert "does not let this role in" in Sysbench().failure(refused, 1)
    said = Sysbench().failure("sysbench 1.0.20\n\nFATAL: Cannot find benchmark 'oltp'\n", 1)
    assert said == "sysbench ended with status 1. It printed: FATAL: Cannot find benchmark 'oltp'"
    assert Sysbench().failure("", -9).endswith("It printed: nothing")


def test_prepared_statements_that_a_pooler_lost_are_told_with_what_mends_it() -> None:
    printed = (CAPTURED.with_name("pgbouncer-1.18") / "sysbench_prepared.txt").read_text()

    said = Sysbench().failure(printed, 1)

    assert said.startswith("The target hands the sessions of clients from one server connection to another")
    assert "leave prepared as usual and register the target as an endpoint of kind pooler" in said
    assert "protocol" not in said  # that is a parameter of pgbench


def test_a_crash_over_a_session_that_was_ended_is_told_with_what_ends_sessions() -> None:
    printed = (CAPTURED.with_name("pgbouncer-1.18") / "statement_sysbench.txt").read_text()

    said = Sysbench().failure(printed, -11)

    assert said.startswith(
        "sysbench crashed (SIGSEGV), as its version 1.0 does where a server ends one of its sessions."
    )
    assert "set pool_mode = transaction or session there" in said
    assert "crashed" not in Sysbench().failure(printed, -9)
