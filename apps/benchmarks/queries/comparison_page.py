"""A comparison as its page draws it: intervals on one axis, statements as a heat table, runs block by block."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypedDict

from apps.benchmarks.domain.comparison_words import signed
from apps.benchmarks.domain.run_metrics import P90
from apps.benchmarks.domain.run_words import ms_words, per_min_words, rate_words
from apps.benchmarks.domain.workloads import rate_unit
from apps.benchmarks.queries.comparison_detail import ArmAnswer, CellAnswer, ComparisonDetail, PlacedRun

LATENCIES = {"mean_ms": "mean", "p50_ms": "p50", "p95_ms": "p95", "p99_ms": "p99"}
DEFAULT_LATENCY = "p95_ms"
_NEW_ORDERS = "new_orders_per_min"
# Beyond this many times the baseline a cell is no darker.
_DARKEST = 6.0


class Interval(TypedDict):
    """On an axis from 0 to 1 that all arms share: the baseline's place, the ends of the interval, the estimate."""

    zero: float
    low: float
    width: float
    middle: float


class FigureCell(TypedDict):
    """One figure of one arm. value: with its unit; spread: how far it may be off; difference: against the baseline."""

    value: str
    spread: str
    difference: str
    ends: str
    absolute: str
    verdict: str
    interval: Interval | None


class ArmRow(TypedDict):
    label: str
    is_baseline: bool
    runs: int
    tps: FigureCell
    latency: FigureCell
    words: str


class NewOrdersRow(TypedDict):
    label: str
    is_baseline: bool
    rate: FigureCell
    sentence: str


class HeatCell(TypedDict):
    """shade: 0 to 1, how far from the baseline; direction: slower or faster; "" where the interval covers 0."""

    value: str
    change: str
    shade: float
    direction: str
    is_baseline: bool


class HeatRow(TypedDict):
    label: str
    cells: list[HeatCell | None]


class Heat(TypedDict):
    """statements: (short name, text), one column each. has_p90: whether some are of the p90 of another."""

    statements: list[tuple[str, str]]
    rows: list[HeatRow]
    has_p90: bool


class BlockRow(TypedDict):
    """One run of each arm; None where there is none. is_first: shown and set apart."""

    block: int
    is_first: bool
    runs: list[PlacedRun | None]


class FigureRow(TypedDict):
    arm: str
    metric: str
    value: str
    difference: str
    ends: str
    verdict: str
    smallest: str
    method: str


def arm_rows(detail: ComparisonDetail, *, latency: str) -> list[ArmRow]:
    """latency: one of LATENCIES."""
    arms = detail["arms_compared"]
    axes = {metric: _axis(arms, metric) for metric in ("tps", latency)}
    return [
        {
            "label": arm["label"],
            "is_baseline": arm["is_baseline"],
            "runs": arm["figures"]["tps"]["runs"] if "tps" in arm["figures"] else 0,
            "tps": _figure(arm, "tps", axes["tps"]),
            "latency": _figure(arm, latency, axes[latency]),
            "words": arm["words"],
        }
        for arm in arms
    ]


def new_order_rows(detail: ComparisonDetail) -> list[NewOrdersRow]:
    """Of the arms whose workload tells of new orders."""
    arms = [arm for arm in detail["arms_compared"] if _NEW_ORDERS in arm["figures"]]
    axis = _axis(arms, _NEW_ORDERS)
    return [
        {
            "label": arm["label"],
            "is_baseline": arm["is_baseline"],
            "rate": _figure(arm, _NEW_ORDERS, axis),
            "sentence": arm["new_orders_sentence"],
        }
        for arm in arms
    ]


def heat(detail: ComparisonDetail) -> Heat | None:
    """None where no workload of the comparison tells of several statements."""
    arms = detail["arms_compared"]
    texts = list(dict.fromkeys(cell["text"] for arm in arms for cell in arm["statements"]))
    if len(texts) < 2:
        return None
    rows: list[HeatRow] = []
    for arm in arms:
        by_text = {cell["text"]: cell for cell in arm["statements"]}
        cells = [None if (cell := by_text.get(text)) is None else _heat_cell(cell, arm) for text in texts]
        rows.append({"label": arm["label"], "cells": cells})
    names = {text: f"Q{number}" for number, text in enumerate(text for text in texts if not _is_p90(text, texts))}
    statements = [(names.get(text) or f"{names.get(text.removesuffix(P90), text)} p90", text) for text in texts]
    return {"statements": statements, "rows": rows, "has_p90": len(names) < len(texts)}


def _is_p90(text: str, texts: Sequence[str]) -> bool:
    return text.endswith(P90) and text.removesuffix(P90) in texts


