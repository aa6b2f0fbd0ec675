"""A run's figures by the keys that comparisons use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LATENCIES = (("mean_ms", "mean"), ("p50_ms", "p50"), ("p95_ms", "p95"), ("p99_ms", "p99"))


def figures(result: Mapping[str, Any]) -> dict[str, float]:
    """result: a RunResult. What it does not tell is missing. Rates in transactions per second, latencies in ms."""
    found: dict[str, float] = {}
    tps = result.get("tps")
    if tps:
        found["tps"] = tps
        connecting = _with_connecting(tps, result.get("transactions"), result.get("connect_ms"))
        if connecting is not None:
            found["tps_with_connecting"] = connecting
    latency = result.get("latency_ms") or {}
    found.update({key: latency[name] for key, name in _LATENCIES if latency.get(name)})
    return found


def statements(result: Mapping[str, Any]) -> dict[str, float]:
    """text -> mean latency in ms; of statements with one text, those that come later are told apart by a number.

    Of several scripts that have no statements to tell apart, name -> mean latency of their transactions.
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
    means = {one["name"]: one["latency_ms"]["mean"] for one in scripts}
    return {name: mean for name, mean in means.items() if mean is not None}


def _with_connecting(tps: float, transactions: int | None, connect_ms: float | None) -> float | None:
    """As if the time in which all clients connected belonged to the run, as pgbench before 14 counted it."""
    if not transactions or connect_ms is None:
        return None
    return transactions / (transactions / tps + connect_ms / 1000)
