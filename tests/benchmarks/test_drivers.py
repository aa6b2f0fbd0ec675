"""What drivers ask the worker to start, and what they make of what it printed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from apps.benchmarks.domain.latency_histogram import counted
from apps.benchmarks.domain.own_program import latencies_text, line
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server, Topology
from apps.benchmarks.domain.workloads import WORKLOADS
from apps.benchmarks.drivers import known
from apps.benchmarks.drivers.driver import Account
from apps.benchmarks.drivers.own_program import LATENCIES, Order, OwnProgram
from apps.benchmarks.drivers.pgbench import Pgbench

CAPTURED = Path(__file__).parents[1] / "captured" / "pgbench-15"
ACCOUNT = Account("app", "load me gently", "shop", "disable")
PGPOOLS = tuple(Server(f"pgpool-{number}", "127.0.0.1", 9000 + number, is_pgpool=True) for number in (1, 2))


def wished(workload: str = "pgbench-select-only") -> Wish:
    chosen = WORKLOADS[workload]
    defaults = {name: one.default for name, one in chosen.parameters.items()}
    return Wish(chosen, Topology("pgpools", "all pgpools", PGPOOLS, takes_writes=True), 5, 4, 60, 0, defaults)


def test_every_workload_has_a_driver() -> None:
    assert {one.driver for one in WORKLOADS.values()} <= set(known.DRIVERS)


def test_each_server_gets_a_pgbench_with_its_share_of_the_clients(tmp_path: Path) -> None:
    first, second = Pgbench().load("pgbench", wished(), ACCOUNT, duration_s=60, directory=tmp_path)

    assert [first.name, second.name] == ["pgpool-1", "pgpool-2"]
    assert {"--client=3", "--port=9001", "--builtin=select-only", "--time=60", "--progress=1"} <= set(first.words)
    assert {"--client=2", "--port=9002"} <= set(second.words)
    assert (first.directory, second.directory) == (tmp_path / "0", tmp_path / "1")
    assert first.environment["PGPASSWORD"] == ACCOUNT.password
    assert ACCOUNT.password not in " ".join([*first.words, *second.words])


def test_a_warm_up_logs_nothing() -> None:
    [first, _] = Pgbench().load("pgbench", wished(), ACCOUNT, duration_s=5, directory=None)

    assert first.directory is None
    assert not [word for word in first.words if word.startswith(("--log", "--progress"))]


def test_a_report_of_pgbench_is_told_in_the_shape_of_all_drivers(tmp_path: Path) -> None:
    printed = (CAPTURED / "pgbench_P1_r_merged.txt").read_text()
    (tmp_path / "transactions.1").write_text("0 1 1000 0 1700000000 0\n0 2 3000 0 1700000001 0\n")

    report, latencies = Pgbench().report(printed, tmp_path)

    seconds = [found for text in printed.splitlines() if (found := Pgbench().second(text)) is not None]
    assert f"number of transactions actually processed: {report.transactions}" in printed
    assert f"tps = {report.tps:.6f} (without initial connection time)" in printed
    assert f"initial connection time = {report.connect_ms:.3f} ms" in printed
    assert any("SELECT abalance" in one.text for one in report.statements)
    assert [one.at_s for one in seconds] == [float(number) for number in range(1, len(seconds) + 1)]
    assert latencies.buckets() == counted([1000, 3000]).buckets()


def test_a_program_of_lifeguard_gets_its_share_and_its_server(tmp_path: Path) -> None:
    driver = OwnProgram("pubsub")

    first, second = driver.load(driver.find_program(), wished(), ACCOUNT, duration_s=60, directory=tmp_path)

    assert list(second.words[:4]) == [sys.executable, "-m", "apps.benchmarks.drivers.pubsub", "load"]
    order = Order.parse(second.words[4])
    assert (order.clients, order.shares, order.position, order.duration_s) == (2, (3, 2), 1, 60)
    assert (order.parameters, order.folder) == ({"scale": 10}, str(tmp_path / "1"))
    assert (second.environment["PGHOST"], second.environment["PGPORT"]) == ("127.0.0.1", "9002")
    assert second.environment["PGDATABASE"] == "shop"
    assert ACCOUNT.password not in " ".join(first.words)
    [prepare] = driver.preparation("python", wished(), PGPOOLS[0], ACCOUNT)
    assert prepare.words[3] == "prepare"
    assert json.loads(prepare.words[4])["folder"] is None


def test_a_program_of_lifeguard_is_found_from_its_folder(tmp_path: Path) -> None:
    (command, _) = OwnProgram("processes").load(sys.executable, wished(), ACCOUNT, duration_s=1, directory=tmp_path)
    folder = tmp_path / "0"
    folder.mkdir()

    ended = subprocess.run(command.words, env=dict(command.environment), cwd=folder, capture_output=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, b"")  # a module that does nothing when it is run


def test_what_a_program_of_lifeguard_left_is_read(tmp_path: Path) -> None:
    driver = OwnProgram("pubsub")
    printed = line("second", {"at_s": 1, "tps": 21.0}) + "\n" + line("report", {"tps": 21.0, "transactions": 21}) + "\n"
    assert driver.report(printed, tmp_path)[1] is None
    (tmp_path / LATENCIES).write_text(latencies_text(counted([500] * 21)))

    report, latencies = driver.report(printed, tmp_path)

    assert (report.tps, report.transactions) == (21.0, 21)
    assert latencies is not None
    assert latencies.count == 21
    assert "ended with status 3" in driver.failure("", 3)


@pytest.mark.parametrize("key", list(WORKLOADS))
def test_no_driver_of_a_workload_puts_a_password_into_words(key: str, tmp_path: Path) -> None:
    wish = wished(key)
    driver = known.driver_of(wish.workload)
    commands = driver.preparation("program", wish, PGPOOLS[0], ACCOUNT)
    commands += driver.load("program", wish, ACCOUNT, duration_s=2, directory=tmp_path)

    assert all(ACCOUNT.password not in " ".join(one.words) for one in commands)
    assert all(ACCOUNT.password in one.environment.values() for one in commands)
