"""Runs through a real PgBouncer before the lab's primary, and through a real HAProxy before its pgpools."""

import contextlib
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone
from psycopg import sql

from apps.benchmarks.control import comparison_rows
from apps.benchmarks.models import BenchmarkEndpoint, BenchmarkRun
from deploy import machine
from deploy.lab import Lab
from deploy.lab.bouncer import Bouncer, keeps_prepared
from deploy.lab.plan import Backend
from tests.clusters.callers_at_doors import script
from tests.lab.asked_runs import COMPARISONS, asked, carried_out

pytestmark = pytest.mark.django_db(transaction=True)

ENDPOINTS = "/api/v1/clusters/orders/endpoints/"
READING = {
    "name": "look",
    "sql": "\\set aid random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;",
}
MESSAGING = {
    "writers": 2, "groups": 2, "readers_per_group": 2, "partitions": 2, "throttle_per_s": 300, "back_off": True,
}  # fmt: skip
IDENTIFIER = "SELECT system_identifier::text FROM pg_control_system()"
WRITING = {"name": "pay", "sql": "UPDATE pgbench_branches SET bbalance = bbalance + 1;"}


@pytest.fixture
def bouncer(loadable: Lab, tmp_path: Path) -> Bouncer:
    return Bouncer(tmp_path / "pgbouncer", machine.free_port())


@pytest.fixture
def serving(loadable: Lab, bouncer: Bouncer) -> Callable[..., contextlib.AbstractContextManager[None]]:
    """serving(pool_mode="session") is a PgBouncer before the primary, for as long as it is held."""

    def serve(**settings: object) -> contextlib.AbstractContextManager[None]:
        bouncer.prepare(loadable.backends.primary, loadable.addresses["app"], **settings)
        return bouncer.serving()

    return serve


def registered(port: int, **changes: Any) -> None:
    facts = {"name": "bouncer-1", "host": "127.0.0.1", "port": port, "kind": "pooler", **changes}
    answer = script("admin").post(ENDPOINTS, facts, format="json")
    assert answer.status_code == 201, answer.content


def test_a_run_through_a_pgbouncer_beside_the_primary_itself(
    loadable: Lab, bouncer: Bouncer, serving: Callable[..., contextlib.AbstractContextManager[None]]
) -> None:
    registered(bouncer.port, most_sessions=50)
    operator = script("operator")

    with serving():
        tried = operator.post(f"{ENDPOINTS}bouncer-1/try/").json()
        run = carried_out(asked(operator, topology="endpoint:bouncer-1", workload="pgbench-tpcb-like", clients=2))
        wish = {"workload": "pgbench-select-only", "clients": 2, "duration_s": 1, "parameters": {"scale": 1}}
        answer = operator.post(
            COMPARISONS,
            {
                "cluster": "orders", "common": wish, "repetitions": 2,
                "arms": [{"topology": "primary"}, {"topology": "endpoint:bouncer-1"}],
            },
            format="json",
        )  # fmt: skip
        pk = answer.json()["id"]
        for each in BenchmarkRun.objects.filter(places__comparison_id=pk).order_by("pk"):
            carried_out(each)
        comparison_rows.advance(pk, now=timezone.now())
    stopped = carried_out(asked(operator, topology="endpoint:bouncer-1"))

    assert (tried["is_open"], tried["is_in_recovery"], tried["refusal"]) == (True, False, "")
    assert (tried["is_of_cluster"], tried["whose"]) == (True, "")
    assert tried["server_version"].split(".")[0] == loadable.binaries.postgres_version.split(".")[0]
    assert (run.state, run.error) == ("done", "")
    assert run.tps is not None
    assert run.result["latency_ms"]["p99"] > 0
    assert run.environment["topology"]["label"] == f"endpoint bouncer-1 (pooler, 127.0.0.1:{bouncer.port})"
    assert "bouncer-1" in run.environment["placement"]["localhost"]
    body = script("viewer").get(f"{COMPARISONS}{pk}/").json()
    assert (body["state"], body["arms"], body["blocks_whole"]) == ("done", ["primary direct", "bouncer-1"], 2)
    against = body["arms_compared"][1]["against_baseline"]["tps"]
    assert against["low"] < against["difference_percent"] < against["high"]
    assert (stopped.state, stopped.tps) == ("failed", None)
    assert f"endpoint bouncer-1 (127.0.0.1:{bouncer.port}) takes no load." in stopped.error
    assert "refused" in stopped.error
    assert not stopped.outputs.exists()


