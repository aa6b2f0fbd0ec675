"""What calibrations measured of a cache while its table was written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apps.benchmarks.domain import cache_writes
from apps.benchmarks.domain.cache_calibration import CachePointRow
from apps.benchmarks.domain.cache_sql import SQL
from apps.benchmarks.domain.cache_writes import CacheWriteRow
from apps.benchmarks.models import BenchmarkRun
from apps.query_cache.domain.risks import Kept
from apps.query_cache.domain.write_limit import AtRate, WritePair, write_limit
from apps.query_cache.queries.shapes import AtWriteRate, UnderWrites, WriteCurve


def under_writes(runs: Iterable[BenchmarkRun]) -> UnderWrites | None:
    """runs: latest first. None while none of them wrote and is done."""
    for run in runs:
        if run.state == BenchmarkRun.State.DONE and (curves := _curves(run)):
            parameters: Mapping[str, Any] = run.parameters
            return {
                "run": run.pk,
                "finished_at": run.finished_at,
                "sql": parameters[SQL.name],
                "write": cache_writes.statement(parameters),
                "hot_keys": parameters["hot_keys"],
                "clients": run.clients,
                "curves": curves,
            }
    return None


def kept_by_storage(found: UnderWrites | None) -> dict[str, Kept]:
    """Of the storages that it measured, those that kept answers."""
    return {
        curve["storage"]: Kept(found["run"], curve["kept_keys"], curve["stale_keys"])
        for curve in (found["curves"] if found else ())
        if found and curve["kept_keys"]
    }


def _curves(run: BenchmarkRun) -> list[WriteCurve]:
    found: dict[str, list[WritePair]] = {}
    for own in run.result.get("own", {}).values():
        written: Sequence[CacheWriteRow] = own.get("cache_writes", ())
        for row in written:
            found.setdefault(row["storage"], []).append(_pair(row))
        calm: Sequence[CachePointRow] = own.get("cache_points", ()) if written else ()
        for point in calm:
            if point["level"] * 1000 == cache_writes.LEVEL:
                found.setdefault(point["storage"], []).append(_without_writes(point))
    return [_curve(storage, pairs) for storage, pairs in sorted(found.items(), reverse=True)]


def _pair(row: CacheWriteRow) -> WritePair:
    return WritePair(
        row["wanted_per_s"], row["writes_per_s"], row["hits"], row["misses"], row["tps"], row["no_cache_tps"],
        row["write_latency_ms"], row["no_cache_write_latency_ms"], row["kept_keys"], row["stale_keys"],
    )  # fmt: skip


def _without_writes(row: CachePointRow) -> WritePair:
    return WritePair(0, 0.0, row["hits"], row["misses"], row["tps"], row["no_cache_tps"])


def _curve(storage: str, pairs: Sequence[WritePair]) -> WriteCurve:
    found = write_limit(pairs)
    return {
        "storage": storage,
        "state": found.state.value,
        "sentence": found.sentence,
        "per_s": found.per_s,
        "low": found.low,
        "high": found.high,
        "kept_keys": sum(one.kept_keys for one in found.rates),
        "stale_keys": sum(one.stale_keys for one in found.rates),
        "rates": [_at(one) for one in found.rates],
    }


def _at(one: AtRate) -> AtWriteRate:
    return {
        "wanted_per_s": one.wanted_per_s,
        "writes_per_s": one.writes_per_s,
        "hit_ratio": one.hit_ratio,
        "tps": one.tps,
        "no_cache_tps": one.no_cache_tps,
        "gain": one.gain,
        "gain_low": one.gain_low,
        "gain_high": one.gain_high,
        "write_latency_ms": one.write_latency_ms,
        "no_cache_write_latency_ms": one.no_cache_write_latency_ms,
        "kept_keys": one.kept_keys,
        "stale_keys": one.stale_keys,
    }
