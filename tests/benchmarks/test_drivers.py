"""What drivers ask the worker to start, and what they make of what it printed."""

import json
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from apps.benchmarks.domain.endpoints import Endpoint, topology
from apps.benchmarks.domain.latency_histogram import counted
from apps.benchmarks.domain.own_program import latencies_text, line
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server, Topology
from apps.benchmarks.domain.workloads import WORKLOADS
from apps.benchmarks.drivers import known
from apps.benchmarks.drivers.driver import Account
from apps.benchmarks.drivers.own_program import LATENCIES, Order, OwnProgram
from apps.benchmarks.drivers.pgbench import Pgbench
from apps.benchmarks.drivers.pubsub.__main__ import main as messaging

CAPTURED = Path(__file__).parents[1] / "captured" / "pgbench-15"
ACCOUNT = Account("app", "load me gently", "shop", "disable")
PGPOOLS = tuple(Server(f"pgpool-{number}", "127.0.0.1", 9000 + number, is_pgpool=True) for number in (1, 2))


SCRIPTS = [
    {"name": "look", "sql": "\\set aid random(1, 100)\nSELECT :aid;\n", "weight": 3},
    {"name": "change", "sql": "UPDATE t SET a = 1;", "weight": 1},
]


def wished(workload: str = "pgbench-select-only", **parameters: Any) -> Wish:
    """Five clients at two pgpools, for a minute."""
    chosen = WORKLOADS[workload]
    values = {name: one.default for name, one in chosen.parameters.items()} | parameters
    if "scripts" in values:
        values["scripts"] = values["scripts"] or SCRIPTS
    return Wish(chosen, Topology("pgpools", "all pgpools", PGPOOLS, takes_writes=True), 5, 4, 60, 0, values)


def test_every_workload_has_a_driver() -> None:
    assert {one.driver for one in WORKLOADS.values()} <= set(known.DRIVERS)


def test_each_server_gets_a_pgbench_with_its_share_of_the_clients(tmp_path: Path) -> None:
    first, second = Pgbench().load("pgbench", wished(), ACCOUNT, duration_s=60, folder=tmp_path, is_measured=True)

    assert [first.name, second.name] == ["pgpool-1", "pgpool-2"]
    assert {"--client=3", "--port=9001", "--builtin=select-only", "--time=60", "--progress=1"} <= set(first.words)
    assert {"--client=2", "--port=9002"} <= set(second.words)
    assert not {word.split("=")[0] for word in first.words} & {"--connect", "--rate"}
    assert (first.directory, second.directory) == (tmp_path / "0", tmp_path / "1")
    assert first.environment["PGPASSWORD"] == ACCOUNT.password
    assert ACCOUNT.password not in " ".join([*first.words, *second.words])


def test_a_warm_up_logs_nothing(tmp_path: Path) -> None:
    [first, _] = Pgbench().load("pgbench", wished(), ACCOUNT, duration_s=5, folder=tmp_path, is_measured=False)

    assert first.directory is None
    assert not [word for word in first.words if word.startswith(("--log", "--progress"))]


def test_a_throttle_is_shared_like_the_clients_and_each_transaction_may_connect(tmp_path: Path) -> None:
    wish = wished(throttle_per_s=500, reconnect=True)

    found = Pgbench().load("pgbench", wish, ACCOUNT, duration_s=60, folder=tmp_path, is_measured=True)

    assert [next(word for word in one.words if word.startswith("--rate")) for one in found] == [
        "--rate=300",  # 500 x 3 / 5
        "--rate=200",
    ]
    assert all("--connect" in one.words for one in found)
    assert len(Pgbench().notes(wish)) == 2
    assert "83% of all" in Pgbench().notes(wished())[0]  # 2 million of 60 s x 40,000 per s


def test_figures_that_only_pgbench_has_are_kept(tmp_path: Path) -> None:
    throttled, reconnecting = ((CAPTURED / name).read_text() for name in ("pgbench_R_limit.stdout", "pgbench_C.txt"))
    (tmp_path / "transactions.1").write_text("0 1 1000 0 1700000000 0 25\n")  # the lag comes last

    part = Pgbench().report(wished(throttle_per_s=90), "pg1", throttled, tmp_path)

    assert part.report.own == {"schedule_lag_ms": 0.145, "schedule_lag_max_ms": 3.546}
    assert part.latencies is not None
    assert part.latencies.count == 1
    (tmp_path / "transactions.1").unlink()
    part = Pgbench().report(wished(reconnect=True), "pg1", reconnecting, tmp_path)
    assert (part.report.own, part.report.connect_ms) == ({"average_connection_ms": 15.366}, None)
    assert part.report.tps == 64.335590


