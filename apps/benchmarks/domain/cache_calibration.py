"""A calibration of the query cache: the same reads with the cache on and off, in turns, at several hit ratios.

The hit ratio is made by the statements, since a result is kept by its exact text: a share of them asks for one of a few
hot keys, always in the same words; all others carry a number of their own and were never asked before.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.scratch_conf import MEMCACHED, OFF, SHMEM
from apps.benchmarks.domain.workload_parameters import Choice, ParameterDescribed, ParameterRefused, WholeNumber

WORKLOAD = "query-cache"
BOTH = "both"
LOOK_UP = "SELECT abalance FROM pgbench_accounts WHERE aid = :key"
KEYS_OF_A_SCALE = 100_000
# In thousandths. The first hits matter to where a cheap miss breaks even, the last to what a hit costs.
LEVELS = (0, 150, 300, 450, 600, 800, 950)
# Of a slice, beside its own time: programs start, counters are read.
SLICE_MORE_S = 0.3
STARTS_WITHIN_S = 6.0
# A slice whose ratio is further from what was asked says that the cache could not keep the hot keys.
_MISSED_BY = 0.1
_LONGEST_SQL = 5_000
_KEY = re.compile(r"(?<![:\w]):key\b")


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


@dataclass(frozen=True)
class Sql:
    """One SELECT by :key, on one line or several."""

    name: str = "sql"
    label: str = "The SELECT that is measured, by :key"
    default: str = LOOK_UP

    def read(self, value: object) -> str:
        if not isinstance(value, str) or not 1 <= len(value.strip()) <= _LONGEST_SQL:
            shown = f"{len(value)} characters" if isinstance(value, str) else value
            raise ParameterRefused(self.name, shown, f"must be a SELECT of 1 to {_LONGEST_SQL} characters")
        text = " ".join(value.split()).rstrip("; ")
        if not re.match(r"(select|with)\b", text, re.IGNORECASE):
            raise ParameterRefused(self.name, value, "must begin with SELECT or WITH")
        for sign in (";", "\\", "--", "/*", "\0"):
            if sign in text:
                raise ParameterRefused(self.name, value, f"must be one statement without {sign!r} in it")
        if not _KEY.search(text):
            raise ParameterRefused(self.name, value, "must ask for :key, a number that is drawn from the key space")
        return text

    def described(self) -> ParameterDescribed:
        return {
            "name": self.name, "kind": "sql", "label": self.label, "unit": "", "least": 1, "most": _LONGEST_SQL,
            "choices": None, "default": self.default,
        }  # fmt: skip


SQL = Sql()
SCALE = WholeNumber("scale", "Scale of the tables of pgbench: 100,000 accounts each", least=1, most=10_000, default=1)
KEY_SPACE = WholeNumber("key_space", "Keys from 1 to this; null: 100,000 for each scale", least=1, most=2**31 - 1)
HOT_KEYS = WholeNumber("hot_keys", "Keys that are asked for again and again", least=1, most=100_000, default=100)
STORAGE = Choice("storage", "Where results are cached", (SHMEM, MEMCACHED, BOTH), default=SHMEM)
SLICE_S = WholeNumber("slice_s", "Each turn of each side", least=1, most=60, default=2, unit="s")
PARAMETERS = {one.name: one for one in (SQL, SCALE, KEY_SPACE, HOT_KEYS, STORAGE, SLICE_S)}


@dataclass(frozen=True)
class Plan:
    """storages: that are measured against no cache."""

    sql: str
    key_space: int
    hot_keys: int
    storages: tuple[str, ...]
    slice_s: int
    duration_s: int
    clients: int

    @property
    def sides(self) -> tuple[str, ...]:
        return (OFF, *self.storages)

    @property
    def block_s(self) -> float:
        return _block_s(self.storages, self.slice_s)

    @property
    def blocks(self) -> int:
        return max(1, int((self.duration_s - STARTS_WITHIN_S) / self.block_s))

    @property
    def script(self) -> str:
        """Of pgbench, with :level (of a thousand), :hot_keys and :key_space. Hot and cold texts are alike in length."""
        return (
            "\\set turn random(1, 1000)\n\\if :turn <= :level\n\\set key random(1, :hot_keys)\n\\set mark 1000000000\n"
            "\\else\n\\set key random(1, :key_space)\n\\set mark random(1000000001, 9999999999)\n\\endif\n"
            f"{self.sql} /* :mark */;\n"
        )

    def turns(self, block: int, chance: random.Random) -> list[tuple[int, tuple[str, ...]]]:
        """(level, sides in their order) of one block, both shuffled."""
        levels = list(LEVELS)
        chance.shuffle(levels)
        return [(level, tuple(chance.sample(self.sides, len(self.sides)))) for level in levels]


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
    )


def least_duration_s(parameters: Mapping[str, Any]) -> int:
    """For one block."""
    storages = 2 if parameters[STORAGE.name] == BOTH else 1
    return int(STARTS_WITHIN_S + _block_s(range(storages), parameters[SLICE_S.name])) + 1


def _block_s(storages: Sequence[object], slice_s: int) -> float:
    return len(LEVELS) * (1 + len(storages)) * (slice_s + SLICE_MORE_S)


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


def findings(found: Sequence[CachePointRow]) -> list[RunFinding]:
    """What the measured ratios say of the cache itself."""
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
