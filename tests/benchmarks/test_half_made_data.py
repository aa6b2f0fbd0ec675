"""Data that a preparation did not finish, on a real server: on a disk that is full, and where somebody stops it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from apps.benchmarks.control import run_engine
from apps.benchmarks.domain.load_report import LoadSecond
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers import database, half_made, known
from apps.benchmarks.drivers.driver import Account, NotAnswered, Standing, environment
from apps.benchmarks.drivers.own_program import OwnProgram
from apps.benchmarks.drivers.processes import Command
from apps.benchmarks.models import BenchmarkAccess, BenchmarkRun
from apps.clusters.models import Cluster

pytestmark = pytest.mark.django_db

Session = psycopg.Connection[Any]
TABLES = ["pgbench_accounts", "pgbench_branches", "pgbench_tellers", "pgbench_history"]
# A database is 8 MB, and pgbench 15 more for each of its scale.
TOO_SMALL, ROOM = "24m", "200m"
DATABASE = "on_a_small_disk"


def opened(database: str) -> Session:
    place = connection.settings_dict
    return psycopg.connect(
        host=place["HOST"], port=place["PORT"], user=place["USER"], password=place["PASSWORD"], dbname=database,
        autocommit=True,
    )  # fmt: skip


def standing(session: Session) -> list[str]:
    rows = session.execute("SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NOT NULL", [TABLES])
    return [name for (name,) in rows]


def mount(folder: Path, options: str) -> None:
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "lifeguard-test", str(folder)], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def small_disk(primary: Cluster) -> Iterator[Path]:
    """A disk of 24 MB with the database of the load on it."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a small disk")
    folder = Path(tempfile.mkdtemp(prefix="lifeguard-small-disk-"))
    with opened(connection.settings_dict["NAME"]) as session:
        row = session.execute("SHOW data_directory").fetchone()
        assert row is not None
        owner = Path(row[0]).stat()
        try:
            mount(folder, f"size={TOO_SMALL},mode=0700,uid={owner.st_uid},gid={owner.st_gid}")
        except BaseException:
            folder.rmdir()
            raise
        try:
            session.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")  # type: ignore[arg-type,unused-ignore]
            session.execute(f"CREATE DATABASE {DATABASE} TABLESPACE small")  # type: ignore[arg-type,unused-ignore]
            BenchmarkAccess.objects.update(database=DATABASE)
            yield folder
        finally:
            session.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")  # type: ignore[arg-type,unused-ignore]
            session.execute("DROP TABLESPACE IF EXISTS small")
            subprocess.run(["umount", str(folder)], check=True)
            folder.rmdir()


def carried_out(cluster: Cluster, **parameters: Any) -> BenchmarkRun:
    run = BenchmarkRun.objects.create(
        cluster=cluster, workload="pgbench-select-only", topology="primary", clients=1, threads=1, duration_s=1,
        parameters=parameters, requested_by_name="Ann",
    )  # fmt: skip
    run_engine.carry_out(run_id=run.pk, holder="test", clock=timezone.now)
    run.refresh_from_db()
    return run


def test_a_statement_of_lifeguard_itself_that_finds_a_disk_full_names_it(
    asked: tuple[Server, Account], small_disk: Path
) -> None:
    server, account = asked

    with (
        pytest.raises(NotAnswered) as refused,
        database.session(server, replace(account, database=DATABASE)) as session,
    ):
        session.execute("CREATE TABLE filler AS SELECT generate_series(1, 10000000)")

    said = str(refused.value)
    assert said.startswith(f"{server.full_name}, database {DATABASE}: A disk is full: pg_tblspc/")
    assert "Free space on the host" in said
    assert said.endswith(f"That is the tablespace small, in {small_disk} on its host.")


