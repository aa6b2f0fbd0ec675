"""A calibration of the query cache: the same reads with the cache on and off, in turns, at several hit ratios.

The hit ratio is made by the statements, since a result is kept by its exact text: a share of them asks for one of a few
hot keys, always in the same words; all others carry a number of their own and were never asked before.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from apps.benchmarks.domain import cache_writes
from apps.benchmarks.domain.cache_sql import KEY, SQL, WRITE_SQL
from apps.benchmarks.domain.cache_writes import KEYS_OF_A_SCALE, WRITES_UP_TO
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.scratch_conf import MEMCACHED, OFF, SHMEM
from apps.benchmarks.domain.workload_parameters import Choice, WholeNumber

WORKLOAD = "query-cache"
BOTH = "both"
# The mark of every hot text.
_HOT = 1_000_000_000
# In thousandths. The first hits matter to where a cheap miss breaks even, the last to what a hit costs.
LEVELS = (0, 150, 300, 450, 600, 800, 950)
# Of a slice, beside its own time: programs start, counters are read.
SLICE_MORE_S = 0.3
# More tell nothing that these did not; a run that is given more time ends early.
MOST_BLOCKS = 200
STARTS_WITHIN_S = 6.0
# A slice whose ratio is further from what was asked says that the cache could not keep the hot keys.
_MISSED_BY = 0.1


class CachePointRow(TypedDict):
    """One slice with a cache, and the one without it of the same turn. hit_ratio: operating. Latencies: mean, ms."""

    storage: str
    block: int
    level: float
    hits: int
    misses: int
    hit_ratio: float
    tps: float
    latency_ms: float | None
    no_cache_tps: float
    no_cache_latency_ms: float | None


SCALE = WholeNumber("scale", "Scale of the tables of pgbench: 100,000 accounts each", least=1, most=10_000, default=1)
KEY_SPACE = WholeNumber("key_space", "Keys from 1 to this; null: 100,000 for each scale", least=1, most=2**31 - 1)
HOT_KEYS = WholeNumber("hot_keys", "Keys that are asked for again and again", least=1, most=100_000, default=100)
STORAGE = Choice("storage", "Where results are cached", (SHMEM, MEMCACHED, BOTH), default=SHMEM)
SLICE_S = WholeNumber("slice_s", "Each turn of each side", least=1, most=60, default=2, unit="s")
PARAMETERS = {one.name: one for one in (SQL, SCALE, KEY_SPACE, HOT_KEYS, STORAGE, SLICE_S, WRITES_UP_TO, WRITE_SQL)}


@dataclass(frozen=True)
class Plan:
    """storages: that are measured against no cache. write_rates: per second, rising; empty without writes."""

    sql: str
    key_space: int
    hot_keys: int
    storages: tuple[str, ...]
    slice_s: int
    duration_s: int
    clients: int
    write_rates: tuple[int, ...] = ()
    write_sql: str = ""

    @property
    def sides(self) -> tuple[str, ...]:
        return (OFF, *self.storages)

    @property
    def block_s(self) -> float:
        return _block_s(len(self.storages), len(self.write_rates), self.slice_s)

    @property
    def sessions(self) -> int:
        """Of one pgpool at most: readers, and writers beside them."""
        return self.clients + (cache_writes.sessions(self.write_rates[-1]) if self.write_rates else 0)

    @property
    def blocks(self) -> int:
        return min(MOST_BLOCKS, max(1, int((self.duration_s - STARTS_WITHIN_S) / self.block_s)))

    @property
    def script(self) -> str:
        """Of pgbench, with :level (of a thousand), :hot_keys and :key_space. Hot and cold texts are alike in length."""
        return (
            f"\\set turn random(1, 1000)\n\\if :turn <= :level\n\\set key random(1, :hot_keys)\n\\set mark {_HOT}\n"
            "\\else\n\\set key random(1, :key_space)\n\\set mark random(1000000001, 9999999999)\n\\endif\n"
            f"{self.sql} /* :mark */;\n"
        )

    def hot_select(self, key: int) -> str:
        """As pgbench sends it for a hot key, semicolon included."""
        return f"{KEY.sub(str(key), self.sql)} /* {_HOT} */;"

    def turns(self, block: int, chance: random.Random) -> list[tuple[int, tuple[str, ...]]]:
        """(level, sides in their order) of one block, both shuffled."""
        return [(level, self._sides(chance)) for level in chance.sample(LEVELS, len(LEVELS))]

    def write_turns(self, chance: random.Random) -> list[tuple[int, tuple[str, ...]]]:
        """(writes per second, sides in their order) of one block, both shuffled."""
        return [(rate, self._sides(chance)) for rate in chance.sample(self.write_rates, len(self.write_rates))]

    def _sides(self, chance: random.Random) -> tuple[str, ...]:
        return tuple(chance.sample(self.sides, len(self.sides)))


def plan(parameters: Mapping[str, Any], *, duration_s: int, clients: int) -> Plan:
    chosen = parameters[STORAGE.name]
    return Plan(
        sql=parameters[SQL.name],
        key_space=parameters[KEY_SPACE.name] or KEYS_OF_A_SCALE * parameters[SCALE.name],
        hot_keys=parameters[HOT_KEYS.name],
        storages=(SHMEM, MEMCACHED) if chosen == BOTH else (chosen,),
        slice_s=parameters[SLICE_S.name],
        duration_s=duration_s,
        clients=clients,
        write_rates=cache_writes.rates(parameters.get(WRITES_UP_TO.name)),
        write_sql=cache_writes.statement(parameters) if cache_writes.does_write(parameters) else "",
    )


def least_duration_s(parameters: Mapping[str, Any]) -> int:
    """For one block."""
    storages = 2 if parameters[STORAGE.name] == BOTH else 1
    rates = len(cache_writes.rates(parameters.get(WRITES_UP_TO.name)))
    return int(STARTS_WITHIN_S + _block_s(storages, rates, parameters[SLICE_S.name])) + 1


def _block_s(storages: int, rates: int, slice_s: int) -> float:
    turns = (len(LEVELS) + rates) * (1 + storages) * (slice_s + SLICE_MORE_S)
    return turns + rates * storages * (cache_writes.STALE_AFTER_S + SLICE_MORE_S)


@dataclass(frozen=True)
class Slice:
    """What one side did in one turn. hits, selects: by how much the counters of its cache grew."""

    side: str
    tps: float
    transactions: int
    latency_ms: float | None
    hits: int = 0
    selects: int = 0


def points(block: int, level: int, slices: Sequence[Slice]) -> list[CachePointRow]:
    """Of one turn: each cache against the side without one. A cache that was not asked gives none."""
    [off] = [one for one in slices if one.side == OFF]
    return [
        {
            "storage": one.side, "block": block, "level": level / 1000, "hits": one.hits, "misses": one.selects,
            "hit_ratio": one.hits / (one.hits + one.selects), "tps": one.tps, "latency_ms": one.latency_ms,
            "no_cache_tps": off.tps, "no_cache_latency_ms": off.latency_ms,
        }
        for one in slices
        if one.side != OFF and one.hits + one.selects > 0 and one.tps > 0 and off.tps > 0
    ]  # fmt: skip


def findings(found: Sequence[CachePointRow], *, is_cut_short: bool = False) -> list[RunFinding]:
    """What the measured ratios say of the cache itself. is_cut_short: its time was over within a block."""
    sentence = (
        "Turns took longer than planned, so the latest block is not whole: the machine is busy, or writes are slow. "
        "Give it more time, or measure one kind of cache at a time."
    )
    cut: list[RunFinding] = [{"check": "cache_time", "ok": False, "sentence": sentence}] if is_cut_short else []
    return [*cut, *_of_ratios(found)]


def _of_ratios(found: Sequence[CachePointRow]) -> list[RunFinding]:
    if not found:
        sentence = "The cache counted no SELECT: reads of this kind never come to it, as of a table that is left out."
        return [{"check": "cache_asked", "ok": False, "sentence": sentence}]
    hot = [one for one in found if one["level"] >= 0.5]
    if hot and max(one["hit_ratio"] for one in hot) < _MISSED_BY:
        sentence = (
            "The cache answered none of these, though they were asked for again and again: it keeps no SELECT with a "
            "function that is not immutable, of a catalogue, or of a table that is left out."
        )
        return [{"check": "cache_answers", "ok": False, "sentence": sentence}]
    far = [one for one in hot if one["hit_ratio"] < one["level"] - _MISSED_BY]
    if far:
        worst = min(far, key=lambda one: one["hit_ratio"] - one["level"])
        sentence = (
            f"Where {worst['level']:.0%} of the reads asked for a hot key, {worst['hit_ratio']:.0%} were hits: the "
            "cache did not keep them all, so it is too small for these keys or lets them expire."
        )
        return [{"check": "cache_keeps", "ok": False, "sentence": sentence}]
    return []
