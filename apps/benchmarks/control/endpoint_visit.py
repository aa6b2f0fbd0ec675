"""One session at an endpoint, as the load would open it: whether it lets anybody in, to what, and how fast."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.benchmarks.control.runs import access_of
from apps.benchmarks.domain.pgbench_failure import OF_THE_SERVER, parse_failure
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers.driver import Account
from apps.benchmarks.models import BenchmarkEndpoint
from apps.clusters.outside.sockets import DeadlinePassed, Unreachable
from apps.clusters.outside.sql_session import SqlSession, SqlTarget

OPENS_WITHIN_S = 5.0
ANSWERS_WITHIN_S = 5.0


@dataclass(frozen=True)
class Visit:
    """server_version: as 15.8, "" where it did not say. is_in_recovery: of what is behind it; None where it did not.

    refusal: why no session could be used, "" for none; fix: what mends it.
    """

    connect_ms: float | None = None
    server_version: str = ""
    is_in_recovery: bool | None = None
    refusal: str = ""
    fix: str = ""


def visit_endpoint(*, caller: Caller, endpoint: BenchmarkEndpoint) -> Visit:
    """As the account that benchmarks have. Raises runs.NotAllowedHere where there is none."""
    caller.require(Role.OPERATOR)
    cluster = endpoint.cluster
    access = access_of(cluster)
    account = Account(access.username, access.password, access.database, cluster.sslmode)
    return visit(Server(endpoint.name, endpoint.host, endpoint.port, is_endpoint=True), account)


def visit(server: Server, account: Account, *, clock: Callable[[], float] = time.monotonic) -> Visit:
    return asyncio.run(_visit(server, account, clock))


async def _visit(server: Server, account: Account, clock: Callable[[], float]) -> Visit:
    target = SqlTarget(
        server.host, server.port, account.username, account.password, account.database, account.sslmode
    )  # fmt: skip
    begun = clock()
    try:
        session = await SqlSession.open(target, deadline_s=OPENS_WITHIN_S)
    except Unreachable as error:
        return Visit(refusal=_closed(error.reason), fix=_closed(error.fix))
    except DeadlinePassed as error:
        return Visit(refusal=f"It took the connection and let nobody in: {error}.", fix="Look into its log.")
    except psycopg.Error as error:
        return _refused(error)
    connect_ms = (clock() - begun) * 1000
    try:
        version = str(await _one(session, "SHOW server_version"))
    except DeadlinePassed as error:
        fix = "Look whether it reaches its servers: a pooler lets sessions in before it has one."
        return Visit(refusal=f"It let the session in and did not answer: {error}.", fix=fix)
    except psycopg.Error as error:
        return _refused(error)
    is_in_recovery = None
    with contextlib.suppress(psycopg.Error, DeadlinePassed):  # a router may not know the function
        is_in_recovery = bool(await _one(session, "SELECT pg_is_in_recovery()"))
    await session.close()
    return Visit(connect_ms, version.split(" ", maxsplit=1)[0], is_in_recovery)


async def _one(session: SqlSession, statement: str) -> Any:
    rows = await session.rows(statement, deadline_s=ANSWERS_WITHIN_S)
    return next(iter(rows[0].values()))


def _refused(error: psycopg.Error) -> Visit:
    said = " ".join(str(error).split()) or type(error).__name__
    failure = parse_failure(str(error))
    fix = failure.fix if failure.cause in OF_THE_SERVER else "Look into its log."
    return Visit(refusal=_closed(said), fix=fix)


def _closed(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."