def as_before_1_21() -> dict[str, object]:
    return {"max_prepared_statements": 0} if keeps_prepared() else {}


def test_messaging_through_a_pooler_prepares_nothing_and_loses_no_message(
    loadable: Lab, bouncer: Bouncer, serving: Callable[..., contextlib.AbstractContextManager[None]]
) -> None:
    registered(bouncer.port)
    operator = script("operator")
    wish = {"topology": "endpoint:bouncer-1", "workload": "pubsub", "clients": 6, "parameters": MESSAGING}

    with serving(default_pool_size=2, **as_before_1_21()):
        run = carried_out(asked(operator, **wish))
        BenchmarkEndpoint.objects.update(kind="other")
        hidden = carried_out(asked(operator, **wish))

    own = run.result["own"]["bouncer-1"]
    assert (run.state, run.error, run.result["failed"]) == ("done", "", 0)
    assert (own["is_complete"], own["errors"]["said"]) == (True, {})
    assert [group["received"] for group in own["groups"]] == [own["published_in_all"]] * 2
    assert own["published_per_s"] > 0
    assert "statements are not prepared, since a pooler shares its server connections" in run.environment["notes"]
    # Of its six sessions on two connections some find gone what they prepared, before the load begins or under it.
    told = [hidden.error, *(one["sentence"] for one in hidden.findings if one["check"] == "shared_statements")]
    assert any("Register it as an endpoint of kind pooler" in one for one in told), (hidden.error, hidden.findings)
    assert not [note for note in hidden.environment.get("notes", ()) if "not prepared" in note]


def test_sysbench_through_a_pooler_prepares_nothing_unless_asked_for(
    loadable: Lab, bouncer: Bouncer, serving: Callable[..., contextlib.AbstractContextManager[None]]
) -> None:
    registered(bouncer.port)
    operator = script("operator")
    small = {"tables": 1, "table_size": 1000}
    wish = {
        "topology": "endpoint:bouncer-1", "workload": "sysbench-point-select", "clients": 4, "duration_s": 1,
        "parameters": small,
    }  # fmt: skip

    with serving(default_pool_size=2, **as_before_1_21()):
        run = carried_out(asked(operator, **wish))
        for_all = carried_out(asked(operator, **{**wish, "parameters": {**small, "prepared": True}}))
        BenchmarkEndpoint.objects.update(kind="other")
        hidden = carried_out(asked(operator, **wish))

    assert (run.state, run.error, run.result["failed"]) == ("done", "", 0)
    assert "statements are not prepared, since a pooler shares its server connections" in run.environment["notes"]
    # Of four sessions on two connections some find gone what they prepared.
    for lost in (for_all, hidden):
        assert (lost.state, lost.tps) == ("failed", None)
        assert "leave prepared as usual and register the target as an endpoint of kind pooler" in lost.error


