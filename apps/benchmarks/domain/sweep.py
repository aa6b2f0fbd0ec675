"""A sweep: the rate over what varies, where it is best, how sure that is, and what doubling brings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from apps.benchmarks.domain import intervals, sweep_limits
from apps.benchmarks.domain.arms import TPS, Compared, Measured
from apps.benchmarks.domain.comparison import compare
from apps.benchmarks.domain.comparison_plan import axis_name
from apps.benchmarks.domain.comparison_words import figure, signed
from apps.benchmarks.domain.sweep_limits import Load
from apps.benchmarks.domain.verdicts import Verdict


@dataclass(frozen=True)
class Point:
    """One arm on the curve. x: what varies; tps: its typical run, with the 95 % interval where several ran.

    limit: what else than the servers limits it there: clients or throttle; "" for nothing else, or not known.
    """

    x: float
    tps: float
    low: float | None
    high: float | None
    limit: str = ""


@dataclass(frozen=True)
class Doubling:
    """What twice as much brings, in percent of the rate, over the whole sweep; with its 95 % interval."""

    percent: float
    low: float
    high: float


@dataclass(frozen=True)
class Sweep:
    """points: by x. best_x: where the typical rate is highest. rivals: places that these runs do not tell from it.

    is_bracketed: the best place, and every rival, lies between two that are worse.
    """

    points: tuple[Point, ...]
    best_x: float
    rivals: tuple[float, ...]
    is_bracketed: bool
    doubling: Doubling | None
    sentence: str


def sweep(
    xs: Sequence[float],
    arms: Sequence[Sequence[Measured]],
    compared: Sequence[Compared],
    *,
    over: str,
    loads: Sequence[Load] = (),
) -> Sweep | None:
    """None while fewer than three places have a figure. Blocks were measured side by side. loads: one an arm."""
    order = sorted((x, position) for position, x in enumerate(xs) if TPS.key in compared[position].spreads)
    if len(order) < 3:
        return None
    points = []
    for x, position in order:
        spread = compared[position].spreads[TPS.key]
        points.append(Point(x, spread.middle, spread.low, spread.high))
    places = [x for x, _ in order]
    best = max(points, key=lambda point: point.tps)
    best_arm = _by_block(arms[order[places.index(best.x)][1]])
    rivals = tuple(x for x, position in order if x != best.x and not _is_worse(_by_block(arms[position]), best_arm))
    edges = {places[0], places[-1]}
    is_bracketed = not edges & {best.x, *rivals}
    doubling = _doubling([(x, _by_block(arms[position])) for x, position in order])
    words = _sentence(best, rivals, over=over, is_bracketed=is_bracketed, edges=edges, doubling=doubling)
    if loads:
        found = sweep_limits.limits(
            [loads[position] for _, position in order], [point.tps for point in points], over=over
        )
        points = [replace(point, limit=limit) for point, limit in zip(points, found, strict=True)]
        words = f"{words} {sweep_limits.sentence(places, found, over=over)}".strip()
    return Sweep(tuple(points), best.x, rivals, is_bracketed, doubling, words)


def _by_block(arm: Sequence[Measured]) -> dict[int, float]:
    return {one.block: one.figures[TPS.key] for one in arm if one.figures.get(TPS.key)}


def _is_worse(arm: Mapping[int, float], best: Mapping[int, float]) -> bool:
    """Whether these runs show that it is."""
    blocks = sorted(arm.keys() & best.keys())
    if len(blocks) < 2:
        return False
    found = compare(baseline=[best[block] for block in blocks], candidate=[arm[block] for block in blocks], paired=True)
    return found.verdict is Verdict.SLOWER


def _doubling(columns: Sequence[tuple[float, Mapping[int, float]]]) -> Doubling | None:
    """The straight line through the logarithms of each block that has every place; their typical slope."""
    blocks = sorted(set.intersection(*(set(column) for _, column in columns)))
    if len(blocks) < 2:
        return None
    at = np.log2([x for x, _ in columns])
    slopes = [float(np.polyfit(at, np.log([column[block] for _, column in columns]), 1)[0]) for block in blocks]
    found = intervals.of_pairs(slopes)
    return Doubling(*(100 * math.expm1(slope) for slope in (found.middle, found.low, found.high)))


def _sentence(
    best: Point,
    rivals: Sequence[float],
    *,
    over: str,
    is_bracketed: bool,
    edges: set[float],
    doubling: Doubling | None,
) -> str:
    name = axis_name(over)
    said = [f"The rate is highest at {name} = {best.x:g} ({figure(best.tps)} tps)."]
    if rivals:
        said.append(f"These runs do not tell it from {', '.join(f'{x:g}' for x in rivals)}.")
    else:
        said.append("Every other place measured is slower.")
    if not is_bracketed:
        where = "it lies" if best.x in edges else "a place that may be as good lies"
        said.append(f"The optimum is not bracketed: {where} at an edge of what was measured.")
    if doubling is not None:
        interval = f"95 % interval {signed(doubling.low)} to {signed(doubling.high)}"
        said.append(f"Doubling brings {signed(doubling.percent)} on average ({interval}).")
    return " ".join(said)