def block_rows(detail: ComparisonDetail) -> list[BlockRow]:
    """Oldest first. Runs that were picked stand below each other without belonging together."""
    placed = [{run["block"]: run for run in arm["runs"]} for arm in detail["arms_compared"]]
    blocks = sorted({block for column in placed for block in column})
    return [
        {"block": block, "is_first": block == 0, "runs": [column.get(block) for column in placed]} for block in blocks
    ]


def figure_rows(detail: ComparisonDetail, metrics: Iterable[tuple[str, str]]) -> list[FigureRow]:
    """Every figure of every arm. metrics: (key, label)."""
    rows: list[FigureRow] = []
    for key, label in metrics:
        for arm in detail["arms_compared"]:
            if key not in arm["figures"]:
                continue
            cell = _figure(arm, key, None)
            found = arm["against_baseline"].get(key)
            rows.append(
                {
                    "arm": arm["label"],
                    "metric": label,
                    "value": f"{cell['value']} {cell['spread']}".strip(),
                    "difference": "baseline" if arm["is_baseline"] else cell["difference"],
                    "ends": cell["ends"],
                    "verdict": cell["verdict"],
                    "smallest": "" if found is None else f"{found['smallest_detectable_percent']:.1f} %",
                    "method": "" if found is None else found["method"],
                }
            )
    return rows


def _words_of(metric: str, workload: str) -> Callable[[float], str]:
    if metric == _NEW_ORDERS:
        return per_min_words
    return partial(rate_words, unit=rate_unit(workload)) if metric.startswith("tps") else ms_words


def _figure(arm: ArmAnswer, metric: str, axis: tuple[float, float] | None) -> FigureCell:
    words = _words_of(metric, arm["workload"])
    spread, found = arm["figures"].get(metric), arm["against_baseline"].get(metric)
    half = None
    if spread is not None and spread["low"] is not None and spread["high"] is not None:
        half = max(spread["high"] - spread["middle"], spread["middle"] - spread["low"])
    return {
        "value": "" if spread is None else words(spread["middle"]),
        "spread": "" if half is None else f"±{_two_digits(half)}",
        "difference": "" if found is None else signed(found["difference_percent"]),
        "ends": "" if found is None else f"{signed(found['low']).removesuffix(' %')} to {signed(found['high'])}",
        "absolute": "" if found is None else _absolute(found["difference"], words(abs(found["difference"]))),
        "verdict": "" if found is None else found["verdict"].replace("_", " "),
        "interval": None
        if found is None or axis is None
        else _interval(found["low"], found["difference_percent"], found["high"], axis),
    }


def _two_digits(value: float) -> str:
    """189.3 -> 189; 52.8 -> 53; 0.0381 -> 0.038"""
    if value >= 10:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 1 - math.floor(math.log10(value)))}f}" if value > 0 else "0"


def _absolute(difference: float, words: str) -> str:
    return f"{'−' if difference < 0 else '+'}{words}"


def _axis(arms: Sequence[ArmAnswer], metric: str) -> tuple[float, float]:
    """From the lowest to the highest end, with the baseline's 0 in it."""
    found = [arm["against_baseline"][metric] for arm in arms if metric in arm["against_baseline"]]
    low = min([0.0, *(each["low"] for each in found)])
    high = max([0.0, *(each["high"] for each in found)])
    room = max(high - low, 1e-9) * 0.06
    return low - room, high + room


def _interval(low: float, middle: float, high: float, axis: tuple[float, float]) -> Interval:
    def at(value: float) -> float:
        return (value - axis[0]) / (axis[1] - axis[0])

    return {"zero": at(0.0), "low": at(low), "width": at(high) - at(low), "middle": at(middle)}


def _heat_cell(cell: CellAnswer, arm: ArmAnswer) -> HeatCell:
    change = cell["change_percent"]
    found: HeatCell = {
        "value": ms_words(cell["latency_ms"]).partition(chr(0xA0))[0],
        "change": "",
        "shade": 0.0,
        "direction": "",
        "is_baseline": arm["is_baseline"],
    }
    if change is not None:
        found["change"] = _change(change)
        if cell["is_sure"]:
            found["direction"] = "slower" if change > 0 else "faster"
            found["shade"] = min(1.0, abs(math.log1p(max(change, -99.0) / 100)) / math.log(_DARKEST))
    return found


def _change(percent: float) -> str:
    """+48 %; from twice on as 2.3×."""
    if percent >= 100:
        return f"{1 + percent / 100:.1f}×"
    return f"{'−' if percent < 0 else '+'}{abs(percent):.0f} %"
