"""A comparison with all that its runs allow to be said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import TYPE_CHECKING, Any, TypedDict

from apps.accounts.access import Caller
from apps.benchmarks.control.comparison_rows import is_measured, whole_blocks
from apps.benchmarks.domain import run_metrics, tpcc
from apps.benchmarks.domain.comparison_plan import FIRST_BLOCK, Arm
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.models import BenchmarkComparison, BenchmarkImport, BenchmarkRun, ComparisonRun
from apps.benchmarks.queries import comparison_conditions, imported_beside
from apps.benchmarks.queries.comparisons import ComparisonSummary, summary_answer
from apps.benchmarks.queries.imported_beside import BesideAnswer

if TYPE_CHECKING:  # scipy takes half a second and 40 MB, which no other request should pay for
    from apps.benchmarks.domain.arms import Compared, Measured


class SpreadAnswer(TypedDict):
    """The typical run and its 95 % interval; ends null for a single run."""

    runs: int
    middle: float
    low: float | None
    high: float | None


class DifferenceAnswer(TypedDict):
    """Against the baseline: percents of it, the same in its unit, and what may be said of it."""

    difference_percent: float
    low: float
    high: float
    difference: float
    difference_low: float
    difference_high: float
    baseline_median: float
    candidate_median: float
    smallest_detectable_percent: float
    is_paired: bool
    method: str
    verdict: str
    more_runs: int | None
    more_minutes: float | None
    sentence: str


class CellAnswer(TypedDict):
    text: str
    latency_ms: float
    change_percent: float | None
    is_sure: bool


class PlacedRun(TypedDict):
    """block 0 is shown and does not count. counts: whether its figure is in the arm's.

    new_orders_per_min: null of any workload but tpcc-like.
    """

    id: int
    block: int
    state: str
    tps: float | None
    new_orders_per_min: float | None
    p95_ms: float | None
    counts: bool
    error: str


class ArmAnswer(TypedDict):
    """figures, against_baseline: by metric, as tps, tps_with_connecting, mean_ms, p50_ms, p95_ms, p99_ms; of tpcc-like
    alone new_orders_per_min, which is no tpmC.

    words: the verdict on the rate in short; sentence: with its figures; new_orders_sentence: the same on the new-order
    rate, "" of any other workload. statements: their mean latencies; of transactions that are one statement each their
    p90 as well, as "payment, p90". replication: the modes that its runs were measured under, one unless replication
    changed meanwhile; none where no run tells. addresses: that they were measured at, as host:port, one unless the
    topology moved meanwhile; several servers of one run stand in one text.
    """

    position: int
    label: str
    workload: str
    topology: str
    clients: int
    threads: int | None
    duration_s: int
    warm_up_s: int
    parameters: dict[str, Any]
    x: float | None
    is_baseline: bool
    figures: dict[str, SpreadAnswer]
    against_baseline: dict[str, DifferenceAnswer]
    statements: list[CellAnswer]
    words: str
    sentence: str
    new_orders_sentence: str
    replication: list[str]
    addresses: list[str]
    runs: list[PlacedRun]


class PointAnswer(TypedDict):
    """limit: what else than the servers limits it there: clients or throttle; "" for nothing else, or not known."""

    x: float
    tps: float
    low: float | None
    high: float | None
    limit: str


class DoublingAnswer(TypedDict):
    percent: float
    low: float
    high: float


class SweepAnswer(TypedDict):
    """rivals: places that the runs do not tell from the best. doubling: what twice as much brings, in percent."""

    points: list[PointAnswer]
    best_x: float
    rivals: list[float]
    is_bracketed: bool
    doubling: DoublingAnswer | None
    sentence: str


class ComparisonDetail(ComparisonSummary):
    """sentence: the verdict on the rate. shown_baseline: the arm that differences are against here.

    eta_s: seconds until it is done, at the pace of the runs until now; null while none is done, or when it is over.
    durability: a sentence for each arm that differs from that one only in what commits wait for. beside: results of the
    import that was asked for.
    """

    sentence: str
    shown_baseline: int
    margin_percent: float
    blocks_whole: int
    extra_blocks: int
    eta_s: float | None
    arms_compared: list[ArmAnswer]
    sweep: SweepAnswer | None
    durability: list[str]
    beside: list[BesideAnswer]
    findings: list[RunFinding]


def detail_answer(
    *,
    comparison: BenchmarkComparison,
    caller: Caller,
    baseline: int | None = None,
    beside: BenchmarkImport | None = None,
) -> ComparisonDetail:
    """baseline: another arm than its own to compare with; one that there is. beside: whose results are shown, too."""
    from apps.benchmarks.domain import arms_words, durability_words
    from apps.benchmarks.domain.arms import TPS, side_by_side

    shown = comparison.baseline if baseline is None else baseline
    members = list(comparison.members.select_related("run").order_by("block", "run_id"))
    arms: list[Arm] = comparison.arms
    labels = [arm["label"] for arm in arms]
    counted = [[one for one in members if one.arm == position and _counts(one)] for position in range(len(arms))]
    runs = [[one.run for one in each] for each in counted]
    measured = [[_measured(one) for one in each] for each in counted]
    run_s = typical_run_s([one.run for one in members])
    are_blocks = comparison.repetitions > 0
    compared = side_by_side(
        measured, baseline=shown, are_blocks=are_blocks, margin_percent=comparison.margin_percent, run_s=run_s
    )
    left = [one.run for one in members if one.run.state in BenchmarkRun.ACTIVE]
    base = compared[shown].spreads.get(TPS.key)
    waits = [comparison_conditions.waits(each) for each in runs]
    all_counted = [one.run for one in members if _counts(one)]
    headline = arms_words.headline(labels, compared, baseline=shown)
    differing = comparison_conditions.of_workloads(labels, arms)
    return {
        **summary_answer(comparison=comparison, caller=caller),
        "sentence": comparison_conditions.WORKLOADS_DIFFER if headline and differing else headline,
        "shown_baseline": shown,
        "margin_percent": comparison.margin_percent,
        "blocks_whole": len(whole_blocks(members, arms=len(arms))),
        "extra_blocks": comparison.extra_blocks,
        "eta_s": None if run_s is None or not left else len(left) * run_s,
        "arms_compared": _arm_answers(arms, members, compared, runs, baseline=shown),
        "sweep": _sweep(comparison, measured, compared, runs),
        "beside": imported_beside.rows(beside, baseline_tps=None if base is None else base.middle),
        "durability": durability_words.costs(arms, compared, waits, baseline=shown),
        "findings": [
            *differing,
            *comparison_conditions.findings(all_counted, are_blocks=are_blocks),
            *comparison_conditions.of_arms(labels, runs),
        ],
    }


def _arm_answers(
    arms: Sequence[Arm],
    members: Sequence[ComparisonRun],
    compared: Sequence[Compared],
    runs: Sequence[Sequence[BenchmarkRun]],
    *,
    baseline: int,
) -> list[ArmAnswer]:
    """runs: of each arm, those that count."""
    from apps.benchmarks.domain import arms_words
    from apps.benchmarks.domain.arms import NEW_ORDERS, TPS

    base = arms[baseline]["label"]
    answers: list[ArmAnswer] = []
    for position, (arm, found) in enumerate(zip(arms, compared, strict=True)):
        rate, orders = found.against.get(TPS.key), found.against.get(NEW_ORDERS.key)
        answers.append(
            {
                "position": position,
                **arm,
                "is_baseline": position == baseline,
                "figures": {key: _spread(spread) for key, spread in found.spreads.items()},
                "against_baseline": {key: _difference(each) for key, each in found.against.items()},
                "statements": [_cell(cell) for cell in found.statements],
                "words": arms_words.in_short(rate) if rate else "",
                "sentence": arms_words.of_arm(arm["label"], base, rate) if rate else "",
                "new_orders_sentence": arms_words.of_arm(arm["label"], base, orders, NEW_ORDERS) if orders else "",
                "replication": comparison_conditions.modes(runs[position]),
                "addresses": comparison_conditions.addresses(runs[position]),
                "runs": [_placed(one) for one in members if one.arm == position],
            }
        )
    return answers


def _sweep(
    comparison: BenchmarkComparison,
    measured: Sequence[Sequence[Measured]],
    compared: Sequence[Compared],
    runs: Sequence[Sequence[BenchmarkRun]],
) -> SweepAnswer | None:
    """None of what is no sweep, or has a place without its number."""
    from apps.benchmarks.domain.sweep import sweep

    arms: list[Arm] = comparison.arms
    xs = [arm["x"] for arm in arms if arm["x"] is not None]
    if not comparison.over or len(xs) < len(arms):
        return None
    loads = [
        comparison_conditions.load(arm, each, found.spreads)
        for arm, each, found in zip(arms, runs, compared, strict=True)
    ]
    curve = sweep(xs, measured, compared, over=comparison.over, loads=loads)
    if curve is None:
        return None
    told: SweepAnswer = asdict(curve)  # type: ignore[assignment]
    return told


def _measured(one: ComparisonRun) -> Measured:
    from apps.benchmarks.domain.arms import Measured

    run = one.run
    return Measured(one.block, run_metrics.figures(run.workload, run.result), run_metrics.statements(run.result))


def typical_run_s(runs: Sequence[BenchmarkRun]) -> float | None:
    """From its beginning to its end, its data and its warm-up included; seconds."""
    took = [
        (run.finished_at - run.started_at).total_seconds()
        for run in runs
        if run.finished_at is not None and run.started_at is not None and is_measured(run)
    ]
    return median(took) if took else None


def _counts(one: ComparisonRun) -> bool:
    return one.block != FIRST_BLOCK and is_measured(one.run)


def _spread(found: Any) -> SpreadAnswer:
    return {"runs": found.runs, "middle": found.middle, "low": found.low, "high": found.high}


def _difference(found: Any) -> DifferenceAnswer:
    told: DifferenceAnswer = asdict(found)  # type: ignore[assignment]
    return told


def _cell(found: Any) -> CellAnswer:
    told: CellAnswer = asdict(found)  # type: ignore[assignment]
    return told


def _placed(one: ComparisonRun) -> PlacedRun:
    return {
        "id": one.run_id,
        "block": one.block,
        "state": one.run.state,
        "tps": one.run.tps,
        "new_orders_per_min": tpcc.new_orders_per_min(one.run.workload, one.run.result),
        "p95_ms": (one.run.result.get("latency_ms") or {}).get("p95"),
        "counts": _counts(one),
        "error": one.run.error or one.run.stop_reason,
    }