def test_what_a_pgbouncer_does_to_statements_and_sessions_is_told(
    loadable: Lab, bouncer: Bouncer, serving: Callable[..., contextlib.AbstractContextManager[None]]
) -> None:
    registered(bouncer.port)
    operator, through = script("operator"), {"topology": "endpoint:bouncer-1", "duration_s": 1}
    scripts = {**through, "workload": "pgbench-scripts"}
    reading = {"scale": 1, "writes": False, "scripts": [READING]}

    as_prepared = {**through, "clients": 4, "parameters": {"scale": 1, "protocol": "prepared"}}
    with serving(default_pool_size=1, **as_before_1_21()):
        prepared = carried_out(asked(operator, **as_prepared))
        could_write = carried_out(asked(operator, **scripts, parameters=reading))
    with serving(connect_query="SET default_transaction_read_only = on"):
        only_reads = carried_out(asked(operator, **scripts, parameters=reading))
        writes = carried_out(asked(operator, **scripts, parameters={**reading, "scripts": [WRITING]}))
    with serving(max_client_conn=1):
        too_many = carried_out(asked(operator, **through, clients=3))

    # On one server connection every session but the first finds its statement there already.
    assert "shared_statements" in {one["check"] for one in prepared.findings} or "prepared theirs" in prepared.error
    if keeps_prepared():
        with serving(default_pool_size=1):
            kept = carried_out(asked(operator, **as_prepared))
        assert (kept.state, kept.error) == ("done", "")
        assert "shared_statements" not in {one["check"] for one in kept.findings}
    assert could_write.state == "failed"
    assert "passes no options on, so sessions could write there" in could_write.error
    assert "connect_query" in could_write.error
    assert (only_reads.state, only_reads.error) == ("done", "")
    assert writes.state == "failed"
    assert "reads only" in writes.error
    assert too_many.state == "failed"
    assert "max_client_conn" in too_many.error


def test_a_pooler_that_allows_no_transactions_is_told_with_what_mends_it(
    loadable: Lab, bouncer: Bouncer, serving: Callable[..., contextlib.AbstractContextManager[None]]
) -> None:
    registered(bouncer.port)
    operator, through = script("operator"), {"topology": "endpoint:bouncer-1", "duration_s": 1}

    with serving(pool_mode="statement"):
        several = carried_out(asked(operator, **through, workload="pgbench-tpcb-like"))
        messages = carried_out(asked(operator, **through, workload="pubsub", clients=6, parameters=MESSAGING))
        single = carried_out(asked(operator, **through))

    for refused in (several, messages):
        assert (refused.state, refused.tps) == ("failed", None)
        assert "hands a server connection on after each statement, and refuses transactions of several" in refused.error
        assert "Set pool_mode = transaction or session there" in refused.error
    assert (single.state, single.error) == ("done", "")


@pytest.fixture
def other_server(loadable: Lab) -> Iterator[tuple[Backend, dict[str, str]]]:
    """A database of a server that is none of the cluster's, and who may sign in there."""
    own = connection.settings_dict
    name, password = f"other_{secrets.token_hex(4)}", secrets.token_hex(8)
    at_own = {"host": own["HOST"], "port": own["PORT"], "user": own["USER"], "password": own["PASSWORD"]}
    with psycopg.connect(**at_own, dbname="postgres", autocommit=True) as server:
        role = sql.Identifier(name)
        server.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, password))
        try:
            server.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(role, role))
            place = Backend(0, name, socket.gethostbyname(own["HOST"]), int(own["PORT"]), "")
            yield place, {"dbname": name, "user": name, "password": password}
        finally:
            server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(role))
            server.execute(sql.SQL("DROP ROLE {}").format(role))


