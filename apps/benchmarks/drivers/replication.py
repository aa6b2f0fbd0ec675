"""What the primary of a run says of its replication, and commits of the load that wait for a standby."""

from __future__ import annotations

from apps.benchmarks.domain import replication
from apps.benchmarks.domain.replication import ReplicationFacts, StandbySeen
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers import database
from apps.benchmarks.drivers.driver import Account, CannotPrepare

_SETTINGS = (
    "SELECT current_setting('synchronous_standby_names'), current_setting('synchronous_commit'),"
    " current_setting('fsync') = 'on'"
)
_STANDBYS = "SELECT application_name, state, sync_state FROM pg_stat_replication ORDER BY application_name, pid"
# Of the role itself, whose sessions it sees and may cancel without any right.
_WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE usename = current_user AND application_name LIKE 'lifeguard-%%'"
    " AND wait_event = 'SyncRep'"
)
_RELEASED = (
    "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE usename = current_user"
    " AND application_name LIKE 'lifeguard-%%' AND wait_event = 'SyncRep'"
)


def look(primary: Server, account: Account, *, watcher: Account, commit_level: str) -> ReplicationFacts:
    """watcher: asked where the account of the load may not see states. commit_level: as of the topology.

    Raises CannotPrepare.
    """
    with database.session(primary, account) as session:
        [(names, commit, is_durable)] = session.execute(_SETTINGS).fetchall()
        standbys = _standbys(session)
    if replication.is_hidden(standbys):
        try:
            with database.session(primary, watcher) as session:
                standbys = _standbys(session)
        except CannotPrepare:
            pass  # what is hidden then is told as not known
    return replication.facts(names=names, commit=commit_level or commit, fsync=is_durable, standbys=standbys)


def waiting(primary: Server, account: Account) -> int:
    """Sessions of loads that wait for a standby to confirm their commit. Raises CannotPrepare."""
    with database.session(primary, account) as session:
        return int(database.one(session, _WAITING))


def release(primary: Server, account: Account) -> int:
    """End those waits: what was committed stands on the primary. How many there were. Raises CannotPrepare."""
    with database.session(primary, account) as session:
        return int(database.one(session, _RELEASED))


def _standbys(session: database.Session) -> list[StandbySeen]:
    return [
        {"application_name": name, "state": state, "sync_state": sync_state}
        for name, state, sync_state in session.execute(_STANDBYS).fetchall()
    ]
