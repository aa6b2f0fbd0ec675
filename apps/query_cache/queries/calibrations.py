"""Calibrations of a cluster: runs of the benchmark machinery, and the break-even that their pairs give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apps.benchmarks.domain.cache_calibration import KEY_SPACE, SCALE, WORKLOAD, CachePointRow
from apps.benchmarks.domain.cache_sql import SQL
from apps.benchmarks.domain.cache_writes import WRITES_UP_TO
from apps.benchmarks.models import BenchmarkRun
from apps.clusters.models import Cluster
from apps.query_cache.domain import warm_up
from apps.query_cache.domain.break_even import BreakEven, break_even
from apps.query_cache.domain.cache_fit import CachePoint
from apps.query_cache.queries.shapes import BreakEvenCurve, CalibrationAnswer

# Of the curve; the last lies a little below 1, where the ratio since the start would be for ever.
_STEPS = 50
_END = 0.99


def calibrations_of(*, cluster: Cluster) -> list[BenchmarkRun]:
    """Latest first; the cluster is one of the caller's."""
    return list(BenchmarkRun.objects.filter(cluster=cluster, workload=WORKLOAD).order_by("-pk")[:20])


def latest_done(runs: Iterable[BenchmarkRun]) -> BenchmarkRun | None:
    return next((run for run in runs if run.state == BenchmarkRun.State.DONE), None)


def measured_of(run: BenchmarkRun) -> dict[str, BreakEven]:
    """storage -> what its pairs say."""
    return {storage: break_even(_points(rows)) for storage, rows in _by_storage(run).items()}


def calibration_answer(run: BenchmarkRun) -> CalibrationAnswer:
    parameters: Mapping[str, Any] = run.parameters
    measured = measured_of(run)
    latest = run.samples.filter(attempt=run.attempts).order_by("-at_s").first()
    return {
        "run": run.pk,
        "state": run.state,
        "is_active": run.state in BenchmarkRun.ACTIVE,
        "phase": run.phase,
        "error": run.error or run.stop_reason,
        "pgpool": run.topology.partition(":")[2],
        "sql": parameters[SQL.name],
        "key_space": parameters[KEY_SPACE.name] or 100_000 * parameters[SCALE.name],
        "hot_keys": parameters["hot_keys"],
        "clients": run.clients,
        "duration_s": run.duration_s,
        "writes_up_to_per_s": parameters.get(WRITES_UP_TO.name),
        "measured_s": latest.at_s if latest else None,
        "requested_by": run.requested_by_name,
        "created_at": run.created_at,
        "measured_at": run.measured_at,
        "finished_at": run.finished_at,
        "curves": [_curve(storage, rows, measured[storage]) for storage, rows in _by_storage(run).items()],
    }


def _by_storage(run: BenchmarkRun) -> dict[str, list[CachePointRow]]:
    found: dict[str, list[CachePointRow]] = {}
    for own in run.result.get("own", {}).values():
        for row in own.get("cache_points", ()):
            found.setdefault(row["storage"], []).append(row)
    return dict(sorted(found.items(), reverse=True))  # shared memory first


def _points(rows: Sequence[CachePointRow]) -> list[CachePoint]:
    return [CachePoint(row["hit_ratio"], row["tps"], row["no_cache_tps"]) for row in rows]


def _curve(storage: str, rows: Sequence[CachePointRow], found: BreakEven) -> BreakEvenCurve:
    base = math.exp(sum(math.log(row["no_cache_tps"]) for row in rows) / len(rows))
    last = max(row["hit_ratio"] for row in rows)
    ratios = [min(_END, last) * step / _STEPS for step in range(_STEPS + 1)]
    gains = [(ratio, gain) for ratio in ratios if (gain := found.gain(ratio)) is not None]
    return {
        "storage": storage,
        "state": found.state.value,
        "sentence": found.sentence,
        "ratio": found.ratio,
        "low": found.low,
        "high": found.high,
        "cumulative_ratio": None if found.ratio is None else _cumulative(found.ratio),
        "relative_miss_cost": None if found.miss_cost is None else found.miss_cost.middle,
        "relative_hit_cost": None if found.hit_cost is None else found.hit_cost.middle,
        "no_cache_tps": base,
        "peak_tps": max(row["tps"] for row in rows),
        "pairs": [
            {
                "hit_ratio": row["hit_ratio"],
                "cumulative_hit_ratio": _cumulative(row["hit_ratio"]),
                "tps": base * row["tps"] / row["no_cache_tps"],
            }
            for row in rows
        ],
        "curve": [
            {
                "hit_ratio": ratio,
                "cumulative_hit_ratio": _cumulative(ratio),
                "tps": base * gain.middle,
                "low": base * gain.low,
                "high": None if math.isinf(gain.high) else base * gain.high,
            }
            for ratio, gain in gains
        ],
    }


def _cumulative(ratio: float) -> float:
    return warm_up.cumulative_at(operating_hit_ratio=min(ratio, _END))