def test_a_report_of_pgbench_is_told_in_the_shape_of_all_drivers(tmp_path: Path) -> None:
    printed = (CAPTURED / "pgbench_P1_r_merged.txt").read_text()
    (tmp_path / "transactions.1").write_text("0 1 1000 0 1700000000 0\n0 2 3000 0 1700000001 0\n")

    part = Pgbench().report(wished(), "pg1", printed, tmp_path)

    report = part.report
    seconds = [found for text in printed.splitlines() if (found := Pgbench().second(text)) is not None]
    assert f"number of transactions actually processed: {report.transactions}" in printed
    assert f"tps = {report.tps:.6f} (without initial connection time)" in printed
    assert f"initial connection time = {report.connect_ms:.3f} ms" in printed
    assert any("SELECT abalance" in one.text for one in report.statements)
    assert [one.at_s for one in seconds] == [float(number) for number in range(1, len(seconds) + 1)]
    assert part.latencies is not None
    assert part.latencies.buckets() == counted([1000, 3000]).buckets()


def test_prepared_statements_that_sessions_shared_are_a_finding(tmp_path: Path) -> None:
    printed = (CAPTURED / "pgbench_t200.txt").read_text()
    shared = (CAPTURED.with_name("pgbouncer-1.18") / "prepared_again.err").read_text().splitlines()[0]

    plain, found = (
        Pgbench().report(wished(protocol="prepared"), "bouncer-1", text, tmp_path).report
        for text in (printed, f"{shared}\n{shared}\n{printed}")
    )

    assert "findings" not in plain.own
    [finding] = found.own["findings"]
    assert (finding["check"], finding["ok"]) == ("shared_statements", False)
    assert finding["sentence"].startswith("bouncer-1 hands sessions from one server connection to another: 2 of their")


def test_figures_of_a_pgbench_that_some_clients_left_are_kept_with_the_reason() -> None:
    driver = Pgbench()
    killed = "".join((CAPTURED / f"pgbench_pgpool_killed.{stream}").read_text() for stream in ("out", "err"))
    none_done = (CAPTURED / "pgbench_readonly.txt").read_text().split("[exit=")[0]

    assert driver.gave_up(killed, 2).startswith("3 of 3 clients gave up before the end. The server closed connections")
    assert driver.gave_up(killed, 1) == ""
    assert driver.gave_up(none_done.split("\n", 1)[1], 2) == ""  # no transaction was done
    assert driver.gave_up("pgbench: error: nothing was reported", 2) == ""


def test_an_error_that_nobody_knows_is_told_as_it_was_printed() -> None:
    printed = (CAPTURED / "pgbench_pgpool_killed.out").read_text()
    complaint = "pgbench: error: client 1 script 0 aborted in command 2 query 0: ERROR:  division by zero\n"

    said = Pgbench().gave_up(complaint + printed, 2)

    assert said.startswith("1 of 3 clients gave up")
    assert "division by zero" in said


def test_a_program_of_lifeguard_says_itself_that_its_figures_are_partial() -> None:
    driver = OwnProgram("pubsub")
    failure = line("failure", {"reason": "Two readers lost their sessions.", "fix": "Look into the log."})
    partial = line("report", {"tps": 21.0, "transactions": 21, "is_partial": True})
    whole = line("report", {"tps": 21.0, "transactions": 21})

    assert driver.gave_up(f"{partial}\n{failure}\n", 1) == "Two readers lost their sessions. Look into the log."
    assert driver.gave_up(f"{whole}\n{failure}\n", 1) == ""
    assert driver.gave_up(failure, 1) == ""


def test_a_program_of_lifeguard_gets_its_share_and_its_server(tmp_path: Path) -> None:
    driver = OwnProgram("pubsub")

    first, second = driver.load(
        driver.find_program(), wished(), ACCOUNT, duration_s=60, folder=tmp_path, is_measured=True
    )

    assert list(second.words[:4]) == [sys.executable, "-m", "apps.benchmarks.drivers.pubsub", "load"]
    order = Order.parse(second.words[4])
    assert (order.clients, order.shares, order.position, order.duration_s) == (2, (3, 2), 1, 60)
    assert (order.parameters, order.folder) == (dict(wished().parameters), str(tmp_path / "1"))
    assert (second.environment["PGHOST"], second.environment["PGPORT"]) == ("127.0.0.1", "9002")
    assert second.environment["PGDATABASE"] == "shop"
    assert ACCOUNT.password not in " ".join(first.words)
    [prepare] = driver.preparation("python", wished(), PGPOOLS[0], ACCOUNT)
    assert prepare.words[3] == "prepare"
    assert json.loads(prepare.words[4])["folder"] is None


