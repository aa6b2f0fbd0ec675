"""A run's figures by the keys that comparisons use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.benchmarks.domain import tpcc

# At the end of the text of a cell that is no mean.
P90 = ", p90"
_LATENCIES = (("mean_ms", "mean"), ("p50_ms", "p50"), ("p95_ms", "p95"), ("p99_ms", "p99"))


def figures(workload: str, result: Mapping[str, Any]) -> dict[str, float]:
    """result: a RunResult. What it does not tell is missing. Rates in transactions per second, latencies in ms.

    new_orders_per_min: of a TPC-C-like run alone; no tpmC.
    """
    found: dict[str, float] = {}
    tps = result.get("tps")
    if tps:
        found["tps"] = tps
        connecting = _with_connecting(tps, result.get("transactions"), result.get("connect_ms"))
        if connecting is not None:
            found["tps_with_connecting"] = connecting
    orders = tpcc.new_orders_per_min(workload, result)
    if orders:
        found["new_orders_per_min"] = orders
    latency = result.get("latency_ms") or {}
    found.update({key: latency[name] for key, name in _LATENCIES if latency.get(name)})
    return found


def statements(result: Mapping[str, Any]) -> dict[str, float]:
    """text -> mean latency in ms; of statements with one text, those that come later are told apart by a number.

    Of several scripts that have no statements to tell apart, name -> mean latency of their transactions, and their p90.
    """
    found: dict[str, float] = {}
    for one in result.get("statements") or []:
        text, number = one["text"], 2
        while text in found:
            text, number = f"{one['text']} ({number})", number + 1
        found[text] = one["latency_ms"]
    return found or _scripts(result)


def _scripts(result: Mapping[str, Any]) -> dict[str, float]:
    scripts = result.get("scripts") or []
    if any(one["statements"] for one in scripts):
        return {}
    told = {
        text: one["latency_ms"].get(figure)
        for one in scripts
        for text, figure in ((one["name"], "mean"), (f"{one['name']}{P90}", "p90"))
    }
    return {text: latency for text, latency in told.items() if latency is not None}


def _with_connecting(tps: float, transactions: int | None, connect_ms: float | None) -> float | None:
    """As if the time in which all clients connected belonged to the run, as pgbench before 14 counted it."""
    if not transactions or connect_ms is None:
        return None
    return transactions / (transactions / tps + connect_ms / 1000)
