"""Comparisons whose runs are finished by hand, as the engine leaves them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.benchmarks.control import comparison_rows
from apps.benchmarks.models import BenchmarkComparison, BenchmarkRun

COMPARISONS = "/api/v1/benchmarks/comparisons/"
COMMON = {"workload": "pgbench-select-only", "clients": 4, "duration_s": 10}
DIRECT, POOLED = {"topology": "primary"}, {"topology": "pgpools"}
SIX = (0.99, 1.0, 1.01, 1.02, 1.005, 0.995, 0.985)


def wanted(*arms: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"cluster": "orders", "common": COMMON, "arms": list(arms) or [DIRECT, POOLED], "repetitions": 2, **changes}


def finish(run: BenchmarkRun, tps: float, **result: Any) -> None:
    now = timezone.now()
    latency = {"mean": 4000 / tps, "stddev": None, "p50": 3000 / tps, "p95": 6000 / tps, "p99": 8000 / tps}
    run.state, run.tps, run.started_at, run.finished_at = "done", tps, now - timedelta(seconds=20), now
    run.result = {"tps": tps, "transactions": int(tps * 10), "connect_ms": 100.0, "latency_ms": latency, **result}
    run.save()


def replicated(mode: str | None, *, level: str = "on") -> dict[str, Any]:
    """The environment of a run that was measured under it."""
    names = "" if mode in {"no standby", "asynchronous"} else "pg2"
    facts = {"synchronous_standby_names": names, "synchronous_commit": level, "fsync": True, "standbys": []}
    return {"replication": {**facts, "mode": mode, "reason": "" if mode else "hidden"}}


def fail(run: BenchmarkRun) -> None:
    run.state, run.error, run.finished_at = "failed", "primary: connection refused", timezone.now()
    run.save()


def finish_all(pk: int, rates: Sequence[float], spread: Sequence[float] = (0.99, 1.0, 1.01)) -> None:
    """Each run of arm N at rates[N], a little off from block to block."""
    for member in BenchmarkComparison.objects.get(pk=pk).members.select_related("run"):
        if member.run.state == "queued":
            finish(member.run, rates[member.arm] * spread[member.block % len(spread)] + member.arm * 0.1)


def advance(pk: int) -> BenchmarkComparison:
    comparison_rows.advance(pk, now=timezone.now())
    return BenchmarkComparison.objects.get(pk=pk)
