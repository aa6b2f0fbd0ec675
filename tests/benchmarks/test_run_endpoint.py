"""Runs through an endpoint: what is asked of it before anything is prepared, and whether the data stands behind it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from apps.benchmarks.control import run_endpoint, run_engine
from apps.benchmarks.domain.own_program import line
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server, Topology
from apps.benchmarks.domain.workloads import WORKLOADS
from apps.benchmarks.drivers import database, known
from apps.benchmarks.drivers.driver import Account, CannotPrepare, NotAnswered, Standing, environment
from apps.benchmarks.drivers.own_program import OwnProgram
from apps.benchmarks.drivers.processes import Command
from apps.benchmarks.models import BenchmarkAccess, BenchmarkEndpoint, BenchmarkRun
from apps.clusters.models import Cluster
from tests.benchmarks.other_database import leading_to, silent

pytestmark = pytest.mark.django_db

REPORT = line("report", {"tps": 99.5, "transactions": 199, "failed": 0, "latency_ms": 2.0})


class Told(OwnProgram):
    """A load of one line. behind: what an endpoint says of the data; None where it says nothing."""

    def __init__(self, *, behind: bool | None = True) -> None:
        super().__init__("told")
        self._behind = behind
        self.broken: list[RunFinding] = []
        self.looked_at: list[str] = []

    def look(self, wish: Wish, primary: Server, account: Account) -> Standing:
        self.looked_at.append(primary.name)
        if primary.is_endpoint and self._behind is None:
            raise NotAnswered(f"{primary.name}: no shard for this statement")
        return Standing(not primary.is_endpoint or bool(self._behind), ())

    def check_data(
        self, wish: Wish, primary: Server, account: Account, *, watch: Callable[[], None]
    ) -> list[RunFinding]:
        return self.broken

    def load(
        self, program: str, wish: Wish, account: Account, *, duration_s: int, folder: Path, is_measured: bool
    ) -> list[Command]:
        own = folder / "0" if is_measured else None
        server = wish.topology.servers[0]
        return [Command(server.name, [program, "-c", f"print({REPORT!r})"], environment(account), own)]


@pytest.fixture
def carried_out(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Callable[..., BenchmarkRun]:
    """A run through bouncer-1; the PostgreSQL of these tests is its primary, and stands for the endpoint as well."""
    place = connection.settings_dict
    cluster.backends.filter(node_id=0).update(hostname=place["HOST"], port=place["PORT"])
    BenchmarkAccess.objects.update(username=place["USER"], password=place["PASSWORD"], database=place["NAME"])
    # Nobody answers at the standbys of this scene.
    cluster.backends.exclude(node_id=0).delete()

    def carry_out(
        driver: OwnProgram, *, is_registered: bool = True, topology: str = "endpoint:bouncer-1",
        workload: str = "pgbench-select-only", **facts: Any,
    ) -> BenchmarkRun:  # fmt: skip
        monkeypatch.setitem(cast("dict[str, Any]", known.DRIVERS), "pgbench", driver)
        run = BenchmarkRun.objects.create(
            cluster=cluster, workload=workload, topology=topology, clients=1, threads=1, duration_s=1,
            parameters={}, requested_by_name="Ann",
        )  # fmt: skip
        if is_registered:
            whole = {"host": place["HOST"], "port": place["PORT"], **facts}
            BenchmarkEndpoint.objects.create(cluster=cluster, name="bouncer-1", **whole)
        run_engine.carry_out(run_id=run.pk, holder="test", clock=timezone.now)
        run.refresh_from_db()
        return run

    return carry_out


def test_what_it_was_measured_through_stands_with_it(carried_out: Callable[..., BenchmarkRun]) -> None:
    driver = Told()

    run = carried_out(driver, kind="pooler")

    assert (run.state, run.error, run.tps) == ("done", "", 99.5)
    place = connection.settings_dict
    topology = run.environment["topology"]
    assert topology["label"] == f"endpoint bouncer-1 (pooler, {place['HOST']}:{place['PORT']})"
    assert topology["is_through_pgpool"] is False
    assert any("bouncer-1" in names for names in run.environment["placement"].values())
    assert driver.looked_at[-1] == "bouncer-1"
    assert list(run.result["tps_by_server"]) == ["bouncer-1"]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"port": 1}, ["endpoint bouncer-1 (127.0.0.1:1) takes no load.", "refused", "listens there"]),
        ({"host": "169.254.0.1"}, ["never contacted"]),
    ],
)
def test_one_that_cannot_be_reached_fails_before_anything_is_prepared(
    carried_out: Callable[..., BenchmarkRun], facts: dict[str, Any], words: list[str]
) -> None:
    driver = Told()

    run = carried_out(driver, **{"host": "127.0.0.1", **facts})

    assert (run.state, driver.looked_at) == ("failed", [])
    assert [each for each in words if each.lower() not in run.error.lower()] == []


def test_one_that_is_registered_no_more_is_the_reason(carried_out: Callable[..., BenchmarkRun]) -> None:
    run = carried_out(Told(), is_registered=False)

    assert run.state == "failed"
    assert "no endpoint of that name is registered, or no longer" in run.error


def test_one_that_leads_elsewhere_measures_nothing(carried_out: Callable[..., BenchmarkRun]) -> None:
    run = carried_out(Told(behind=False))

    assert (run.state, run.tps) == ("failed", None)
    assert "leads to a database without tables of the names and size that were made on" in run.error
    assert "Orders" in run.error


@pytest.mark.parametrize(
    ("behind", "words"),
    [(None, "nobody saw whether tables as those of the run stand"), (False, "no tables of the names and size")],
)
def test_what_a_router_does_not_say_is_a_note(
    carried_out: Callable[..., BenchmarkRun], behind: bool | None, words: str
) -> None:
    run = carried_out(Told(behind=behind), kind="router")

    assert (run.state, run.error) == ("done", "")
    [note] = [one for one in run.environment["notes"] if "bouncer-1" in one]
    assert words in note


def test_conditions_of_tables_that_the_load_may_not_have_touched_are_not_told(
    carried_out: Callable[..., BenchmarkRun],
) -> None:
    driver = Told(behind=False)
    driver.broken = [{"check": "consistency_1", "ok": True, "sentence": "It holds."}]

    run = carried_out(driver, kind="router")

    found = {one["check"]: one["sentence"] for one in run.findings}
    assert "consistency_1" not in found
    assert "there are no tables of the names and size that were made on" in found["data_checked"]


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({"kind": "pooler"}, ""),
        ({"kind": "pooler", "stands_before_pgpools": True}, "has not applied the data"),
        ({"kind": "balancer"}, "has not applied the data"),
    ],
)
def test_only_one_that_may_lead_to_a_standby_waits_for_replay(
    carried_out: Callable[..., BenchmarkRun], cluster: Cluster, monkeypatch: pytest.MonkeyPatch,
    facts: dict[str, Any], error: str,
) -> None:  # fmt: skip
    def lags(primary: Server, standbys: Sequence[Server], *_: Any, **__: Any) -> None:
        if standbys:
            raise CannotPrepare("pg2 has not applied the data")

    monkeypatch.setattr(database, "await_replay", lags)
    cluster.backends.create(node_id=1, hostname="127.0.0.1", port=1)

    run = carried_out(Told(), **facts)

    assert error in run.error
    assert run.state == ("failed" if error else "done")


def test_what_only_a_router_may_leave_open_fails_at_a_pooler(carried_out: Callable[..., BenchmarkRun]) -> None:
    run = carried_out(Told(behind=None), kind="pooler")

    assert (run.state, run.error) == ("failed", "bouncer-1: no shard for this statement")


@pytest.fixture
def elsewhere() -> Iterator[int]:
    """The port of a place that leads to another database of the same server."""
    with leading_to("postgres") as port:
        yield port


@pytest.mark.parametrize("kind", ["pooler", "balancer", "other"])
def test_one_that_leads_to_another_database_gets_no_load(
    carried_out: Callable[..., BenchmarkRun], elsewhere: int, kind: str
) -> None:
    driver = Told()

    run = carried_out(driver, kind=kind, host="127.0.0.1", port=elsewhere)

    assert (run.state, driver.looked_at, run.outputs.exists()) == ("failed", [], False)
    own = connection.settings_dict["NAME"]
    assert f"endpoint bouncer-1 (127.0.0.1:{elsewhere}) leads to another database: postgres at " in run.error
    assert f"not {own} as at " in run.error
    assert "register it as a router" in run.error


def test_where_a_router_leads_is_told_with_the_run(carried_out: Callable[..., BenchmarkRun], elsewhere: int) -> None:
    run = carried_out(Told(), kind="router", host="127.0.0.1", port=elsewhere)

    assert (run.state, run.error) == ("done", "")
    [note] = [one for one in run.environment["notes"] if "bouncer-1" in one]
    assert note.startswith("bouncer-1, a router, leads to another database: postgres at ")


def test_a_standby_at_the_address_of_another_database_is_not_waited_for(
    carried_out: Callable[..., BenchmarkRun], cluster: Cluster, elsewhere: int
) -> None:
    cluster.backends.create(node_id=1, hostname="127.0.0.1", port=elsewhere)
    driver = Told()

    run = carried_out(driver, topology="standby:1")

    assert (run.state, driver.looked_at) == ("failed", [])
    assert f"standby 127.0.0.1:{elsewhere} is another database: postgres at " in run.error
    assert "Look at the address that it is registered with." in run.error


@pytest.fixture
def as_a_standby(cluster: Cluster) -> Iterator[int]:
    """The port of a place whose sessions hear of their server that it is a standby."""
    place = connection.settings_dict
    with psycopg.connect(
        host=place["HOST"], port=place["PORT"], user=place["USER"], password=place["PASSWORD"], dbname=place["NAME"],
        autocommit=True,
    ) as session:  # fmt: skip
        session.execute("CREATE SCHEMA follows")
        session.execute("CREATE FUNCTION follows.pg_is_in_recovery() RETURNS boolean LANGUAGE sql RETURN true")
        try:
            with leading_to(place["NAME"], options="-c search_path=follows,pg_catalog,public") as port:
                yield port
        finally:
            session.execute("DROP SCHEMA follows CASCADE")


@pytest.mark.parametrize(
    ("is_before_pgpools", "state", "error"), [(True, "done", ""), (False, "failed", "leads to a standby, and this")]
)
def test_what_pgpool_sent_to_a_standby_refuses_no_load_that_writes(
    carried_out: Callable[..., BenchmarkRun], as_a_standby: int, is_before_pgpools: bool, state: str, error: str
) -> None:
    run = carried_out(
        Told(), kind="pooler", host="127.0.0.1", port=as_a_standby, stands_before_pgpools=is_before_pgpools,
        workload="pgbench-tpcb-like",
    )  # fmt: skip

    assert error in run.error
    assert (run.state, bool(run.error)) == (state, bool(error))


class StoppedMeanwhile(Exception):
    pass


@pytest.mark.parametrize("who", ["endpoint", "primary", "standby"])
def test_the_lease_is_kept_while_a_server_says_nothing(cluster: Cluster, who: str) -> None:
    place = connection.settings_dict
    account = Account(place["USER"], place["PASSWORD"], place["NAME"], "prefer")

    with silent() as (port, came):
        there = ("127.0.0.1", port)
        answers = (place["HOST"], int(place["PORT"]))
        primary = Server("pg1", *(there if who == "primary" else answers))
        other = Server("other", *(answers if who == "primary" else there), is_endpoint=who != "standby")
        topology = Topology("other", "other", (other,), takes_writes=False)
        wish = Wish(
            WORKLOADS["pgbench-select-only"], topology, clients=1, threads=1, duration_s=1, warm_up_s=0, parameters={}
        )

        def watch() -> None:
            if came.is_set():
                raise StoppedMeanwhile

        with pytest.raises(StoppedMeanwhile):
            run_endpoint.reach(wish, account, cluster=cluster, primary=primary, watch=watch)
