"""How each arm of a campaign went from round to round, and where it stepped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from apps.benchmarks.control.comparison_rows import is_measured
from apps.benchmarks.domain import step_change, trend_conditions
from apps.benchmarks.domain.comparison_plan import FIRST_BLOCK
from apps.benchmarks.domain.step_change import Judged
from apps.benchmarks.domain.trend_conditions import Conditions
from apps.benchmarks.models import BenchmarkCampaign, BenchmarkRun, CampaignRound, ComparisonRun

MOST_ROUNDS = 90
MOST_LEFT_OUT = 30
FEWEST_RUNS = 2


@dataclass(frozen=True)
class Measured:
    """One round. rates: of the runs that count, one list an arm. judged: one an arm; None where it has no figure.

    conditions: one an arm; what this round does not tell is as the rounds before told it.
    """

    round: CampaignRound
    rates: tuple[tuple[float, ...], ...]
    judged: tuple[Judged | None, ...]
    conditions: tuple[Conditions, ...]


def history(campaign: BenchmarkCampaign) -> list[Measured]:
    """The latest rounds, oldest first. Those that are under way have no figure yet.

    Those that were left out stand between the others, and take the place of none.
    """
    latest = campaign.rounds.select_related("comparison").order_by("-pk")
    begun = list(latest.filter(comparison__isnull=False)[:MOST_ROUNDS])
    left_out = list(latest.filter(comparison__isnull=True)[:MOST_LEFT_OUT])
    rounds = sorted([*begun, *left_out], key=lambda one: one.pk)
    arms = range(len(campaign.arms))
    found = _counted([one.comparison_id for one in rounds if one.comparison_id is not None])
    runs = [[found.get((one.comparison_id, arm), []) for arm in arms] for one in rounds]
    rates = [tuple(tuple(run.tps or 0 for run in each) for each in row) for row in runs]
    judged = [_judged(rounds, [each[arm] for each in rates], campaign.margin_percent) for arm in arms]
    conditions = [_conditions([row[arm] for row in runs]) for arm in arms]
    return [
        Measured(
            one, rates[position], tuple(column[position] for column in judged),
            tuple(column[position] for column in conditions),
        )
        for position, one in enumerate(rounds)
    ]  # fmt: skip


def _conditions(runs: Sequence[Sequence[BenchmarkRun]]) -> list[Conditions]:
    """Of one arm, round by round."""
    return trend_conditions.carried([trend_conditions.of_runs([run.environment for run in each]) for each in runs])


def _judged(
    rounds: Sequence[CampaignRound], rates: Sequence[Sequence[float]], margin_percent: float
) -> list[Judged | None]:
    """Of one arm."""
    told = [
        (one.kind == CampaignRound.Kind.CONFIRMING, _typical(each)) for one, each in zip(rounds, rates, strict=True)
    ]
    return step_change.walk(told, margin_percent=margin_percent)


def _typical(rates: Sequence[float]) -> float | None:
    return median(rates) if len(rates) >= FEWEST_RUNS else None


def _counted(comparison_ids: Sequence[int]) -> dict[tuple[int | None, int], list[BenchmarkRun]]:
    """(comparison, arm) -> of its blocks that count. Only of those that are over: a half is no round."""
    found: dict[tuple[int | None, int], list[BenchmarkRun]] = {}
    places = ComparisonRun.objects.select_related("run").filter(comparison_id__in=comparison_ids)
    for one in places.exclude(block=FIRST_BLOCK).exclude(comparison__state="under_way").order_by("block"):
        if is_measured(one.run) and one.run.tps:
            found.setdefault((one.comparison_id, one.arm), []).append(one.run)
    return found
