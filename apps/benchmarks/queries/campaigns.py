"""Campaigns of an organisation: when they are due, their rounds, and how each arm went from round to round."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.benchmarks.control import campaign_schedule
from apps.benchmarks.domain.comparison_plan import labelled
from apps.benchmarks.domain.step_change import FEWEST_BEFORE, Change
from apps.benchmarks.domain.trend_conditions import moved
from apps.benchmarks.models import BenchmarkCampaign, CampaignRound
from apps.benchmarks.queries import campaign_trend
from apps.benchmarks.queries.campaign_trend import Measured
from apps.clusters.models import Cluster

CALENDAR = timedelta(days=14)


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
    """The typical run of an arm in this round, in tps, with its 95 % interval; null where there is none.

    change: none, too_early, suspected or confirmed, against the rounds before; "" without a figure. limit_percent: from
    which change on a round counts as a step; a true change of just that size is suspected in about half of the rounds.
    moved: what it was measured under that was another before, as
    "measured at 10.0.0.5:6432 instead of 10.0.0.4:6432"; of a suspicion or a step, than before that was first seen.
    """

    tps: float | None
    low: float | None
    high: float | None
    change: str
    change_percent: float | None
    limit_percent: float | None
    moved: list[str]


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
    """calendar: when rounds are due in the next 14 days. rounds: latest first. plan: the arms as asked for.

    sentence: which arm stepped, with what moved then, or whether it is too early to tell.
    """

    plan: list[dict[str, Any]]
    baseline: int
    margin_percent: float
    sentence: str
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
    last = campaign.rounds.select_related("comparison").order_by("-pk").first()
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
    measured = campaign_trend.history(campaign)
    return {
        **summary_answer(campaign=campaign, caller=caller),
        "plan": campaign.arms,
        "baseline": campaign.baseline,
        "margin_percent": campaign.margin_percent,
        "sentence": _sentence(labelled(campaign.arms), measured),
        "calendar": calendar(campaign, now=timezone.now()),
        "rounds": [_round(position, measured) for position in reversed(range(len(measured)))],
    }


def _round(position: int, rounds: Sequence[Measured]) -> RoundAnswer:
    one = rounds[position]
    found = one.round
    return {
        "id": found.pk,
        "kind": found.kind,
        "due_at": found.due_at,
        "comparison": found.comparison_id,
        "state": _state(found),
        "reason": found.reason or ("" if found.comparison is None else found.comparison.reason),
        "trend": [_point(arm, position, rounds) for arm in range(len(one.rates))],
    }


def calendar(campaign: BenchmarkCampaign, *, now: datetime) -> list[datetime]:
    if campaign.is_paused:
        return []
    return campaign_schedule.upcoming(campaign.cron, after=now, until=now + CALENDAR)


def _state(one: CampaignRound) -> str:
    return "left_out" if one.comparison is None else one.comparison.state


def _point(arm: int, position: int, rounds: Sequence[Measured]) -> TrendPoint:
    rates, judged = rounds[position].rates[arm], rounds[position].judged[arm]
    told: TrendPoint = {
        "tps": None, "low": None, "high": None,
        "change": "" if judged is None else judged.change,
        "change_percent": None if judged is None else judged.change_percent,
        "limit_percent": None if judged is None else judged.limit_percent,
        "moved": [words for words, _ in _moved(arm, position, rounds)],
    }  # fmt: skip
    if rates:
        # scipy takes half a second and 40 MB, which no other request should pay for.
        from apps.benchmarks.domain.arms import spread

        found = spread(rates)
        told["tps"], told["low"], told["high"] = found.middle, found.low, found.high
    return told


def _sentence(labels: Sequence[str], rounds: Sequence[Measured]) -> str:
    """What stepped in the latest rounds, arm by arm; "" before the first round is over."""
    rounds = [one for one in rounds if any(one.judged)]
    if not rounds:
        return ""
    told = [_told(label, arm, rounds) for arm, label in enumerate(labels)]
    if any(told):
        return " ".join(each for each in told if each)
    latest = [one for one in rounds[-1].judged if one is not None]
    if not latest or all(one.change is Change.TOO_EARLY for one in latest):
        return f"Too early to tell a step from noise: {FEWEST_BEFORE} rounds are needed before."
    limits = [one.limit_percent for one in latest if one.limit_percent is not None]
    seen = f" A change counts as a step from {max(limits):.1f} % on." if limits else ""
    return f"No arm has stepped.{seen}"


def _first_suspect(rounds: Sequence[Measured], arm: int, position: int) -> int:
    """Where the step was first seen that this round confirms."""
    first = position
    for before in range(position - 1, -1, -1):
        judged = rounds[before].judged[arm]
        if judged is not None and judged.change is not Change.SUSPECTED:
            break
        first = first if judged is None else before
    return first


def _moved(arm: int, position: int, rounds: Sequence[Measured]) -> list[tuple[str, CampaignRound]]:
    """What differs from the round before, of a step from that before it was first seen; and since which round."""
    judged = rounds[position].judged[arm]
    has_changed = judged is not None and judged.change in {Change.SUSPECTED, Change.CONFIRMED}
    first = _first_suspect(rounds, arm, position) if has_changed else position
    if first == 0:
        return []
    before = rounds[first - 1].conditions[arm]
    found = [(one.round, moved(before, one.conditions[arm])) for one in rounds[first : position + 1]]
    return [(words, next(one for one, told in found if words in told)) for words in found[-1][1]]


def _coincided(arm: int, position: int, rounds: Sequence[Measured]) -> str:
    """Behind the sentence of a step: that it may come of what moved then."""
    since: dict[str, list[str]] = {}
    for words, found in _moved(arm, position, rounds):
        since.setdefault(_at(found), []).append(words)
    return "".join(f" From the round of {at} on it was {', '.join(words)}." for at, words in since.items())


def _at(found: CampaignRound) -> str:
    return f"{found.due_at:%d %b %H:%M} UTC"


def _told(label: str, arm: int, rounds: Sequence[Measured]) -> str:
    """Of the latest step that is confirmed, or of a suspicion about the latest round."""
    for position in range(len(rounds) - 1, -1, -1):
        judged = rounds[position].judged[arm]
        if judged is None or judged.change_percent is None:
            continue
        size = f"{abs(judged.change_percent):.1f} % {'slower' if judged.change_percent < 0 else 'faster'}"
        at = _at(rounds[_first_suspect(rounds, arm, position)].round)
        moved_then = _coincided(arm, position, rounds)
        if judged.change is Change.CONFIRMED:
            return f"{label} is {size} than before since about {at}; measured twice.{moved_then}"
        if judged.change is Change.SUSPECTED and position == len(rounds) - 1:
            return f"{label} was {size} at {at}; whether that stays is not confirmed.{moved_then}"
    return ""
