"""The TPC-C-like data on Lifeguard's own test server, made as a run makes it, and asked as its checks ask it."""

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection

from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server, Topology
from apps.benchmarks.domain.workloads import WORKLOADS
from apps.benchmarks.drivers.driver import Account
from apps.benchmarks.drivers.processes import Command
from apps.benchmarks.drivers.tpcc.driver import Tpcc

SMALLEST: Mapping[str, Any] = {"warehouses": 2, "size_percent": 1}


def here() -> tuple[Server, Account]:
    facts = connection.get_connection_params()
    server = Server("pg1", facts["host"], int(facts["port"]))
    return server, Account(facts["user"], facts["password"], facts["dbname"], "disable")


def wished(clients: int = 2, server: Server | None = None, **parameters: Any) -> Wish:
    """Of two warehouses with a hundredth of their rows, unless told."""
    chosen = WORKLOADS["tpcc-like"]
    values = {name: one.default for name, one in chosen.parameters.items()} | SMALLEST | parameters
    servers = (server or Server("pg1", "127.0.0.1", 5000),)
    return Wish(chosen, Topology("primary", "primary", servers, takes_writes=True), clients, 1, 2, 0, values)


def ran(command: Command) -> str:
    """What it printed."""
    environment = {**command.environment, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command.words, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def made(wish: Wish) -> None:
    server, account = here()
    driver = Tpcc()
    for command in driver.preparation(driver.find_program(), wish, server, account):
        ran(command)


@contextmanager
def made_here() -> Iterator[dict[str, Any]]:
    """How psycopg gets there. The data goes afterwards."""
    facts = connection.get_connection_params()
    made(wished())
    place = {name: facts[name] for name in ("dbname", "user", "password", "host", "port")}
    yield place
    with psycopg.connect(**place, autocommit=True) as session:
        session.execute("SET client_min_messages TO warning; DROP SCHEMA lifeguard_tpcc CASCADE")


def findings_of(wish: Wish, watch: Callable[[], None] = lambda: None) -> dict[str, tuple[bool, str]]:
    """By their checks."""
    server, account = here()
    found = Tpcc().check_data(wish, server, account, watch=watch)
    return {one["check"]: (one["ok"], one["sentence"]) for one in found}
