"""What the commits of the lab's primary wait for: synchronous standbys, none, or no standby at all."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import sql

from deploy.lab.backends import Backends

SEEN_WITHIN_S = 60.0
REPLICATION_ROLE = "replicator"


class NotReplicated(RuntimeError):
    """The primary of the lab does not replicate as it was told to."""


@contextmanager
def waits_for(backends: Backends, names: str) -> Iterator[None]:
    """names: as synchronous_standby_names. It is as it was afterwards, for the standbys too."""
    try:
        set_names(backends, names)
        yield
    finally:
        put_back(backends)


def set_names(backends: Backends, names: str) -> None:
    """Once the primary goes by them. Standbys that they name need not be there."""
    with backends.connect(backends.primary) as session:
        session.execute(sql.SQL("ALTER SYSTEM SET synchronous_standby_names = {}").format(sql.Literal(names)))
        session.execute("SELECT pg_reload_conf()")
    _until(backends, f"synchronous_standby_names is {names!r}", "SELECT current_setting(%s) = %s", names)


def first_of(backends: Backends) -> str:
    """One synchronous standby, the others potential."""
    return f"FIRST 1 ({', '.join(backend.name for backend in backends.standbys)})"


def await_standbys(backends: Backends) -> None:
    """Until all of them stream, and have replayed what is written."""
    statement = (
        "SELECT count(*) FILTER (WHERE state = 'streaming' AND replay_lsn >= pg_current_wal_flush_lsn()) = %s"
        " FROM pg_stat_replication"
    )
    _until(backends, "every standby streams", statement, len(backends.standbys))


def cut_off(backends: Backends) -> None:
    """No standby is connected any more. They run on, and pgpool keeps them."""
    with backends.connect(backends.primary) as session:
        session.execute(sql.SQL("ALTER ROLE {} NOLOGIN").format(sql.Identifier(REPLICATION_ROLE)))
        session.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_replication")
    _until(backends, "no standby is connected", "SELECT count(*) = %s FROM pg_stat_replication", 0)


def connect_again(backends: Backends) -> None:
    with backends.connect(backends.primary) as session:
        session.execute(sql.SQL("ALTER ROLE {} LOGIN").format(sql.Identifier(REPLICATION_ROLE)))
    await_standbys(backends)


def put_back(backends: Backends) -> None:
    """As the lab made it. A commit that waits goes on."""
    with backends.connect(backends.primary) as session:
        session.execute("ALTER SYSTEM RESET synchronous_standby_names")
        session.execute("SELECT pg_reload_conf()")
    _until(backends, "no commit waits", "SELECT current_setting(%s) = %s", "")
    connect_again(backends)


def _until(backends: Backends, what: str, statement: str, wanted: str | int) -> None:
    values = [wanted] if isinstance(wanted, int) else ["synchronous_standby_names", wanted]
    until = time.monotonic() + SEEN_WITHIN_S
    while True:
        with backends.connect(backends.primary) as session:
            row = session.execute(statement.encode(), values).fetchone()
        if row is not None and row[0]:
            return
        if time.monotonic() > until:
            raise NotReplicated(f"not within {SEEN_WITHIN_S:.0f} s on {backends.primary.name}: {what}")
        time.sleep(0.1)
