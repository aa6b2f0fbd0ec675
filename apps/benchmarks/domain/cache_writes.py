"""The arm of a calibration that writes: the same reads, while the table they read is written ever more often.

pgpool drops all cached results of a table at each write to it, so the ratio falls as writes come more often than a hot
key is asked for again. It may drop too little, or keep anew what a standby had not replayed yet: so it is asked for the
hot keys once more when the writes are over, and what it answers held against the primary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from apps.benchmarks.domain.cache_sql import LOOK_UP, SQL, TOUCH, WRITE_SQL
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.scratch_conf import OFF, SHMEM
from apps.benchmarks.domain.workload_parameters import ParameterRefused, WholeNumber

WRITES_UP_TO = WholeNumber(
    "writes_up_to_per_s", "Also under writes to the same table, up to so many; null: no writes", least=10, most=100_000,
    unit="per s",
)  # fmt: skip
KEYS_OF_A_SCALE = 100_000
# Of a thousand reads, those that ask for a hot key while the table is written.
LEVEL = 950
_STEPS = 5
# One session commits some hundred times a second where a commit waits for a disk.
_OF_A_SESSION = 50
_MOST_SESSIONS = 8
# pgbench draws its starts at random, so a short slice makes somewhat fewer or more.
_ENOUGH = 0.7
_FEW = 30
# Standbys have replayed by then, and every session has seen its commit.
STALE_AFTER_S = 1.0
MOST_ASKED = 100


class CacheWriteRow(TypedDict):
    """One slice with a cache under writes, and the one without it of the same turn. Latencies: mean, ms.

    wanted_per_s: writes asked for at both; writes_per_s, no_cache_writes_per_s: that were made. tps: of reads.
    kept_keys: hot keys whose answer it kept, STALE_AFTER_S after the last write; stale_keys: those with old rows.
    """

    storage: str
    block: int
    wanted_per_s: int
    writes_per_s: float
    hits: int
    misses: int
    hit_ratio: float
    tps: float
    write_latency_ms: float | None
    no_cache_tps: float
    no_cache_writes_per_s: float
    no_cache_write_latency_ms: float | None
    kept_keys: int
    stale_keys: int


@dataclass(frozen=True)
class WriteSlice:
    """What one side did in one turn under writes. tps: of reads. hits, selects: as of a Slice.

    kept_keys, stale_keys: as of a row.
    """

    side: str
    tps: float
    hits: int
    selects: int
    writes_per_s: float
    write_latency_ms: float | None
    kept_keys: int = 0
    stale_keys: int = 0


def does_write(parameters: Mapping[str, Any]) -> bool:
    """Runs that were asked for before there was this arm do not name it."""
    return parameters.get(WRITES_UP_TO.name) is not None


def check(parameters: Mapping[str, Any]) -> None:
    """Raises ParameterRefused for what does not go together."""
    hot, keys = parameters["hot_keys"], parameters["key_space"] or KEYS_OF_A_SCALE * parameters["scale"]
    if hot > keys:
        raise ParameterRefused("hot_keys", hot, f"must be at most the {keys} keys that there are")
    if does_write(parameters):
        statement(parameters)


def rates(up_to: int | None) -> tuple[int, ...]:
    """Rising, each about three times the one before: 3, 9, 30, 95, 300. None without writes."""
    if up_to is None:
        return ()
    return tuple(sorted({max(1, round(up_to / 10 ** (step / 2))) for step in range(_STEPS)}))


def sessions(rate: int) -> int:
    """That make so many writes per second together."""
    return min(_MOST_SESSIONS, 1 + rate // _OF_A_SESSION)


def statement(parameters: Mapping[str, Any]) -> str:
    """The write. Raises ParameterRefused where nobody can know which table the SELECT reads."""
    given: str | None = parameters.get(WRITE_SQL.name)
    if given is None and parameters[SQL.name] != LOOK_UP:
        raise ParameterRefused(
            WRITE_SQL.name, "null", "must be given beside a SELECT of your own: a write to the table that it reads"
        )
    return given or TOUCH


def script(sql: str) -> str:
    """Of pgbench, with :hot_keys: those that are asked for are written, so that old answers can be told."""
    return f"\\set key random(1, :hot_keys)\n{sql};\n"


def rows(block: int, wanted_per_s: int, slices: Sequence[WriteSlice]) -> list[CacheWriteRow]:
    """Of one turn: each cache against the side without one. A cache that was not asked gives none."""
    [off] = [one for one in slices if one.side == OFF]
    return [
        {
            "storage": one.side, "block": block, "wanted_per_s": wanted_per_s, "writes_per_s": one.writes_per_s,
            "hits": one.hits, "misses": one.selects, "hit_ratio": one.hits / (one.hits + one.selects), "tps": one.tps,
            "write_latency_ms": one.write_latency_ms, "no_cache_tps": off.tps,
            "no_cache_writes_per_s": off.writes_per_s, "no_cache_write_latency_ms": off.write_latency_ms,
            "kept_keys": one.kept_keys, "stale_keys": one.stale_keys,
        }
        for one in slices
        if one.side != OFF and one.hits + one.selects > 0 and one.tps > 0 and off.tps > 0
    ]  # fmt: skip


def findings(found: Sequence[CacheWriteRow]) -> list[RunFinding]:
    return [*_behind(found), *_stale(found)]


def _stale(found: Sequence[CacheWriteRow]) -> list[RunFinding]:
    checks: list[RunFinding] = []
    for storage in sorted({one["storage"] for one in found}):
        own = [one for one in found if one["storage"] == storage]
        stale, kept = sum(one["stale_keys"] for one in own), sum(one["kept_keys"] for one in own)
        if stale:
            sentence = (
                f"{STALE_AFTER_S:.0f} s after the last write {stale} of the {kept} answers that "
                f"{'shared memory' if storage == SHMEM else storage} kept for hot keys had old rows, though every "
                "write went through its pgpool."
            )
            checks.append({"check": "cache_stale", "ok": False, "sentence": sentence})
    return checks


def _behind(found: Sequence[CacheWriteRow]) -> list[RunFinding]:
    """Where fewer writes were made than asked for."""
    often = [one for one in found if one["wanted_per_s"] >= _FEW]
    behind = [one for one in often if one["writes_per_s"] < _ENOUGH * one["wanted_per_s"]]
    if not behind:
        return []
    worst = min(behind, key=lambda one: one["writes_per_s"] / one["wanted_per_s"])
    count = sessions(worst["wanted_per_s"])
    sentence = (
        f"Of {worst['wanted_per_s']} writes per second {worst['writes_per_s']:.0f} were made, by {count} "
        f"session{'' if count == 1 else 's'}: a write takes too long for more. The figures are told by the writes that "
        "were made."
    )
    return [{"check": "cache_writes", "ok": False, "sentence": sentence}]
