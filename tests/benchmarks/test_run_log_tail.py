"""What a run shows of its programs while these run: a real one that prints slowly, until it is allowed to go on."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.benchmarks.control import run_engine, run_rows
from apps.benchmarks.domain.own_program import line
from apps.benchmarks.domain.raw_output import HIDDEN, MOST_CHARACTERS, MOST_LINES
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers import known
from apps.benchmarks.drivers.driver import Account, Standing, environment
from apps.benchmarks.drivers.own_program import OwnProgram
from apps.benchmarks.drivers.processes import Command
from apps.benchmarks.models import BenchmarkRun
from apps.clusters.models import Cluster
from tests.benchmarks.scene import RUNS, made_run
from tests.clusters.test_registration_pages import text_of

REPORT = line("report", {"tps": 99.5, "transactions": 199, "failed": 0, "latency_ms": 2.0})
# Waits until its reader has made a file of this name.
WAIT = """
import os, sys, time
def await_file(name):
    while not os.path.exists(os.path.join(sys.argv[1], name)):
        time.sleep(0.05)
"""
PREPARES = f"""{WAIT}
print("creating <tables>", flush=True)
await_file("prepared")
"""
LOADS = f"""{WAIT}
print("vacuuming", file=sys.stderr, flush=True)
await_file("loaded")
for number in range(60):
    print("row", number, "x" * 250, flush=True)
print(os.environ["PGPASSWORD"], flush=True)
await_file("measured")
print({REPORT!r})
"""


class Slow(OwnProgram):
    """A load and a preparation that go on when they are allowed to."""

    def __init__(self, gates: Path) -> None:
        super().__init__("slow")
        self._gates = gates

    def look(self, wish: Wish, primary: Server, account: Account) -> Standing:
        return Standing(False, ())

    def preparation(self, program: str, wish: Wish, primary: Server, account: Account) -> list[Command]:
        return [Command("preparation", [program, "-c", PREPARES, str(self._gates)], environment(account))]

    def load(
        self, program: str, wish: Wish, account: Account, *, duration_s: int, folder: Path, is_measured: bool
    ) -> list[Command]:
        return [Command("pg1", [program, "-c", LOADS, str(self._gates)], environment(account), folder / "0")]


@pytest.fixture
def run(primary: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BenchmarkRun]:
    """One that a worker carries out beside the test. Its gates are files of tmp_path."""
    monkeypatch.setitem(cast("dict[str, Any]", known.DRIVERS), "pgbench", Slow(tmp_path))
    run = made_run(primary)

    def carry_out() -> None:
        try:
            run_engine.carry_out(run_id=run.pk, holder="test", clock=timezone.now)
        finally:
            connection.close()

    worker = threading.Thread(target=carry_out)
    worker.start()
    yield run
    BenchmarkRun.objects.update(is_stop_requested=True)
    worker.join(timeout=120)
    assert not worker.is_alive()


def await_tail(run: BenchmarkRun, end: str) -> list[str]:
    """Its lines once the latest is this one."""
    ends_at = time.monotonic() + 60
    while not run.log_tail.endswith(end):
        assert time.monotonic() < ends_at, (run.state, run.error, run.log_tail)
        time.sleep(0.05)
        run.refresh_from_db()
    return run.log_tail.splitlines()


@pytest.mark.django_db(transaction=True)
def test_the_latest_lines_are_seen_while_a_run_prepares_and_measures(
    run: BenchmarkRun, tmp_path: Path, client_for: Callable[..., Client], api_client: Callable[..., APIClient]
) -> None:
    viewer, script = client_for("viewer"), api_client("viewer")
    page = f"/o/acme/benchmarks/runs/{run.pk}/now/"

    assert await_tail(run, "creating <tables>") == ["— makes its tables anew", "creating <tables>"]
    assert run.state == "preparing"
    assert "creating &lt;tables&gt;</pre></log-tail>" in viewer.get(page).content.decode()
    (tmp_path / "prepared").touch()
    lines = await_tail(run, "vacuuming")
    assert (run.state, lines[:2], lines[-2:]) == (
        "running", ["— makes its tables anew", "creating <tables>"], ["— measures", "vacuuming"],
    )  # fmt: skip
    (tmp_path / "loaded").touch()
    lines = await_tail(run, HIDDEN)
    assert len(run.log_tail) <= MOST_CHARACTERS
    assert (len(lines) <= MOST_LINES, lines[-2][:7], "vacuuming" in lines) == (True, "row 59 ", False)
    assert script.get(f"{RUNS}{run.pk}/").json()["log_tail"] == run.log_tail
    (tmp_path / "measured").touch()
    ends_at = time.monotonic() + 60
    while script.get(f"{RUNS}{run.pk}/").json()["is_active"]:
        assert time.monotonic() < ends_at
        time.sleep(0.05)

    body = script.get(f"{RUNS}{run.pk}/").json()
    assert (body["state"], body["error"], body["log_tail"]) == ("done", "", "")
    assert [one["name"] for one in body["outputs"]] == ["preparation", "pg1"]
    assert body["outputs"][1]["output"].startswith("vacuuming\nrow 0 ")
    assert connection.settings_dict["PASSWORD"] not in str(body)
    assert "<log-tail" not in viewer.get(page).content.decode()


@pytest.mark.django_db
def test_the_latest_lines_of_an_attempt_whose_worker_died_are_kept_until_the_next_begins(
    cluster: Cluster, client_for: Callable[..., Client]
) -> None:
    run = made_run(cluster, state="running", attempts=1, log_tail="progress: 7.0 s", lease_holder="gone")

    assert run_rows.claim(run.pk, holder="test", now=timezone.now()) is None

    run.refresh_from_db()
    assert (run.state, run.log_tail) == ("queued", "progress: 7.0 s")
    told = text_of(client_for("viewer").get(f"/o/acme/benchmarks/runs/{run.pk}/"))
    assert "progress: 7.0 s The latest lines of the attempt whose worker died." in told
    begun = run_rows.claim(run.pk, holder="test", now=timezone.now())
    assert begun is not None
    assert (begun.state, begun.log_tail) == ("preparing", "")
