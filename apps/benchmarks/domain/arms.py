"""The arms of a comparison side by side: what each measured, and how it differs from the baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from apps.benchmarks.domain import intervals
from apps.benchmarks.domain.comparison import Comparison, compare


@dataclass(frozen=True)
class Metric:
    """key: as REST names it."""

    key: str
    label: str
    unit: str
    higher_is_better: bool


TPS = Metric("tps", "Rate", "tps", higher_is_better=True)
NEW_ORDERS = Metric("new_orders_per_min", "New-order rate", "new orders per min", higher_is_better=True)
METRICS = (
    TPS,
    Metric("tps_with_connecting", "Rate, connecting included", "tps", higher_is_better=True),
    NEW_ORDERS,
    Metric("mean_ms", "Mean latency", "ms", higher_is_better=False),
    Metric("p50_ms", "p50 latency", "ms", higher_is_better=False),
    Metric("p95_ms", "p95 latency", "ms", higher_is_better=False),
    Metric("p99_ms", "p99 latency", "ms", higher_is_better=False),
)


@dataclass(frozen=True)
class Measured:
    """One run of one arm that has figures. figures: by the key of a metric; statements: text -> mean latency in ms."""

    block: int
    figures: Mapping[str, float]
    statements: Mapping[str, float]


@dataclass(frozen=True)
class Spread:
    """The typical run of several and its 95 % interval, in the unit of the metric; ends None for a single run."""

    runs: int
    middle: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Cell:
    """One statement of one arm. change_percent: against the baseline's. is_sure: 0 lies outside its 95 % interval."""

    text: str
    latency_ms: float
    change_percent: float | None
    is_sure: bool


@dataclass(frozen=True)
class Compared:
    """One arm. against: by the key of a metric; a metric is missing where two runs of both are not there to compare."""

    spreads: Mapping[str, Spread]
    against: Mapping[str, Comparison]
    statements: tuple[Cell, ...]


def side_by_side(
    arms: Sequence[Sequence[Measured]], *, baseline: int, are_blocks: bool, margin_percent: float, run_s: float | None
) -> list[Compared]:
    """Each arm against the one at position baseline.

    are_blocks: runs of one block were measured side by side, so they are compared in pairs; a block that lacks one of
    the two is left out of that pair. run_s: how long one run takes, with all that belongs to it.
    """
    base = arms[baseline]
    said = dict.fromkeys(text for arm in arms for one in arm for text in one.statements)
    # What pgbench does by itself, no server has a part in.
    texts = [text for text in said if not text.startswith("\\set")]
    found = []
    for position, arm in enumerate(arms):
        spreads = {metric.key: spread(values) for metric in METRICS if (values := _values(arm, metric.key))}
        against = {}
        for metric in METRICS:
            first, second = _beside(base, arm, metric.key, are_blocks=are_blocks)
            if position == baseline or min(len(first), len(second)) < 2:
                continue
            against[metric.key] = compare(
                baseline=first, candidate=second, higher_is_better=metric.higher_is_better, paired=are_blocks,
                margin_percent=margin_percent, run_s=run_s, unit=metric.unit,
            )  # fmt: skip
        cells = (_cell(text, base, arm, are_blocks=are_blocks, is_baseline=position == baseline) for text in texts)
        found.append(Compared(spreads, against, tuple(cell for cell in cells if cell is not None)))
    return found


def _values(arm: Sequence[Measured], key: str) -> list[float]:
    return [one.figures[key] for one in arm if one.figures.get(key)]


def spread(values: Sequence[float]) -> Spread:
    if len(values) < 2:
        return Spread(len(values), values[0], None, None)
    found = intervals.of_pairs([math.log(value) for value in values])
    return Spread(len(values), math.exp(found.middle), math.exp(found.low), math.exp(found.high))


def _beside(
    base: Sequence[Measured], arm: Sequence[Measured], key: str, *, are_blocks: bool
) -> tuple[list[float], list[float]]:
    """Values of both: those of the same blocks, or all that there are."""
    if not are_blocks:
        return _values(base, key), _values(arm, key)
    others = {one.block: one.figures[key] for one in arm if one.figures.get(key)}
    pairs = [(one.figures[key], others[one.block]) for one in base if one.figures.get(key) and one.block in others]
    return [before for before, _ in pairs], [after for _, after in pairs]


def _cell(
    text: str, base: Sequence[Measured], arm: Sequence[Measured], *, are_blocks: bool, is_baseline: bool
) -> Cell | None:
    own = [one.statements[text] for one in arm if one.statements.get(text)]
    if not own:
        return None
    first, second = _beside(_as_figures(base), _as_figures(arm), text, are_blocks=are_blocks)
    if is_baseline or min(len(first), len(second)) < 2:
        return Cell(text, median(own), None, is_sure=False)
    found = compare(baseline=first, candidate=second, higher_is_better=False, paired=are_blocks)
    return Cell(text, median(own), found.difference_percent, is_sure=found.low > 0 or found.high < 0)


def _as_figures(arm: Sequence[Measured]) -> list[Measured]:
    return [Measured(one.block, one.statements, {}) for one in arm]