def test_a_disk_that_is_full_is_named_nothing_is_left_on_it_and_the_next_run_is_fine(
    primary: Cluster, small_disk: Path
) -> None:
    wish = {"scale": 2, "protocol": "simple"}

    failed = carried_out(primary, **wish)

    place = connection.settings_dict
    assert (failed.state, failed.is_partial, failed.tps) == ("failed", False, None)
    assert failed.error.startswith(f"preparation on {place['HOST']}:{place['PORT']}: A disk is full: pg_tblspc/")
    assert f"That is the tablespace small, in {small_disk} on its host." in failed.error
    assert failed.error.endswith("What it had made of its data was dropped.")
    assert "No space left on device" in failed.outputs.get(name="preparation").output
    with opened(DATABASE) as session:
        assert standing(session) == []
    mount(small_disk, f"remount,size={ROOM}")
    run = carried_out(primary, **wish)
    assert (run.state, run.error) == ("done", "")
    assert run.tps is not None


MAKES = """
import psycopg, time
with psycopg.connect("", autocommit=True) as session:
    session.execute("DROP TABLE IF EXISTS pgbench_accounts")
    session.execute("CREATE TABLE pgbench_accounts AS SELECT 1 AS aid")
    print("made", flush=True)
    session.execute("ALTER TABLE pgbench_accounts ADD COLUMN x text; SELECT pg_sleep(600)")
"""


class StoppedMeanwhile(OwnProgram):
    """Its server works on, with a lock on the table, when somebody stops it."""

    def __init__(self) -> None:
        super().__init__("stopped_meanwhile")

    def look(self, wish: Wish, primary: Server, account: Account) -> Standing:
        return Standing(False, TABLES)

    def preparation(self, program: str, wish: Wish, primary: Server, account: Account) -> list[Command]:
        place = {
            "PGHOST": primary.host, "PGPORT": str(primary.port), "PGUSER": account.username,
            "PGDATABASE": account.database,
        }  # fmt: skip
        return [Command("preparation", [sys.executable, "-c", MAKES], {**environment(account), **place})]

    def second(self, line: str) -> LoadSecond | None:
        if line == "made":
            BenchmarkRun.objects.update(is_stop_requested=True, stop_reason="stopped by Ann")
        return None


@pytest.fixture
def session(primary: Cluster) -> Iterator[Session]:
    with opened(connection.settings_dict["NAME"]) as session:
        yield session
        session.execute("DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches CASCADE")


def test_what_one_that_is_stopped_had_made_is_dropped_and_what_stood_before_stays(
    primary: Cluster, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cast("dict[str, Any]", known.DRIVERS), "pgbench", StoppedMeanwhile())
    session.execute("CREATE TABLE pgbench_accounts (aid int); CREATE TABLE pgbench_branches (bid int)")

    run = carried_out(primary)

    assert (run.state, run.is_partial) == ("stopped", False)
    assert run.stop_reason == "stopped by Ann. What it had made of its data was dropped."
    assert standing(session) == ["pgbench_branches"]


@pytest.fixture
def asked(primary: Cluster) -> tuple[Server, Account]:
    place = connection.settings_dict
    account = Account(place["USER"], place["PASSWORD"], place["NAME"], "prefer")
    return Server("pg1", place["HOST"], int(place["PORT"])), account


def test_tables_that_cannot_be_dropped_are_said_to_be_there(session: Session, asked: tuple[Server, Account]) -> None:
    session.execute("CREATE TABLE pgbench_accounts (aid int); CREATE VIEW own AS SELECT * FROM pgbench_accounts")

    said = half_made.discard(*asked, TABLES, but={})

    assert said.startswith("What it had made of its data is still there (pgbench_accounts): pg1 (")
    assert "other objects depend on it" in said
    assert half_made.discard(*asked, TABLES, but=half_made.table_ids(*asked, TABLES)) == ""
    assert standing(session) == ["pgbench_accounts"]


@pytest.mark.parametrize("said", ["base/5/16384 cannot grow", "pg_tblspc/4000000000/PG_15_202209061/1 cannot grow"])
def test_a_place_that_is_no_tablespace_has_no_name(asked: tuple[Server, Account], said: str) -> None:
    assert half_made.tablespace_words(*asked, said) == ""
