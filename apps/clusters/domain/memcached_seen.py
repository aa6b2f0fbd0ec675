"""What is known of a pgpool's memcached from question to question, how it is kept, and what it means, in words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from apps.clusters.domain.memcached import LONGEST_WAIT_S, MemcachedState, MemcachedStats, MemcachedTold, Place
from apps.clusters.domain.pgpool_views import listed

# What is true of the memcached itself; that Lifeguard cannot see it says nothing of it.
TELLING = frozenset({MemcachedState.ALIVE, MemcachedState.FROZEN, MemcachedState.GONE})


@dataclass(frozen=True)
class MemcachedSeen:
    """place: as pgpool names it. asked: host:port of the question. since: when this state was found first.

    known: what was told of this memcached latest by an answer, a silence or a refusal; None before.
    """

    place: Place
    asked: str
    told: MemcachedTold
    since: dt.datetime
    asked_at: dt.datetime
    known: MemcachedState | None = None

    @property
    def state(self) -> MemcachedState:
        return self.told.state


def settled(told: MemcachedTold, known: MemcachedState | None) -> MemcachedTold:
    """A stopped memcached takes no connection any more once its queue is full: it is as frozen as before."""
    if known == MemcachedState.FROZEN and told.is_connect_timeout:
        reason = "it gave no answer before, and now takes no connection either"
        return MemcachedTold(MemcachedState.FROZEN, reason, is_connect_timeout=True)
    return told


def kept(seen: MemcachedSeen) -> dict[str, Any]:
    """As JSON; seen_of reads it."""
    told = asdict(seen.told)
    return {
        **told,
        "state": seen.state.value,
        "host": seen.place.host,
        "port": seen.place.port,
        "asked": seen.asked,
        "since": seen.since.isoformat(),
        "asked_at": seen.asked_at.isoformat(),
        "known": seen.known.value if seen.known is not None else None,
    }


def seen_of(row: Mapping[str, Any]) -> MemcachedSeen:
    stats = MemcachedStats(**row["stats"]) if row["stats"] is not None else None
    state, known = MemcachedState(row["state"]), row["known"]
    return MemcachedSeen(
        place=Place(row["host"], row["port"]),
        asked=row["asked"],
        told=MemcachedTold(state, row["reason"], stats, row["is_connect_timeout"]),
        since=dt.datetime.fromisoformat(row["since"]),
        asked_at=dt.datetime.fromisoformat(row["asked_at"]),
        known=MemcachedState(known) if known is not None else None,
    )


def headline(state: MemcachedState, asked: str) -> str:
    """asked: as cache-1:11211."""
    return f"memcached at {asked} {_HEADLINES[state]}"


_HEADLINES = {
    MemcachedState.ALIVE: "answers again",
    MemcachedState.FROZEN: "does not answer",
    MemcachedState.GONE: "is gone",
    MemcachedState.UNREACHABLE: "cannot be seen from here",
}


def consequence(state: MemcachedState, pgpools: Sequence[str], reason: str = "") -> str:
    """What that means for reads through these pgpools, and what mends it. reason: as MemcachedTold has it."""
    through = listed(sorted(pgpools)) or "pgpool"
    why = f"{reason[:1].upper()}{reason[1:].rstrip('.')}. " if reason else ""
    if state == MemcachedState.FROZEN:
        return (
            f"{why}Each SELECT through {through} may wait up to {LONGEST_WAIT_S} s for it. Let it run again, or end "
            "it: without memcached SELECTs go on, only uncached."
        )
    if state == MemcachedState.GONE:
        return (
            f"{why}SELECTs through {through} go on, but nothing is cached, and SHOW pool_cache may show zeros only. "
            "Start it again."
        )
    if state == MemcachedState.UNREACHABLE:
        return f"{why}Whether it answers {through} is not known."
    return f"Results of {through} are cached again."
