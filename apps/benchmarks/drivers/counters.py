"""What PostgreSQL counts of the database of a load, at every server that the load may come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apps.benchmarks.domain.counters_check import Counted
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers import database
from apps.benchmarks.drivers.driver import Account

# Who starts anew after a crash begins at 0.
_COUNTED = """
SELECT xact_commit + xact_rollback, concat(pg_postmaster_start_time(), ' ', stats_reset)
FROM pg_stat_database WHERE datname = current_database()
"""


def read(servers: Iterable[Server], account: Account, *, watch: Callable[[], None]) -> dict[str, Counted]:
    """By place. watch: called before each server; may raise. Raises NotAnswered."""
    found: dict[str, Counted] = {}
    for server in servers:
        watch()
        with database.session(server, account) as session:
            for count, since in session.execute(_COUNTED):
                found[server.place] = Counted(int(count), str(since))
    return found
