"""Latencies and scripts of a run as they are answered: also those of results that were kept before all was known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.benchmarks.domain import script_mix
from apps.benchmarks.domain.run_result import Latency, ScriptFigure

NO_LATENCY: Latency = {"mean": None, "stddev": None, "p50": None, "p90": None, "p95": None, "p99": None}


class ScriptAnswer(ScriptFigure):
    """share: of all transactions, 0..1; wanted_share: by the weights. Null where it is not known."""

    share: float | None
    wanted_share: float | None


def latency_of(figures: Mapping[str, Any]) -> Latency:
    """figures: a RunResult or a ScriptFigure. A percentile that was not kept is None."""
    found: Latency = {**NO_LATENCY, **figures.get("latency_ms", {})}
    return found


def scripts_of(result: Mapping[str, Any]) -> list[ScriptAnswer]:
    """result: a RunResult, or {} before there is one."""
    kept: list[ScriptFigure] = result.get("scripts", [])
    return [
        {**one, "latency_ms": latency_of(one), **told} for one, told in zip(kept, script_mix.shares(kept), strict=True)
    ]
