"""Runs whose load tells another number of transactions than PostgreSQL counted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from django.db import connection
from django.utils import timezone

from apps.benchmarks.control import run_counters, run_engine
from apps.benchmarks.domain.own_program import line
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers import known
from apps.benchmarks.drivers.driver import Account, Standing, environment
from apps.benchmarks.drivers.own_program import OwnProgram
from apps.benchmarks.drivers.processes import Command
from apps.benchmarks.models import BenchmarkEndpoint, BenchmarkRun
from apps.clusters.models import Cluster
from tests.benchmarks.scene import made_run

pytestmark = pytest.mark.django_db

# A session has told its counters once it is gone.
MAKES = """
import psycopg, time
with psycopg.connect("", autocommit=True) as session:
    session.execute({first!r})
    for _ in range({made}):
        session.execute("SELECT 1", prepare=False)
    pid = session.info.backend_pid
with psycopg.connect("", autocommit=True) as session:
    while session.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone():
        time.sleep(0.05)
print({report!r})
"""

RESET = "SELECT pg_stat_reset()"


class Makes(OwnProgram):
    """Transactions after a first statement, and the number that it tells."""

    def __init__(self, *, made: int, told: int, first: str = "SELECT 1") -> None:
        super().__init__("makes")
        report = line("report", {"tps": 1.0, "transactions": told, "failed": 0, "latency_ms": 1.0})
        self._text = MAKES.format(made=made, first=first, report=report)

    def look(self, wish: Wish, primary: Server, account: Account) -> Standing:
        return Standing(True, ())

    def load(
        self, program: str, wish: Wish, account: Account, *, duration_s: int, folder: Path, is_measured: bool
    ) -> list[Command]:
        [server] = wish.topology.servers
        place = {
            "PGHOST": server.host, "PGPORT": str(server.port), "PGUSER": account.username,
            "PGDATABASE": account.database,
        }  # fmt: skip
        return [Command(server.name, [program, "-c", self._text], {**environment(account), **place}, folder / "0")]


@pytest.fixture
def told(primary: Cluster, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[bool, str]]]:
    """What the finding of a run says; [] where there is none."""
    # What is missing here comes later neither.
    monkeypatch.setattr(run_counters, "TOLD_WITHIN_S", 0.0)

    def carry_out(driver: Makes, topology: str = "primary") -> list[tuple[bool, str]]:
        monkeypatch.setitem(cast("dict[str, Any]", known.DRIVERS), "pgbench", driver)
        run = carried_out(primary, topology)
        return [(one["ok"], one["sentence"]) for one in run.findings if one["check"] == "counters_disagree"]

    return carry_out


def carried_out(cluster: Cluster, topology: str) -> BenchmarkRun:
    run = BenchmarkRun.objects.create(
        cluster=cluster, workload="pgbench-select-only", topology=topology, clients=1, threads=1, duration_s=1,
        parameters={}, requested_by_name="Ann",
    )  # fmt: skip
    run_engine.carry_out(run_id=run.pk, holder="test", clock=timezone.now)
    run.refresh_from_db()
    assert (run.state, run.error) == ("done", "")
    return run


def test_a_load_that_tells_what_it_did_agrees(told: Callable[..., list[tuple[bool, str]]]) -> None:
    [(ok, sentence)] = told(Makes(made=1500, told=1500))

    assert ok
    assert sentence.endswith("transactions meanwhile, this load 1,500.")


def test_transactions_that_never_came_are_told(told: Callable[..., list[tuple[bool, str]]]) -> None:
    [(ok, sentence)] = told(Makes(made=500, told=20_000))

    assert not ok
    assert sentence.endswith(
        " of 20,000 transactions: the rest never reached it, or went to another server or database."
    )


def test_those_of_others_are_told(told: Callable[..., list[tuple[bool, str]]]) -> None:
    # 1,000 (0.1 + 1 / 1) + 5 + 20 = 1,125 more are usual in a second.
    [(ok, sentence)] = told(Makes(made=4000, told=1000))
    made_run(Cluster.objects.get(), topology="pgpools", state="done", finished_at=timezone.now())
    [(is_fine_after_a_pool, _)] = told(Makes(made=4000, told=1000))

    assert (ok, is_fine_after_a_pool) == (False, True)
    assert "transactions more than the 1,000 of this load" in sentence


@pytest.mark.parametrize("facts", [{"made": 500, "told": 999}, {"made": 500, "told": 9000, "first": RESET}])
def test_nothing_is_said_of_few_transactions_nor_where_the_counters_began_anew(
    told: Callable[..., list[tuple[bool, str]]], facts: dict[str, Any]
) -> None:
    assert told(Makes(**facts)) == []


@pytest.mark.parametrize("kind", ["pooler", "router"])
def test_behind_a_router_nobody_knows_who_counts(
    primary: Cluster, told: Callable[..., list[tuple[bool, str]]], kind: str
) -> None:
    place = connection.settings_dict
    BenchmarkEndpoint.objects.create(
        cluster=primary, name="bouncer-1", host=place["HOST"], port=place["PORT"], kind=kind
    )  # fmt: skip
    primary.backends.exclude(node_id=0).delete()

    said = told(Makes(made=500, told=20_000), "endpoint:bouncer-1")

    # In a run of one second a session that is kept may owe all of it: 0.1 + 1.5 / 1.
    assert [ok for ok, _ in said] == ([] if kind == "router" else [True])
