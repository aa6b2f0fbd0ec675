"""The tables that pgbench's own workloads use: whether they stand, made ready, and seen on every server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg

from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers.pgbench import Account
from apps.clusters.outside.tls_roots import root_certificates

CONNECT_WITHIN_S = 10
TABLES: tuple[LiteralString, ...] = ("pgbench_accounts", "pgbench_branches", "pgbench_tellers", "pgbench_history")
_LOOKS_EVERY_S = 0.2


class CannotPrepare(RuntimeError):
    """A server did not let its data be looked at or made. The text says which, why, and what mends it."""


@dataclass(frozen=True)
class Facts:
    """scale: of the tables that stand, None where they do not. version: of PostgreSQL, as 15.8."""

    scale: int | None
    version: str


def look(server: Server, account: Account) -> Facts:
    """Raises CannotPrepare."""
    with _session(server, account) as session:
        version = str(_one(session, "SHOW server_version")).split(" ", maxsplit=1)[0]
        standing = _one(session, "SELECT count(to_regclass(name)) FROM unnest(%s::text[]) AS name", [list(TABLES)])
        if standing < len(TABLES):
            return Facts(None, version)
        return Facts(_one(session, "SELECT count(*) FROM pgbench_branches"), version)


def settle(server: Server, account: Account, *, watch: Callable[[], None]) -> str:
    """Analyse the tables and write everything out, so that no run pays for the one before. What could not be done.

    watch: as of await_replay. Raises CannotPrepare.
    """
    with _session(server, account) as session:
        analyse: LiteralString = f"VACUUM ANALYZE {', '.join(TABLES)}"
        _watched(session, analyse, watch)
        try:
            _watched(session, "CHECKPOINT", watch)
        except psycopg.errors.InsufficientPrivilege:
            return (
                f"no CHECKPOINT before the run: {account.username} may not (GRANT pg_checkpoint allows it, from 15 on)"
            )
    return ""


def await_replay(
    primary: Server, standbys: Sequence[Server], account: Account, *, watch: Callable[[], None], until: float
) -> None:
    """Until every standby has applied what the primary has written by now. watch: called meanwhile; may raise.

    until: of time.monotonic(). Raises CannotPrepare.
    """
    with _session(primary, account) as session:
        written = _one(session, "SELECT pg_current_wal_lsn()::text")
    for server in standbys:
        with _session(server, account) as session:
            while not _one(session, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [written]):
                if time.monotonic() > until:
                    raise CannotPrepare(
                        f"{server.name} has not applied the data that was prepared on {primary.name}. Look at its "
                        "replication lag, or leave it out."
                    )
                watch()
                time.sleep(_LOOKS_EVERY_S)


@contextmanager
def _session(server: Server, account: Account) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    try:
        with psycopg.connect(
            host=server.host, port=server.port, user=account.username, password=account.password,
            dbname=account.database, sslmode=account.sslmode,
            sslrootcert=root_certificates(account.sslmode), autocommit=True, connect_timeout=CONNECT_WITHIN_S,
            application_name="lifeguard-benchmark",
        ) as session:  # fmt: skip
            yield session
    except psycopg.Error as error:
        said = " ".join(str(error).split()) or type(error).__name__
        place = f"{server.name} ({server.host}:{server.port}), database {account.database}"
        raise CannotPrepare(f"{place}: {said}") from error


def _watched(session: psycopg.Connection[tuple[Any, ...]], statement: LiteralString, watch: Callable[[], None]) -> None:
    """It may take minutes. Whatever watch raises ends it on the server too."""
    with ThreadPoolExecutor(max_workers=1) as threads:
        done = threads.submit(session.execute, statement)
        try:
            while not wait({done}, timeout=_LOOKS_EVERY_S).done:
                watch()
        except BaseException:
            session.cancel_safe(timeout=CONNECT_WITHIN_S)
            raise
        done.result()


def _one(session: psycopg.Connection[tuple[Any, ...]], statement: LiteralString, values: Sequence[Any] = ()) -> Any:
    row = session.execute(statement, values).fetchone()
    return None if row is None else row[0]