def test_a_program_of_lifeguard_is_found_from_its_folder(tmp_path: Path) -> None:
    (command, _) = OwnProgram("processes").load(
        sys.executable, wished(), ACCOUNT, duration_s=1, folder=tmp_path, is_measured=True
    )
    folder = tmp_path / "0"
    folder.mkdir()

    ended = subprocess.run(command.words, env=dict(command.environment), cwd=folder, capture_output=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, b"")  # a module that does nothing when it is run


def test_messaging_is_one_program_for_all_servers(tmp_path: Path) -> None:
    driver = known.driver_of(WORKLOADS["pubsub"])
    wish = wished("pubsub", groups=1, readers_per_group=1)

    [load] = driver.load("python", wish, ACCOUNT, duration_s=60, folder=tmp_path, is_measured=True)
    [warm_up] = driver.load("python", wish, ACCOUNT, duration_s=5, folder=tmp_path, is_measured=False)

    assert (load.name, load.directory) == ("pgpools", tmp_path / "0")
    assert list(load.words[5:9]) == ["--server", "127.0.0.1:9001", "--server", "127.0.0.1:9002"]
    order = Order.parse(load.words[4])
    assert (order.parameters["groups"], order.duration_s, order.folder) == (1, 60, str(tmp_path / "0"))
    assert (Order.parse(warm_up.words[4]).folder, warm_up.directory) == (None, None)
    assert "until a reader had it" in driver.notes(wish)[0]
    assert "until it was committed" in driver.notes(wished("pubsub", groups=0))[0]


def test_messaging_through_a_pooler_prepares_nothing_and_says_so(tmp_path: Path) -> None:
    driver = known.driver_of(WORKLOADS["pubsub"])
    pooler, other = (
        replace(wished("pubsub"), topology=topology(Endpoint("bouncer-1", "10.0.0.5", 6432, kind, takes_writes=True)))
        for kind in ("pooler", "other")
    )

    [through], [past] = (
        driver.load("python", wish, ACCOUNT, duration_s=60, folder=tmp_path, is_measured=True)
        for wish in (pooler, other)
    )

    assert ("--unprepared" in through.words, "--unprepared" in past.words) == (True, False)
    said = "statements are not prepared, since a pooler shares its server connections"
    assert driver.notes(pooler) == [*driver.notes(other), said]


def test_messaging_goes_to_an_address_of_ipv6(tmp_path: Path) -> None:
    nobody = topology(Endpoint("bouncer-1", "::1", 1, "pooler", takes_writes=True))
    wish = replace(wished("pubsub"), topology=nobody)
    driver = known.driver_of(wish.workload)
    [load] = driver.load(sys.executable, wish, ACCOUNT, duration_s=1, folder=tmp_path, is_measured=False)

    ended = subprocess.run(load.words, env=dict(load.environment), capture_output=True, text=True, check=False)

    assert list(load.words[5:7]) == ["--server", "[::1]:1"]
    said = driver.failure(ended.stdout, ended.returncode)
    assert said.startswith("[::1]:1: connection failed")
    assert '"::1", port 1 failed' in said


def test_what_a_server_refuses_messaging_comes_with_what_mends_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:  # and nobody listens
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("PGHOST", "127.0.0.1")
        monkeypatch.setenv("PGPORT", str(taken.getsockname()[1]))

        status = messaging(["prepare"])

    said = known.driver_of(WORKLOADS["pubsub"]).failure(capsys.readouterr().out, status)
    assert status == 1
    assert "onnection refused" in said
    assert said.endswith("Check host and port of the target, and that the server runs and listens there.")


def test_what_a_program_of_lifeguard_left_is_read(tmp_path: Path) -> None:
    driver = OwnProgram("pubsub")
    printed = line("second", {"at_s": 1, "tps": 21.0}) + "\n" + line("report", {"tps": 21.0, "transactions": 21}) + "\n"
    assert driver.report(wished(), "pg1", printed, tmp_path).latencies is None
    (tmp_path / LATENCIES).write_text(latencies_text(counted([500] * 21)))

    part = driver.report(wished(), "pg1", printed, tmp_path)

    assert (part.server, part.report.tps, part.report.transactions) == ("pg1", 21.0, 21)
    assert part.latencies is not None
    assert part.latencies.count == 21
    assert "ended with status 3" in driver.failure("", 3)


@pytest.mark.parametrize("key", list(WORKLOADS))
def test_no_driver_of_a_workload_puts_a_password_into_words(key: str, tmp_path: Path) -> None:
    wish = wished(key)
    driver = known.driver_of(wish.workload)
    if "scale" in wish.parameters:
        wish = wished(key, scale=1)
    commands = driver.preparation("program", wish, PGPOOLS[0], ACCOUNT)
    commands += driver.load("program", wish, ACCOUNT, duration_s=2, folder=tmp_path, is_measured=True)

    assert all(ACCOUNT.password not in " ".join(one.words) for one in commands)
    assert all(ACCOUNT.password in one.environment.values() for one in commands)
