"""The data of a run on its servers: what stands there, made ready for load, and seen by every standby."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from apps.benchmarks.domain.pgbench_failure import OF_THE_SERVER, parse_failure
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers.driver import APPLICATION_NAME, CONNECT_WITHIN_S, Account, CannotPrepare, NotAnswered
from apps.clusters.outside.tls_roots import root_certificates

_LOOKS_EVERY_S = 0.2
_IN_TABLESPACE = re.compile(r"pg_tblspc/(\d{1,10})/")
Session = psycopg.Connection[tuple[Any, ...]]


@contextmanager
def session(server: Server, account: Account) -> Iterator[Session]:
    """What PostgreSQL refuses there rises as NotAnswered, with the name of the server.

    With what mends it, where it refused the session or its disk is full.
    """
    where = f"{server.full_name}, database {account.database}"
    try:
        opened = psycopg.connect(
            host=server.host, port=server.port, user=account.username, password=account.password,
            dbname=account.database, sslmode=account.sslmode,
            sslrootcert=root_certificates(account.sslmode), autocommit=True, connect_timeout=CONNECT_WITHIN_S,
            application_name=APPLICATION_NAME,
        )  # fmt: skip
    except psycopg.Error as error:
        said = _said(error)
        failure = parse_failure(said)
        fix = f"{'' if said.endswith(('.', '?')) else '.'} {failure.fix}" if failure.cause in OF_THE_SERVER else ""
        raise NotAnswered(f"{where}: {said}{fix}") from error
    try:
        with opened, _naming_a_full_disk(opened, where):
            yield opened
    except psycopg.Error as error:
        raise NotAnswered(f"{where}: {_said(error)}") from error


@contextmanager
def _naming_a_full_disk(session: Session, where: str) -> Iterator[None]:
    try:
        yield
    except psycopg.errors.DiskFull as error:
        said = _said(error)
        failure = parse_failure(said)
        words = [f"{where}: {failure.reason}", failure.fix, tablespace_words(session, said)]
        raise NotAnswered(" ".join(filter(None, words))) from error


def tablespace_words(session: Session, said: str) -> str:
    """Which place a file lies in that the server named by the number of its tablespace; "" where it named none."""
    match = _IN_TABLESPACE.search(said)
    if match is None:
        return ""
    statement = "SELECT spcname, pg_tablespace_location(oid) FROM pg_tablespace WHERE oid = %s"
    row = session.execute(statement, [int(match[1])]).fetchone()
    return "" if row is None else f"That is the tablespace {row[0]}, in {row[1]} on its host."


def _said(error: psycopg.Error) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def one(session: Session, statement: LiteralString, values: Sequence[Any] = ()) -> Any:
    row = session.execute(statement, values).fetchone()
    return None if row is None else row[0]


def standing_tables(session: Session, tables: Iterable[str]) -> set[str]:
    """Those of them that are there, indexes as well."""
    statement = "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NOT NULL"
    return {name for (name,) in session.execute(statement, [list(tables)])}


def tables_with_key(session: Session, tables: Iterable[str]) -> set[str]:
    """Those of them that have a primary key."""
    statement = (
        "SELECT name FROM unnest(%s::text[]) AS name JOIN pg_index ON indrelid = to_regclass(name)"
        " WHERE indisprimary AND indisvalid"
    )
    return {name for (name,) in session.execute(statement, [list(tables)])}


def highest_id(session: Session, table: str) -> int | None:
    """None of an empty one."""
    row = session.execute(sql.SQL("SELECT max(id) FROM {}").format(sql.Identifier(table))).fetchone()
    return None if row is None else row[0]


def version(server: Server, account: Account) -> str:
    """Of PostgreSQL, as 15.8. Raises CannotPrepare."""
    with session(server, account) as found:
        return str(one(found, "SHOW server_version")).split(" ", maxsplit=1)[0]


def settle(server: Server, account: Account, tables: Sequence[str], *, watch: Callable[[], None]) -> str:
    """Analyse the tables and write everything out, so that no run pays for the one before. What could not be done.

    tables: of a schema by its name, as own.orders. watch: as of await_replay. Raises CannotPrepare.
    """
    with session(server, account) as found:
        if tables:
            names = sql.SQL(", ").join(sql.Identifier(*name.split(".")) for name in tables)
            watched(found, sql.SQL("VACUUM ANALYZE {}").format(names), watch)
        try:
            watched(found, sql.SQL("CHECKPOINT"), watch)
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
    with session(primary, account) as found:
        written = one(found, "SELECT pg_current_wal_lsn()::text")
    for server in standbys:
        with session(server, account) as found:
            while not one(found, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [written]):
                if time.monotonic() > until:
                    raise CannotPrepare(
                        f"{server.name} has not applied the data that was prepared on {primary.name}. Look at its "
                        "replication lag, or leave it out."
                    )
                watch()
                time.sleep(_LOOKS_EVERY_S)


def watched(
    session: Session, statement: LiteralString | sql.SQL | sql.Composed, watch: Callable[[], None]
) -> psycopg.Cursor[tuple[Any, ...]]:
    """One that may take minutes. Whatever watch raises ends it on the server too."""
    with ThreadPoolExecutor(max_workers=1) as threads:
        done = threads.submit(lambda: session.execute(statement))
        try:
            while not wait({done}, timeout=_LOOKS_EVERY_S).done:
                watch()
        except BaseException:
            session.cancel_safe(timeout=CONNECT_WITHIN_S)
            raise
        return done.result()
