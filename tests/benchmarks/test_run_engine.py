"""One attempt of a run with a load that is told what to print: what the engine makes of it, whatever makes the load."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from apps.benchmarks.control import run_engine
from apps.benchmarks.domain.own_program import line
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.domain.workloads import WORKLOADS
from apps.benchmarks.drivers import known
from apps.benchmarks.drivers.driver import Account, CannotPrepare, ProgramMissing, Standing, environment
from apps.benchmarks.drivers.own_program import OwnProgram
from apps.benchmarks.drivers.pgbench import Pgbench
from apps.benchmarks.drivers.processes import Command
from apps.benchmarks.drivers.sysbench import Sysbench
from apps.benchmarks.models import BenchmarkAccess, BenchmarkRun
from apps.clusters.models import Cluster

pytestmark = pytest.mark.django_db

TABLES = "pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history, sbtest1, sbtest2"

SECOND = line("second", {"at_s": 1, "tps": 100.0, "latency_ms": 2.0, "failed": 0})
REPORT = line("report", {"tps": 99.5, "transactions": 199, "failed": 0, "latency_ms": 2.0})
FAILURE = line("failure", {"reason": "There is no table q.", "fix": "Prepare it."})


class Recited(OwnProgram):
    """A load that prints what it is told, and ends with a status."""

    def __init__(self, *lines: str, status: int = 0) -> None:
        super().__init__("recited")
        self._program = f"import sys; print({chr(10).join(lines)!r}); sys.exit({status})"
        self.prepared = 0
        self.is_ready = True
        self.broken: list[RunFinding] = []
        self.refuses = ""
        self.is_stopped_meanwhile = False

    def look(self, wish: Wish, primary: Server, account: Account) -> Standing:
        return Standing(self.is_ready, ())

    def preparation(self, program: str, wish: Wish, primary: Server, account: Account) -> list[Command]:
        self.prepared += 1
        return [Command("preparation", [program, "-c", "print('made')"], environment(account))]

    def load(
        self, program: str, wish: Wish, account: Account, *, duration_s: int, folder: Path, is_measured: bool
    ) -> list[Command]:
        own = folder / "0" if is_measured else None
        return [Command("pg1", [program, "-c", self._program], environment(account), own)]

    def check_data(
        self, wish: Wish, primary: Server, account: Account, *, watch: Callable[[], None]
    ) -> list[RunFinding]:
        if self.is_stopped_meanwhile:
            BenchmarkRun.objects.update(is_stop_requested=True, stop_reason="stopped by Ann")
            for _ in range(200):  # it looks once a second
                watch()
                time.sleep(0.1)
        if self.refuses:
            raise CannotPrepare(self.refuses)
        return self.broken


@pytest.fixture
def carried_out(primary: Cluster, monkeypatch: pytest.MonkeyPatch) -> Callable[..., BenchmarkRun]:
    def carry_out(driver: OwnProgram | Pgbench, topology: str = "primary", **parameters: Any) -> BenchmarkRun:
        monkeypatch.setitem(cast("dict[str, Any]", known.DRIVERS), "pgbench", driver)
        run = BenchmarkRun.objects.create(
            cluster=primary, workload="pgbench-select-only", topology=topology, clients=1, threads=1, duration_s=1,
            parameters=parameters, requested_by_name="Ann",
        )  # fmt: skip
        run_engine.carry_out(run_id=run.pk, holder="test", clock=timezone.now)
        run.refresh_from_db()
        return run

    return carry_out


def test_what_a_load_tells_is_kept_with_what_holds_of_its_data(carried_out: Callable[..., BenchmarkRun]) -> None:
    driver = Recited(SECOND, "for people", REPORT)
    driver.broken = [{"check": "consistency_1", "ok": False, "sentence": "Warehouse 3 is off by 7."}]

    run = carried_out(driver)

    assert (run.state, run.error, run.tps, run.is_partial) == ("done", "", 99.5, False)
    assert (run.result["transactions"], run.result["failed"]) == (199, 0)
    assert [(one.at_s, one.tps) for one in run.samples.all()] == [(1.0, 100.0)]
    assert driver.broken[0] in run.findings
    assert (driver.prepared, run.environment["course"]) == (0, [])
    assert run.environment["client"]["program"].startswith("apps.benchmarks.drivers.recited on Python")
    assert "for people" in run.outputs.get(name="pg1").output


class ReadOnly(Recited):
    """It tells what its sessions begin with; those of its own are read-only."""

    def load(
        self, program: str, wish: Wish, account: Account, *, duration_s: int, folder: Path, is_measured: bool
    ) -> list[Command]:
        telling = f"import os; print(os.environ.get('PGOPTIONS')); {self._program}"
        own = {**environment(account), "PGOPTIONS": "-c default_transaction_read_only=on"}
        return [Command("pg1", [program, "-c", telling], own, folder / "0" if is_measured else None)]


def test_sessions_of_a_level_of_commit_begin_with_it_beside_what_the_driver_asks_for(
    carried_out: Callable[..., BenchmarkRun],
) -> None:
    plain = carried_out(ReadOnly(REPORT))
    chosen = carried_out(ReadOnly(REPORT), topology="commit:remote_write")

    said = [one.outputs.get(name="pg1").output.splitlines()[0] for one in (plain, chosen)]
    alone = "-c default_transaction_read_only=on"
    assert said == [alone, f"{alone} -c synchronous_commit=remote_write"]
    assert chosen.environment["topology"]["label"] == "primary direct, synchronous_commit = remote_write"


def test_the_replication_that_a_run_was_measured_under_is_kept(carried_out: Callable[..., BenchmarkRun]) -> None:
    plain = carried_out(Recited(REPORT))
    chosen = carried_out(Recited(REPORT), topology="commit:remote_write")

    kept = chosen.environment["replication"]
    assert (kept["mode"], kept["standbys"], kept["synchronous_standby_names"]) == ("no standby", [], "")
    assert kept["synchronous_commit"] == "remote_write"
    assert plain.environment["replication"]["synchronous_commit"] != "remote_write"
    assert chosen.environment["replication_after"] == kept
    assert "commit_level" not in {one["check"] for one in plain.findings}
    [found] = [one for one in chosen.findings if one["check"] == "commit_level"]
    assert "only reads" in found["sentence"]


def test_data_is_made_where_it_is_missing_or_asked_for_anew(carried_out: Callable[..., BenchmarkRun]) -> None:
    missing, standing = Recited(REPORT), Recited(REPORT)
    missing.is_ready = False

    first = carried_out(missing)
    second = carried_out(standing, reseed=True)

    assert (first.state, missing.prepared, second.state, standing.prepared) == ("done", 1, "done", 1)
    assert first.outputs.get(name="preparation").output == "made\n"


def test_data_that_cannot_be_looked_at_afterwards_costs_no_figures(carried_out: Callable[..., BenchmarkRun]) -> None:
    driver = Recited(REPORT)
    driver.refuses = "pg1: the database system is shutting down"

    run = carried_out(driver)

    assert (run.state, run.tps) == ("done", 99.5)
    [finding] = [one for one in run.findings if one["check"] == "data_checked"]
    assert finding["ok"] is False
    assert "shutting down" in finding["sentence"]


def test_one_that_is_stopped_while_its_data_is_checked_keeps_its_figures(
    carried_out: Callable[..., BenchmarkRun],
) -> None:
    driver = Recited(REPORT)
    driver.is_stopped_meanwhile = True

    run = carried_out(driver)

    assert (run.state, run.tps, run.is_partial) == ("done", 99.5, False)
    [finding] = [one for one in run.findings if one["check"] == "data_checked"]
    assert (finding["ok"], finding["sentence"]) == (False, "Its data was not checked: stopped by Ann")


def test_a_load_that_fails_says_why(carried_out: Callable[..., BenchmarkRun]) -> None:
    run = carried_out(Recited(SECOND, FAILURE, status=3))

    assert (run.state, run.is_partial, run.tps) == ("failed", True, None)
    assert run.error == "pg1: There is no table q. Prepare it."
    assert run.outputs.get(name="pg1").exit_code == 3


def test_figures_of_a_load_that_went_on_in_part_are_kept(carried_out: Callable[..., BenchmarkRun]) -> None:
    partial = line("report", {"tps": 50.0, "transactions": 100, "is_partial": True})

    run = carried_out(Recited(SECOND, partial, FAILURE, status=3))

    assert (run.state, run.is_partial, run.tps, run.error) == ("done", True, 50.0, "")
    [finding] = [one for one in run.findings if one["check"] == "clients_gave_up"]
    assert finding["sentence"].startswith("pg1: There is no table q.")


def test_a_load_without_a_report_has_no_figures(carried_out: Callable[..., BenchmarkRun]) -> None:
    run = carried_out(Recited(SECOND))

    assert (run.state, run.is_partial) == ("failed", True)
    assert run.error.startswith("pg1: what it printed cannot be read.")


@pytest.mark.parametrize(
    ("place", "database", "said", "mends"),
    [
        ({}, "nowhere", 'database "nowhere" does not exist.', "Name another database, or create it"),
        ({"port": 1}, None, "Connection refused", "Check host and port of the target"),
        ({"hostname": "no-such-host.invalid"}, None, "failed to resolve host", "Check the name, or use the address."),
    ],
)
def test_why_no_session_opens_is_told_with_the_server_and_what_mends_it(
    primary: Cluster,
    carried_out: Callable[..., BenchmarkRun],
    place: dict[str, Any],
    database: str | None,
    said: str,
    mends: str,
) -> None:
    primary.backends.filter(node_id=0).update(application_name="pg1", **place)
    if database:
        BenchmarkAccess.objects.update(database=database)
    backend = primary.backends.get(node_id=0)

    run = carried_out(Pgbench())

    assert (run.state, run.is_partial, run.outputs.count()) == ("failed", False, 0)
    name = BenchmarkAccess.objects.get().database
    assert run.error.startswith(f"pg1 ({backend.hostname}:{backend.port}), database {name}: ")
    assert said in run.error
    assert mends in run.error


def test_a_worker_without_the_program_says_what_installs_it(carried_out: Callable[..., BenchmarkRun]) -> None:
    class Absent(Recited):
        def find_program(self) -> str:
            raise ProgramMissing("this worker has no sysbench. Install it.")

    run = carried_out(Absent(REPORT))

    assert (run.state, run.error) == ("failed", "this worker has no sysbench. Install it.")
    assert not run.outputs.exists()


@pytest.fixture
def session(primary: Cluster) -> Iterator[psycopg.Connection[Any]]:
    place = connection.settings_dict
    with psycopg.connect(
        host=place["HOST"], port=place["PORT"], user=place["USER"], password=place["PASSWORD"], dbname=place["NAME"],
        autocommit=True,
    ) as found:  # fmt: skip
        yield found
        found.execute(f"DROP TABLE IF EXISTS {TABLES}")


def looked(driver: Any, workload: str, **parameters: Any) -> bool:
    place = connection.settings_dict
    account = Account(place["USER"], place["PASSWORD"], place["NAME"], "prefer")
    chosen = WORKLOADS[workload]
    wish = Wish(chosen, None, 1, 1, 1, 0, parameters)  # type: ignore[arg-type]  # looking needs no topology
    standing: Standing = driver.look(wish, Server("pg1", place["HOST"], int(place["PORT"])), account)
    return standing.is_ready


def test_tables_of_a_preparation_that_was_ended_before_its_keys_are_made_anew(
    session: psycopg.Connection[Any],
) -> None:
    session.execute("CREATE TABLE pgbench_branches AS SELECT 1 AS bid; CREATE TABLE pgbench_history (bid int)")
    session.execute("CREATE TABLE pgbench_tellers (tid int PRIMARY KEY); CREATE TABLE pgbench_accounts (aid int)")
    session.execute("ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid)")
    assert looked(Pgbench(), "pgbench-select-only", scale=1) is False

    session.execute("ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid)")

    assert looked(Pgbench(), "pgbench-select-only", scale=1) is True
    assert looked(Pgbench(), "pgbench-select-only", scale=2) is False


def test_tables_of_sysbench_are_ready_once_they_are_full_and_indexed(session: psycopg.Connection[Any]) -> None:
    wish = {"tables": 2, "table_size": 100}
    session.execute("CREATE TABLE sbtest1 AS SELECT n AS id, n AS k FROM generate_series(1, 100) AS n")
    session.execute("CREATE TABLE sbtest2 AS SELECT * FROM sbtest1")
    session.execute("CREATE INDEX k_1 ON sbtest1 (k)")
    assert looked(Sysbench(), "sysbench-read-only", **wish) is False

    session.execute("CREATE INDEX k_2 ON sbtest2 (k)")

    assert looked(Sysbench(), "sysbench-read-only", **wish) is True
    assert looked(Sysbench(), "sysbench-read-only", tables=1, table_size=100) is True
    assert looked(Sysbench(), "sysbench-read-only", tables=2, table_size=200) is False