def test_one_that_leads_to_another_server_is_told_and_only_a_router_takes_the_load(
    loadable: Lab, bouncer: Bouncer, other_server: tuple[Backend, dict[str, str]]
) -> None:
    registered(bouncer.port)
    operator = script("operator")
    one = {"name": "one", "sql": "SELECT 1;"}
    parameters = {"scale": 0, "writes": True, "scripts": [one]}
    wish = {"topology": "endpoint:bouncer-1", "workload": "pgbench-scripts", "duration_s": 1, "parameters": parameters}
    server, behind = other_server
    bouncer.prepare(server, loadable.addresses["app"], behind=behind)

    with bouncer.serving():
        tried = operator.post(f"{ENDPOINTS}bouncer-1/try/").json()
        refused = carried_out(asked(operator, **wish))
        BenchmarkEndpoint.objects.update(kind="router")
        through_router = carried_out(asked(operator, **wish))

    primary = loadable.backends.primary
    with loadable.backends.connect(primary) as superuser, connection.cursor() as cursor:
        [own] = superuser.execute(IDENTIFIER).fetchone() or [None]
        cursor.execute(IDENTIFIER)
        [other] = cursor.fetchone()
    place = f"{primary.name} ({primary.host}:{primary.port})"
    both = f"{server.host}:{server.port} has the system identifier {other}, the primary {place} has {own}"
    assert (tried["is_open"], tried["is_of_cluster"]) == (True, False)
    assert tried["whose"] == f"another server: {both}"
    assert (refused.state, refused.outputs.exists()) == ("failed", False)
    assert f"endpoint bouncer-1 (127.0.0.1:{bouncer.port}) leads to another server: {both}" in refused.error
    assert (through_router.state, through_router.error) == ("done", "")
    assert any(f"a router, leads to another server: {both}" in note for note in through_router.environment["notes"])


def test_a_server_that_does_not_tell_who_it_is_gets_its_load_with_a_note(
    loadable: Lab, bouncer: Bouncer, serving: Callable[..., contextlib.AbstractContextManager[None]]
) -> None:
    registered(bouncer.port)
    database = loadable.addresses["app"]["database"]

    with loadable.backends.connect(loadable.backends.primary, database) as superuser, serving():
        superuser.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
        try:
            run = carried_out(asked(script("operator"), topology="endpoint:bouncer-1", duration_s=1))
        finally:
            superuser.execute("GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC")

    assert (run.state, run.error) == ("done", "")
    [note] = [one for one in run.environment["notes"] if "nobody knows" in one]
    assert "whether bouncer-1 leads to the servers of" in note
    assert "permission denied for function pg_control_system" in note


HAPROXY = """
defaults
  mode tcp
  timeout connect 5s
  timeout client 1m
  timeout server 1m
listen pgpools
  bind 127.0.0.1:{port}
  balance roundrobin
{servers}
"""


@pytest.fixture
def balancer(loadable: Lab, tmp_path: Path) -> Iterator[int]:
    """The port of a HAProxy before all pgpools."""
    port = machine.free_port()
    pgpools = loadable.addresses["pgpools"]
    servers = "\n".join(f"  server {one['name']} {one['host']}:{one['port']}" for one in pgpools)
    conf = tmp_path / "haproxy.cfg"
    conf.write_text(HAPROXY.format(port=port, servers=servers))
    command = [machine.program("setpriv"), "--pdeathsig=TERM", "--", machine.program("haproxy"), "-db", "-f", str(conf)]
    process = subprocess.Popen(
        command, env={"PATH": os.defpath}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 30
        while machine.is_port_free(port) and time.monotonic() < deadline:
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def test_a_balancer_before_the_pgpools_spreads_sessions_and_passes_their_options_on(
    loadable: Lab, balancer: int
) -> None:
    registered(balancer, name="lb", kind="balancer", stands_before_pgpools=True)
    operator = script("operator")
    told = {"name": "told", "sql": "SELECT 1 / (current_setting('default_transaction_read_only')::boolean)::int;"}
    parameters = {"scale": 0, "writes": False, "scripts": [told]}

    run = carried_out(
        asked(operator, topology="endpoint:lb", workload="pgbench-scripts", clients=3, parameters=parameters)
    )

    assert (run.state, run.error, run.is_partial) == ("done", "", False)
    assert run.environment["topology"]["label"] == f"endpoint lb (balancer before 3 pgpools, 127.0.0.1:{balancer})"
    assert run.environment["topology"]["is_through_pgpool"] is True
    assert BenchmarkEndpoint.objects.get().most_sessions is None
