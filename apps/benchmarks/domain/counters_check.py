"""Whether PostgreSQL counted as many transactions as the load says that it made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.workloads import SKIP_TRX

# A transaction of these is one of PostgreSQL at least; of own scripts nobody knows, messaging keeps books of its own.
DRIVERS = ("pgbench", "sysbench", "tpcc")
# Of fewer a handful of others would be a share.
FEWEST = 1000
MISSING_SHARE = 0.03
# A session tells its counters once a second at most, and when it ends. One that is kept may owe its latest second.
KEPT_MISSING_SHARE = 0.1
KEPT_MISSING_S = 1.5
# One that does nothing more tells it then: PGSTAT_IDLE_INTERVAL of PostgreSQL, and a little.
KEPT_TELLS_WITHIN_S = 15
OTHERS_SHARE = 0.1
# Autovacuum, monitoring, Lifeguard itself; sessions that are opened and prepare statements; the end of a warm-up.
OTHERS_PER_S = 5
OTHERS_PER_CLIENT = 20
OTHERS_S = 1.0


@dataclass(frozen=True)
class Counted:
    """Of one database of one server. transactions: committed and rolled back. since: what the count began with."""

    transactions: int
    since: str


def is_checked(wish: Wish) -> bool:
    return wish.workload.driver in DRIVERS


def grown(before: Mapping[str, Counted], after: Mapping[str, Counted]) -> int | None:
    """By server. Together; None where one is missing, began to count anew, or fell."""
    if not before or set(before) != set(after):
        return None
    total = 0
    for name, now in after.items():
        more = now.transactions - before[name].transactions
        if now.since != before[name].since or more < 0:
            return None
        total += more
    return total


def are_enough(wish: Wish, *, counted: int, told: int) -> bool:
    """told: transactions that the load tells."""
    share = MISSING_SHARE
    if not wish.topology.is_direct:
        share = KEPT_MISSING_SHARE + KEPT_MISSING_S / wish.duration_s
    return counted >= told * (1 - share)


def finding(
    wish: Wish, *, counted: int, told: int, failed: int, servers: int, cache: tuple[int, int] | None,
    follows_kept: bool = False,
) -> RunFinding | None:  # fmt: skip
    """counted: by PostgreSQL at so many servers. cache: hits and misses of the pgpools meanwhile; None: not known.

    follows_kept: whether sessions that are kept may have told those of a run before it meanwhile.
    """
    if told < FEWEST:
        return None
    if not are_enough(wish, counted=counted, told=told):
        sentence = f"PostgreSQL counted {counted:,} of {told:,} transactions: the rest {_cause(wish, cache)}."
        return {"check": "counters_disagree", "ok": False, "sentence": sentence}
    others = counted - told - failed
    if _is_exact(wish) and not follows_kept and others > _usual_others(wish, told, servers):
        sentence = (
            f"PostgreSQL counted {others:,} transactions more than the {told:,} of this load: others were at work, or "
            "sessions of a pool told those of earlier."
        )
        return {"check": "counters_disagree", "ok": False, "sentence": sentence}
    sentence = f"PostgreSQL counted {counted:,} transactions meanwhile, this load {told:,}."
    if counted < told * (1 - MISSING_SHARE):
        sentence += " Sessions that are kept may owe those of their latest second."
    return {"check": "counters_disagree", "ok": True, "sentence": sentence}


def cache_moved(
    before: Mapping[str, tuple[int | None, int | None]], after: Mapping[str, tuple[int | None, int | None]]
) -> tuple[int, int] | None:
    """Hits and misses of all pgpools between two polls; None where one is not known, or began anew."""
    hits = misses = 0
    for name, (hit, missed) in after.items():
        hit_before, missed_before = before.get(name, (None, None))
        if hit is None or missed is None or hit_before is None or missed_before is None:
            return None
        if hit < hit_before or missed < missed_before:
            return None
        hits, misses = hits + hit - hit_before, misses + missed - missed_before
    return hits, misses


def _cause(wish: Wish, cache: tuple[int, int] | None) -> str:
    if wish.topology.is_direct:
        return "never reached it, or went to another server or database"
    if wish.topology.is_through_pgpool and cache is not None and cache[0]:
        hits, misses = cache
        return (
            f"was answered by a query cache (that of the pgpools had {hits:,} hits meanwhile, a hit ratio of "
            f"{100 * hits / (hits + misses):.0f} %), or never committed"
        )
    return "was answered by a query cache, went to another server, or never committed"


def _is_exact(wish: Wish) -> bool:
    """Whether one transaction of the load is one of PostgreSQL: pgpool begins one at two servers.

    So is a session that is opened, and with skip_trx every statement.
    """
    return wish.topology.is_direct and not wish.reconnects and not wish.parameters.get(SKIP_TRX.name)


def _usual_others(wish: Wish, told: int, servers: int) -> float:
    of_load = told * (OTHERS_SHARE + OTHERS_S / wish.duration_s)
    return of_load + OTHERS_PER_S * wish.duration_s * servers + OTHERS_PER_CLIENT * wish.clients
