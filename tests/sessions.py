"""Sessions of an application through a pgpool of the lab, and which backend pgpool gave them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from deploy.lab import Lab
from deploy.lab.plan import Pgpool

MOST_DRAWS = 60


def session(lab: Lab, pgpool: Pgpool) -> psycopg.Connection[Any]:
    app = lab.addresses["app"]
    return psycopg.connect(
        host=pgpool.host, port=pgpool.port, user=app["username"], password=app["password"], dbname=app["database"],
        autocommit=True, prepare_threshold=None, sslmode="disable", connect_timeout=20,
    )  # fmt: skip


def reads_from(connection: psycopg.Connection[Any]) -> int:
    """node_id"""
    rows = connection.execute("SHOW POOL_NODES").fetchall()
    return next(int(row[0]) for row in rows if row[9] == "true")


@contextmanager
def reading_from(lab: Lab, pgpool: Pgpool, node_id: int) -> Iterator[psycopg.Connection[Any]]:
    """An open session whose reads go there: pgpool draws a backend for each, so the first of several that got it."""
    for _ in range(MOST_DRAWS):
        with session(lab, pgpool) as connection:
            if reads_from(connection) == node_id:
                yield connection
                return
    pytest.fail(f"none of {MOST_DRAWS} sessions of {pgpool.name} was given to backend {node_id}")
