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
from apps.query_cache.domain.break_even import BreakEven, State, break_even
from apps.query_cache.domain.cache_fit import Bounded, CachePoint
from apps.query_cache.queries.shapes import BreakEvenCurve, CalibrationAnswer

# Of the curve; the last lies a little below 1, where the ratio since the start would be for ever.
_STEPS = 50
_END = 0.99


def calibrations_of(*, cluster: Cluster) -> list[BenchmarkRun]:
    """Latest first; the cluster is one of the caller's. Whatever came to nothing hides none that is done."""
    all_of = BenchmarkRun.objects.filter(cluster=cluster, workload=WORKLOAD).order_by("-pk")
    done = all_of.filter(state=BenchmarkRun.State.DONE)[:20]
    return sorted({*all_of[:20], *done}, key=lambda run: -run.pk)


def latest_done(runs: Iterable[BenchmarkRun], *, storage: str = "") -> BenchmarkRun | None:
    """runs: latest first. storage: of those that measured it. One that was ended before its time counts for none."""
    return next((run for run in runs if _is_whole(run) and (not storage or storage in _by_storage(run))), None)


def _is_whole(run: BenchmarkRun) -> bool:
    return run.state == BenchmarkRun.State.DONE and not run.is_partial


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
        "relative_miss_cost": _told(found, found.miss_cost),
        "relative_hit_cost": _told(found, found.hit_cost),
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


def _told(found: BreakEven, cost: Bounded | None) -> float | None:
    """Of pairs that could not be fitted a cost says nothing."""
    return None if cost is None or found.state is State.NOT_A_FIT else cost.middle


def _cumulative(ratio: float) -> float:
    return warm_up.cumulative_at(operating_hit_ratio=min(ratio, _END))
