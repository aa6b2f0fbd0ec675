"""What to change so that a query cache pays, or answers nothing old: parameter by parameter, pgpool by pgpool.

pgpool keeps results in blocks. Where none has room left, the oldest is emptied with all that it holds, and the same is
done where memqcache_max_num_cache results are kept already. Both are taken as shared memory when pgpool starts.
Source: Pgpool-II manual, "Configurations to use shared memory".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apps.clusters.domain.memcached import MEMCACHED, is_loopback
from apps.clusters.domain.parameters import catalogue
from apps.clusters.domain.parameters.parameter import Context, Parameter, number
from apps.clusters.domain.routing_words import listed
from apps.query_cache.domain.cache_state import CacheState, percent
from apps.query_cache.domain.risks import Kept
from apps.query_cache.domain.settings import SHMEM, CacheSettings

FULL = 0.9
# Rows a second from which a table is worth being named.
WRITTEN_OFTEN = 1.0
MOST_TABLES_NAMED = 3
# How long old rows may be answered, where nobody has said: short enough to be borne, long enough for hits.
EXPIRE_S = 60
MEMCACHED_HOST = "memqcache_memcached_host"
_MIB = 1024**2


@dataclass(frozen=True)
class CacheSeen:
    """The cache of one pgpool. filled, entries_filled: 0..1 of its memory and of its entries; None where not known."""

    name: str
    version: str
    settings: CacheSettings
    filled: float | None = None
    entries_filled: float | None = None


@dataclass(frozen=True)
class Change:
    """What one pgpool.conf should say."""

    pgpool: str
    parameter: str
    value: str


@dataclass(frozen=True)
class WrittenTable:
    """name: with its schema."""

    name: str
    rows_per_s: float


@dataclass(frozen=True)
class Advice:
    """key: as REST names it. asks: a parameter whose value nobody but a person knows, "" for none."""

    key: str
    sentence: str
    changes: tuple[Change, ...]
    asks: str = ""


def advice(
    state: CacheState,
    pgpools: Sequence[CacheSeen],
    *,
    tables: Sequence[WrittenTable] = (),
    leaving_out: Sequence[Change] = (),
    measured: Mapping[str, Kept] | None = None,
) -> list[Advice]:
    """pgpools: all of a cluster; what is said is of those whose cache is on.

    measured: of the latest calibration that wrote, by storage.

    tables: those to leave out, written most first, and leaving_out: what does that; from tables_to_leave_out.
    """
    on = [one for one in pgpools if one.settings.is_on]
    found: list[Advice] = []
    if state is CacheState.COSTS:
        found.append(_of_all("turn_off", _TURN_OFF, on, "memory_cache_enabled", "off"))
    if tables and leaving_out:
        found.append(Advice("leave_out", _leave_out(tables), tuple(leaving_out)))
    found += _more_memory(on)
    found += _more_entries(on)
    found += _stale(on, measured or {})
    return found


def tables_to_leave_out(state: CacheState, written: Sequence[WrittenTable]) -> list[WrittenTable]:
    """Of tables whose results are kept: the few written most, where the cache does not pay for sure.

    A cache that pays does so with its writes: at many reads a second it is warm again at once.
    """
    if state not in (CacheState.COSTS, CacheState.CLOSE):
        return []
    often = [one for one in written if one.rows_per_s >= WRITTEN_OFTEN]
    return sorted(often, key=lambda one: -one.rows_per_s)[:MOST_TABLES_NAMED]


def needs_restart(parameter: str, version: str) -> bool:
    """Whether a pgpool of this version reads it only when it starts."""
    known = catalogue.for_version(version or None).find(parameter)
    return known is not None and known.context is Context.RESTART


_TURN_OFF = "Turn it off: at this hit ratio the misses cost more than the hits save."
_INVALIDATE = (
    "Let writes empty what they touch: without memqcache_auto_cache_invalidation a result stays as old as it is until "
    "it expires."
)


def _of_all(key: str, sentence: str, pgpools: Sequence[CacheSeen], parameter: str, value: str) -> Advice:
    return Advice(key, sentence, tuple(Change(one.name, parameter, value) for one in pgpools))


def _leave_out(tables: Sequence[WrittenTable]) -> str:
    named = listed([f"{one.name} ({one.rows_per_s:,.1f} rows a second)" for one in tables])
    return (
        f"Leave out what is written most: {named}. Every committed write through a pgpool drops all results of its "
        "table there; how often they are hit in between, pgpool does not tell. A reload brings it in, or takes it back."
    )


def _more_memory(on: Sequence[CacheSeen]) -> Iterator[Advice]:
    full = [one for one in on if one.settings.method == SHMEM and (one.filled or 0) >= FULL]
    changes = [change for one in full if (change := _doubled_size(one)) is not None]
    if changes:
        how_full = listed([f"{one.name} is {percent(one.filled or 0)} full" for one in full])
        yield Advice(
            "more_memory",
            f"Give it more memory: the cache of {how_full}. Where no block has room left pgpool empties the oldest one "
            "with all that it holds. Twice as much is a start; each host must have it to spare.",
            tuple(changes),
        )


def _doubled_size(one: CacheSeen) -> Change | None:
    name = "memqcache_total_size"
    parameter = catalogue.for_version(one.version or None).find(name)
    now = None if parameter is None else number(parameter, one.settings.total_size)
    return None if parameter is None or not now else Change(one.name, name, _size(parameter, 2 * int(now)))


def _size(parameter: Parameter, size_bytes: int) -> str:
    """As 128MB; in bytes where the version takes no units, or it is not whole."""
    return f"{size_bytes // _MIB}MB" if parameter.takes_units and size_bytes % _MIB == 0 else str(size_bytes)


def _more_entries(on: Sequence[CacheSeen]) -> Iterator[Advice]:
    full = [one for one in on if one.settings.method == SHMEM and (one.entries_filled or 0) >= FULL]
    changes = [
        Change(one.name, "memqcache_max_num_cache", str(2 * one.settings.max_entries))
        for one in full
        if one.settings.max_entries
    ]
    if changes:
        how_full = listed([f"{percent(one.entries_filled or 0)} of those of {one.name}" for one in full])
        yield Advice(
            "more_entries",
            f"Let it keep more results: {how_full} are in use, and beyond them pgpool empties a block for every new "
            "one, whatever memory is left. Each place takes 64 bytes.",
            tuple(changes),
        )


def _stale(on: Sequence[CacheSeen], measured: Mapping[str, Kept]) -> Iterator[Advice]:
    blind = [one for one in on if not one.settings.invalidates]
    if blind:
        yield _of_all("invalidate", _INVALIDATE, blind, "memqcache_auto_cache_invalidation", "on")
    apart = [one for one in on if one.settings.method == SHMEM] if len(on) > 1 else []
    forever = [one for one in on if one.settings.expire_s == 0 and (one in apart or one in blind)]
    if forever:
        sentence = (
            "Let results expire: what no write through the same pgpool drops is answered for ever now. "
            f"{EXPIRE_S} s is a proposal; take what your readers can bear."
        )
        yield _of_all("expire", sentence, forever, "memqcache_expire", str(EXPIRE_S))
    memcached = measured.get(MEMCACHED)
    if apart and (memcached is None or not memcached.old):
        yield _one_for_all(apart, is_measured=memcached is not None)


def _one_for_all(apart: Sequence[CacheSeen], *, is_measured: bool) -> Advice:
    """One memcached: a write through one pgpool drops the results of all. is_measured: that it keeps no old rows."""
    sentence = (
        "Keep results in one memcached that every pgpool reaches: in shared memory each has its own, and a write "
        "through one leaves the others answering the old rows."
    )
    if not is_measured:
        sentence += (
            " Calibrate it with writes first: 4.3.5 and 4.6.1 were measured to keep old rows in it under many writes."
        )
    asks = MEMCACHED_HOST if any(_is_this_host(one.settings.memcached_host) for one in apart) else ""
    if asks:
        sentence += f" Name its host first, as {MEMCACHED_HOST}: now a pgpool would look for one on its own machine."
    changes = tuple(Change(one.name, "memqcache_method", MEMCACHED) for one in apart)
    return Advice("memcached", sentence, changes, asks)


def _is_this_host(host: str) -> bool:
    return not host or is_loopback(host)
