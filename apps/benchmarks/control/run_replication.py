"""Under which replication a run is measured; a run whose commits would wait for ever ends, and says so."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from apps.benchmarks.domain import replication
from apps.benchmarks.domain.replication import ReplicationFacts
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers import replication as asked
from apps.benchmarks.drivers.driver import Account, CannotPrepare
from apps.benchmarks.models import BenchmarkRun
from apps.clusters.models import BackendLatest

logger = logging.getLogger(__name__)

# A standby that starts anew is back by then.
COMES_BACK_WITHIN_S = 10.0
_LOOKS_EVERY_S = 0.5
POLLED_DATABASE = "postgres"


def look(run: BenchmarkRun, wish: Wish, primary: Server, account: Account) -> ReplicationFacts:
    """What the load is measured under. Raises CannotPrepare."""
    level = wish.topology.commit_level
    return asked.look(primary, account, watcher=_watcher(run, account), commit_level=level)


def look_again(run: BenchmarkRun, wish: Wish, primary: Server, account: Account) -> ReplicationFacts | None:
    """After it. None where the primary does not answer: its figures stand all the same."""
    try:
        return look(run, wish, primary, account)
    except CannotPrepare as error:
        logger.warning("replication after run %s is not known: %s", run.pk, error)
        return None


def refuse_unless_commits_return(
    run: BenchmarkRun, wish: Wish, primary: Server, account: Account, *, watch: Callable[[], None]
) -> None:
    """Its data is made at the role's own level, its load at that of its topology. Raises CannotPrepare."""
    until = time.monotonic() + COMES_BACK_WITHIN_S
    level = wish.topology.commit_level if wish.writes else ""
    while True:
        found = asked.look(primary, account, watcher=_watcher(run, account), commit_level="")
        levels = [found["synchronous_commit"], *([level] if level else [])]
        why = next((said for one in levels if (said := replication.waits_for_ever(found, one))), "")
        if not why:
            return
        if time.monotonic() > until:
            raise CannotPrepare(why)
        watch()
        time.sleep(_LOOKS_EVERY_S)


def applying(run: BenchmarkRun, wish: Wish, standbys: Sequence[Server]) -> list[Server]:
    """Those that the run reads from: a pgpool may send its reads to any that is not known to be away."""
    if wish.topology.is_direct:
        chosen = {server.name for server in wish.topology.servers}
        return [one for one in standbys if one.name in chosen]
    seen = BackendLatest.objects.filter(backend__cluster=run.cluster).select_related("backend")
    away = {each.backend.shown_name for each in seen if each.reason}
    return [one for one in standbys if one.name not in away]


def far_behind(run: BenchmarkRun, *, most_s: float) -> str:
    """Why the run ends, as a standby was polled latest; "" where none is behind by more."""
    late = BackendLatest.objects.filter(
        backend__cluster=run.cluster, replay_lag_s__gt=most_s
    ).select_related("backend").first()  # fmt: skip
    if late is None:
        return ""
    return (
        f"{late.backend.shown_name} is {late.replay_lag_s:.1f} s behind; during a run at most {most_s:g} s are allowed."
    )


def waiting_words(primary: Server, account: Account) -> str:
    """Of a load that is not done in time: that its commits wait, where they do."""
    try:
        count = asked.waiting(primary, account)
    except CannotPrepare:
        return ""
    if not count:
        return ""
    sessions = "1 of its sessions waits" if count == 1 else f"{count} of its sessions wait"
    return (
        f"{sessions} for a synchronous standby to confirm a commit (SyncRep). Look whether the standbys of "
        "synchronous_standby_names are connected; those waits are ended, and what was committed stands on the primary."
    )


def release(run: BenchmarkRun, primary: Server, account: Account) -> None:
    """Sessions whose program is gone would wait, and keep their locks, until a standby comes."""
    try:
        asked.release(primary, account)
    except CannotPrepare as error:
        logger.warning("commits of run %s that wait could not be looked at: %s", run.pk, error)


def _watcher(run: BenchmarkRun, account: Account) -> Account:
    """What Lifeguard polls by, which may usually see more."""
    cluster = run.cluster
    return Account(cluster.username, cluster.password, POLLED_DATABASE, account.sslmode)
