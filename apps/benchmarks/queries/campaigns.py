"""Campaigns of an organisation: when they are due, their rounds, and how each arm went from round to round."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypedDict

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.benchmarks.control import campaign_schedule
from apps.benchmarks.control.comparison_rows import is_measured
from apps.benchmarks.domain.comparison_plan import FIRST_BLOCK, labelled
from apps.benchmarks.models import BenchmarkCampaign, CampaignRound, ComparisonRun
from apps.clusters.models import Cluster

CALENDAR = timedelta(days=14)
MOST_ROUNDS = 60


class CampaignSummary(TypedDict):
    """next_at: null while it is paused. last_round_at: when the latest one was due, whether it began or not."""

    id: int
    cluster: str
    cluster_name: str
    name: str
    arms: list[str]
    repetitions: int
    over: str
    cron: str
    window_min: int
    budget_min: int
    is_paused: bool
    next_at: datetime | None
    rounds_count: int
    last_round_at: datetime | None
    last_round_state: str
    may_change: bool
    requested_by: str
    created_at: datetime


class TrendPoint(TypedDict):
    """The typical run of an arm in this round, in tps, with its 95 % interval; null where there is none."""

    tps: float | None
    low: float | None
    high: float | None


class RoundAnswer(TypedDict):
    """state: of its comparison, or left_out. trend: one an arm, in their order."""

    id: int
    kind: str
    due_at: datetime
    comparison: int | None
    state: str
    reason: str
    trend: list[TrendPoint]


class CampaignDetail(CampaignSummary):
    """calendar: when rounds are due in the next 14 days. rounds: latest first. plan: the arms as asked for."""

    plan: list[dict[str, Any]]
    baseline: int
    margin_percent: float
    calendar: list[datetime]
    rounds: list[RoundAnswer]


def campaigns_of(*, caller: Caller, cluster: Cluster | None = None) -> QuerySet[BenchmarkCampaign]:
    """Latest first."""
    found = BenchmarkCampaign.objects.select_related("cluster").filter(cluster__organisation=caller.organisation)
    return (found if cluster is None else found.filter(cluster=cluster)).order_by("-pk")


def campaign_of(*, caller: Caller, pk: int) -> BenchmarkCampaign:
    found = campaigns_of(caller=caller).filter(pk=pk).first()
    if found is None:
        raise Http404(f"{caller.organisation.name} has no campaign {pk}.")
    return found


def summary_answer(*, campaign: BenchmarkCampaign, caller: Caller) -> CampaignSummary:
    last = campaign.rounds.select_related("comparison").order_by("-due_at", "-pk").first()
    return {
        "id": campaign.pk,
        "cluster": campaign.cluster.slug,
        "cluster_name": campaign.cluster.name,
        "name": campaign.name,
        "arms": labelled(campaign.arms),
        "repetitions": campaign.repetitions,
        "over": campaign.over,
        "cron": campaign.cron,
        "window_min": campaign.window_min,
        "budget_min": campaign.budget_min,
        "is_paused": campaign.is_paused,
        "next_at": campaign.next_at,
        "rounds_count": campaign.rounds.count(),
        "last_round_at": None if last is None else last.due_at,
        "last_round_state": "" if last is None else _state(last),
        "may_change": caller.may(Role.OPERATOR),
        "requested_by": campaign.requested_by_name,
        "created_at": campaign.created_at,
    }


def detail_answer(*, campaign: BenchmarkCampaign, caller: Caller) -> CampaignDetail:
    rounds = list(campaign.rounds.select_related("comparison").order_by("-due_at", "-pk")[:MOST_ROUNDS])
    measured = _measured([one.comparison_id for one in rounds if one.comparison_id is not None])
    return {
        **summary_answer(campaign=campaign, caller=caller),
        "plan": campaign.arms,
        "baseline": campaign.baseline,
        "margin_percent": campaign.margin_percent,
        "calendar": calendar(campaign, now=timezone.now()),
        "rounds": [
            {
                "id": one.pk,
                "kind": one.kind,
                "due_at": one.due_at,
                "comparison": one.comparison_id,
                "state": _state(one),
                "reason": one.reason or ("" if one.comparison is None else one.comparison.reason),
                "trend": [_point(measured.get((one.comparison_id, arm), [])) for arm in range(len(campaign.arms))],
            }
            for one in rounds
        ],
    }


def calendar(campaign: BenchmarkCampaign, *, now: datetime) -> list[datetime]:
    if campaign.is_paused:
        return []
    return campaign_schedule.upcoming(campaign.cron, after=now, until=now + CALENDAR)


def _state(one: CampaignRound) -> str:
    return "left_out" if one.comparison is None else one.comparison.state


def _measured(comparison_ids: list[int]) -> dict[tuple[int | None, int], list[float]]:
    """(comparison, arm) -> the rates of its blocks that count."""
    found: dict[tuple[int | None, int], list[float]] = {}
    places = ComparisonRun.objects.select_related("run").filter(comparison_id__in=comparison_ids)
    for one in places.exclude(block=FIRST_BLOCK).order_by("block"):
        if is_measured(one.run) and one.run.tps:
            found.setdefault((one.comparison_id, one.arm), []).append(one.run.tps)
    return found


def _point(rates: list[float]) -> TrendPoint:
    if not rates:
        return {"tps": None, "low": None, "high": None}
    # scipy takes half a second and 40 MB, which no other request should pay for.
    from apps.benchmarks.domain.arms import spread

    found = spread(rates)
    return {"tps": found.middle, "low": found.low, "high": found.high}
