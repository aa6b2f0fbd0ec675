"""Rows of comparisons: blocks of runs, queued at once; looked after by beat until every block has its figures."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from apps.accounts.models import User
from apps.benchmarks.control import one_by_one, run_rows
from apps.benchmarks.domain import comparison_plan
from apps.benchmarks.domain.comparison_plan import FIRST_BLOCK, Arm
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.models import BenchmarkComparison, BenchmarkRun, ComparisonRun
from apps.clusters.models import Cluster
from apps.live import events

# So often a block is measured anew whose runs gave way to a rollout or failed.
MOST_EXTRA_BLOCKS = 3
# Runs of a comparison that fail one after the other: the rest would fail too.
MOST_FAILED_IN_A_ROW = 3
State = BenchmarkComparison.State


@dataclass(frozen=True)
class Plan:
    """What was found right. wishes, labels, xs: one an arm. queue: of the workers that make the load."""

    cluster: Cluster
    name: str
    wishes: tuple[Wish, ...]
    labels: tuple[str, ...]
    xs: tuple[float | None, ...]
    baseline: int
    repetitions: int
    over: str
    margin_percent: float
    queue: str

    @property
    def load_s(self) -> int:
        """Seconds of load, warm-ups included, the first block too; making data comes on top."""
        return sum(wanted.duration_s + wanted.warm_up_s for wanted in self.wishes) * (self.repetitions + 1)


def make(plan: Plan, *, by: User | None, by_name: str) -> BenchmarkComparison:
    """The row and every run of it, queued in the order of their blocks."""
    comparison = BenchmarkComparison.objects.create(
        cluster=plan.cluster,
        name=plan.name,
        arms=[
            _arm(wanted, label=label, x=x) for wanted, label, x in zip(plan.wishes, plan.labels, plan.xs, strict=True)
        ],
        baseline=plan.baseline,
        repetitions=plan.repetitions,
        over=plan.over,
        margin_percent=plan.margin_percent,
        order_seed=secrets.randbits(62),
        requested_by=by,
        requested_by_name=by_name,
    )
    blocks = range(FIRST_BLOCK, plan.repetitions + 1)
    for block, arm in comparison_plan.order(len(plan.wishes), blocks, comparison.order_seed):
        run = run_rows.create(plan.cluster, plan.wishes[arm], queue=plan.queue, by=by, by_name=by_name)
        ComparisonRun.objects.create(comparison=comparison, run=run, arm=arm, block=block)
    announce(comparison)
    return comparison


def advance_all(*, now: datetime) -> None:
    under_way = BenchmarkComparison.objects.filter(state=State.UNDER_WAY).order_by("pk")
    one_by_one.each(under_way.values_list("pk", flat=True), lambda pk: advance(pk, now=now), what="comparison")


def advance(comparison_id: int, *, now: datetime) -> None:
    """End a comparison whose runs are over, give up one whose runs all fail, measure a block again that lacks figures.

    Nothing is lost when nobody does it for a while: everything it goes by stands in rows.
    """
    with transaction.atomic():
        comparison = (
            BenchmarkComparison.objects.select_for_update(of=("self",), skip_locked=True)
            .select_related("cluster")
            .filter(pk=comparison_id, state=State.UNDER_WAY)
            .first()
        )
        if comparison is None:
            return
        members = list(comparison.members.select_related("run").order_by("run_id"))
        if why := _hopeless(members):
            stop_queued(comparison, reason=f"given up with its comparison: {why}", now=now)
            _end(comparison, State.FAILED, reason=why, now=now)
        elif any(one.run.state in BenchmarkRun.ACTIVE for one in members):
            return
        else:
            _settle(comparison, members, now=now)


def _settle(comparison: BenchmarkComparison, members: Sequence[ComparisonRun], *, now: datetime) -> None:
    """All its runs are over."""
    whole = whole_blocks(members, arms=len(comparison.arms))
    if len(whole) >= comparison.repetitions:
        _end(comparison, State.DONE, reason="", now=now)
    elif comparison.extra_blocks < MOST_EXTRA_BLOCKS and not comparison.is_cut_short:
        _measure_another(comparison, members)
    elif len(whole) >= comparison_plan.FEWEST_REPETITIONS:
        reason = f"Only {len(whole)} of {comparison.repetitions} blocks have the figures of every arm."
        _end(comparison, State.DONE, reason=reason, now=now)
    else:
        reason = f"{len(whole)} of {comparison.repetitions} blocks have the figures of every arm: that is too few."
        _end(comparison, State.FAILED, reason=reason, now=now)


def whole_blocks(members: Sequence[ComparisonRun], *, arms: int) -> list[int]:
    """Blocks that count and in which every arm has a figure."""
    counted: dict[int, int] = {}
    for one in members:
        if one.block != FIRST_BLOCK and is_measured(one.run):
            counted[one.block] = counted.get(one.block, 0) + 1
    return sorted(block for block, count in counted.items() if count == arms)


def is_measured(run: BenchmarkRun) -> bool:
    """Whether it has a figure that may be compared: what ended early says nothing of the rest of its time."""
    return run.state == BenchmarkRun.State.DONE and not run.is_partial and bool(run.tps)


def _measure_another(comparison: BenchmarkComparison, members: Sequence[ComparisonRun]) -> None:
    """Each arm once more, as its latest run was asked for: side by side, so that the pairs stay pairs."""
    latest = {one.arm: one.run for one in members}
    block = max(one.block for one in members) + 1
    for arm in comparison_plan.block_order(len(comparison.arms), block, comparison.order_seed):
        run = run_rows.repeat(latest[arm])
        ComparisonRun.objects.create(comparison=comparison, run=run, arm=arm, block=block)
    comparison.extra_blocks += 1
    comparison.save(update_fields=["extra_blocks"])
    announce(comparison)


def _hopeless(members: Sequence[ComparisonRun]) -> str:
    over = sorted(
        (one.run for one in members if one.run.state not in BenchmarkRun.ACTIVE),
        key=lambda run: (run.finished_at is not None, run.finished_at, run.pk),
    )
    latest = over[-MOST_FAILED_IN_A_ROW:]
    if len(latest) < MOST_FAILED_IN_A_ROW or any(run.state != BenchmarkRun.State.FAILED for run in latest):
        return ""
    return (
        f"Its latest {MOST_FAILED_IN_A_ROW} runs failed one after the other; run #{latest[-1].pk}: {latest[-1].error}"
    )


def stop_queued(comparison: BenchmarkComparison, *, reason: str, now: datetime) -> None:
    """Those of its runs that no worker has begun."""
    queued = BenchmarkRun.objects.select_for_update(of=("self",)).filter(
        places__comparison=comparison, state=BenchmarkRun.State.QUEUED
    )
    for run in queued:
        run_rows.stop_waiting(run, reason=reason, now=now)


def _end(comparison: BenchmarkComparison, state: str, *, reason: str, now: datetime) -> None:
    comparison.state, comparison.reason, comparison.finished_at = state, reason, now
    comparison.save(update_fields=["state", "reason", "finished_at"])
    announce(comparison)


def end_early(comparison: BenchmarkComparison, *, reason: str, now: datetime) -> None:
    """Of a row that is locked: what waits is stopped, the run under way goes on to its end and counts."""
    stop_queued(comparison, reason=reason, now=now)
    comparison.is_cut_short = True
    comparison.save(update_fields=["is_cut_short"])
    announce(comparison)


def end_by_hand(comparison: BenchmarkComparison, *, reason: str, now: datetime) -> None:
    """Of a row that is locked: those that wait at once, the one under way within seconds."""
    stop_queued(comparison, reason=reason, now=now)
    BenchmarkRun.objects.filter(places__comparison=comparison, state__in=BenchmarkRun.UNDER_WAY).update(
        is_stop_requested=True, stop_reason=reason
    )
    _end(comparison, State.STOPPED, reason=reason, now=now)


def announce(comparison: BenchmarkComparison) -> None:
    told = {"comparison": comparison.pk, "state": comparison.state}
    events.announce(f"comparison.{comparison.pk}", "comparison", **told)
    events.announce(f"cluster.{comparison.cluster_id}", "comparison", **told)


def _arm(wanted: Wish, *, label: str, x: float | None) -> Arm:
    return {
        "label": label,
        "workload": wanted.workload.key,
        "topology": wanted.topology.key,
        "clients": wanted.clients,
        "threads": wanted.threads,
        "duration_s": wanted.duration_s,
        "warm_up_s": wanted.warm_up_s,
        "parameters": dict(wanted.parameters),
        "x": x,
    }
