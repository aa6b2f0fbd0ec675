"""One session at an endpoint, as the load would open it: whether it lets anybody in, to whose server, and how fast."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import psycopg

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.benchmarks.control.runs import access_of
from apps.benchmarks.domain import endpoints
from apps.benchmarks.domain.pgbench_failure import OF_THE_SERVER, parse_failure
from apps.benchmarks.domain.server_identity import ServerIdentity, difference
from apps.benchmarks.domain.topologies import Server, place_of
from apps.benchmarks.drivers.driver import Account
from apps.benchmarks.models import BenchmarkEndpoint
from apps.benchmarks.queries import targets
from apps.clusters.outside.sockets import DeadlinePassed, Unreachable
from apps.clusters.outside.sql_session import SqlSession, SqlTarget

OPENS_WITHIN_S = 5.0
ANSWERS_WITHIN_S = 5.0
_LOOKS_EVERY_S = 0.2
# to_char, since neither DateStyle nor TimeZone of a role or a pooler may make one start look like two.
IDENTITY_SQL = """
SELECT system_identifier::text AS system_identifier,
       current_database()::text AS database,
       pg_is_in_recovery() AS is_in_recovery,
       to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS started_at,
       host(inet_server_addr()) AS host,
       inet_server_port() AS port
FROM pg_control_system()
"""


@dataclass(frozen=True)
class Visit:
    """server_version: as 15.8, "" where it did not say. is_in_recovery: of what is behind it; None where it did not,
    and where pgpools are behind it, which send each question elsewhere.

    refusal: why no session could be used, "" for none; fix: what mends it. identity: of the server that the session
    came to; unidentified: why that is not known.
    """

    connect_ms: float | None = None
    server_version: str = ""
    is_in_recovery: bool | None = None
    refusal: str = ""
    fix: str = ""
    identity: ServerIdentity | None = None
    unidentified: str = ""


@dataclass(frozen=True)
class Belonging:
    """is_of_cluster: whether server and database are those of the cluster; None where nobody could tell.

    words: what is there instead, with both servers, or why nobody knows; "" where it is of the cluster.
    """

    is_of_cluster: bool | None
    words: str = ""


def visit_endpoint(*, caller: Caller, endpoint: BenchmarkEndpoint) -> tuple[Visit, Belonging]:
    """As the account that benchmarks have. Raises runs.NotAllowedHere where there is none."""
    caller.require(Role.OPERATOR)
    cluster = endpoint.cluster
    access = access_of(cluster)
    account = Account(access.username, access.password, access.database, cluster.sslmode)
    offered = endpoints.topology(targets.endpoint_of(endpoint, pgpools=cluster.instances.count()))
    found = visit(offered.servers[0], account)
    return found, belonging(found, account, primary=targets.primary_of(cluster))


def belonging(
    found: Visit, account: Account, *, primary: Server | None, watch: Callable[[], None] | None = None
) -> Belonging:
    """Asks the primary just then, by the same account. watch: as of visit."""
    if found.identity is None:
        return Belonging(None, _why_unknown(found))
    if primary is None:
        return Belonging(None, "no pgpool has named the primary")
    at_primary = visit(primary, account, watch=watch)
    if at_primary.identity is None:
        return Belonging(None, f"{primary.name}: {_why_unknown(at_primary)}")
    words = difference(found.identity, at_primary.identity, primary_name=primary.full_name)
    return Belonging(not words, words)


def _why_unknown(found: Visit) -> str:
    return (found.unidentified or found.refusal).removesuffix(".")


def visit(
    server: Server, account: Account, *, watch: Callable[[], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Visit:  # fmt: skip
    """watch: called all the while, as one that answers slowly takes 20 s; what it raises ends this."""
    if watch is None:
        return asyncio.run(_visit(server, account, clock))
    threads = ThreadPoolExecutor(max_workers=1)
    try:
        done = threads.submit(lambda: asyncio.run(_visit(server, account, clock)))
        while not wait({done}, timeout=_LOOKS_EVERY_S).done:
            watch()
        return done.result()
    finally:
        threads.shutdown(wait=False)  # its deadlines end it


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
    if not server.pgpools_behind:
        with contextlib.suppress(psycopg.Error, DeadlinePassed):  # a router may not know the function
            is_in_recovery = bool(await _one(session, "SELECT pg_is_in_recovery()"))
    identity, unidentified = await _identity(session)
    await session.close()
    return Visit(
        connect_ms, version.split(" ", maxsplit=1)[0], is_in_recovery, identity=identity, unidentified=unidentified
    )


async def _identity(session: SqlSession) -> tuple[ServerIdentity | None, str]:
    """Or why it is not known: the function may be revoked, and a router may answer in any way."""
    try:
        rows = await session.rows(IDENTITY_SQL, deadline_s=ANSWERS_WITHIN_S)
    except (psycopg.Error, DeadlinePassed) as error:
        return None, " ".join(str(error).split()) or type(error).__name__
    facts = rows[0] if rows else {}
    if not all(facts.get(name) for name in ("system_identifier", "database", "started_at")):
        return None, "it answered without a system identifier"
    address = place_of(str(facts["host"]), int(facts["port"])) if facts.get("host") and facts.get("port") else ""
    return ServerIdentity(
        str(facts["system_identifier"]), str(facts["database"]), bool(facts.get("is_in_recovery")),
        str(facts["started_at"]), address,
    ), ""  # fmt: skip


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
