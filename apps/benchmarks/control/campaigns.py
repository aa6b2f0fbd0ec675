"""A campaign is made, paused, gone on with, begun by hand, removed. Rounds are begun by campaign_rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.http import Http404

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.benchmarks.control import campaign_rounds, campaign_schedule, comparisons
from apps.benchmarks.control.campaign_schedule import ScheduleRefused
from apps.benchmarks.control.runs import RunRefused
from apps.benchmarks.domain.comparison_plan import PlanRefused
from apps.benchmarks.models import BenchmarkCampaign, CampaignRound
from apps.clusters.models import Cluster

MOST_OF_A_CLUSTER = 50
LONGEST_WINDOW_MIN = 7 * 24 * 60


def create(
    *,
    caller: Caller,
    cluster: Cluster,
    name: str,
    arms: Sequence[Mapping[str, Any]],
    repetitions: int,
    cron: str,
    window_min: int,
    budget_min: int,
    now: datetime,
    baseline: int = 0,
    over: str = "",
    margin_percent: float = 5.0,
) -> BenchmarkCampaign:
    """Raises PlanRefused, WishRefused, RunRefused, or writes.NotAllowed; nothing is stored then."""
    caller.require(Role.OPERATOR)
    plan = comparisons.planned(
        cluster=cluster, arms=arms, repetitions=repetitions, baseline=baseline, name=name, over=over,
        margin_percent=margin_percent,
    )  # fmt: skip
    if not name.strip():
        raise PlanRefused("name", name, "is empty; a campaign is known by its name")
    try:
        next_at = campaign_schedule.next_due(cron, after=now)
        campaign_schedule.refuse_too_often(cron, now=now)
    except ScheduleRefused as error:
        raise PlanRefused("cron", cron, str(error)) from error
    needed_min = plan.load_s / 60
    if not needed_min <= budget_min <= LONGEST_WINDOW_MIN:
        expected = f"must be from {needed_min:.1f}, the load that one round makes, to {LONGEST_WINDOW_MIN:,} min"
        raise PlanRefused("budget_min", budget_min, expected)
    if not budget_min <= window_min <= LONGEST_WINDOW_MIN:
        raise PlanRefused("window_min", window_min, f"must be from the budget to {LONGEST_WINDOW_MIN:,} min")
    if BenchmarkCampaign.objects.filter(cluster=cluster).count() >= MOST_OF_A_CLUSTER:
        raise RunRefused(f"{cluster.name} has {MOST_OF_A_CLUSTER} campaigns already. Remove some first.")
    with transaction.atomic():
        campaign = BenchmarkCampaign.objects.create(
            cluster=cluster,
            name=name.strip(),
            arms=[dict(arm) for arm in arms],
            baseline=baseline,
            repetitions=repetitions,
            over=over,
            margin_percent=margin_percent,
            cron=cron.strip(),
            window_min=window_min,
            budget_min=budget_min,
            next_at=next_at,
            requested_by=caller.user,
            requested_by_name=caller.user.shown_name,
        )
        _record(caller, campaign, "created", {"cron": campaign.cron, "arms": list(plan.labels)})
    return campaign


def pause(*, caller: Caller, campaign: BenchmarkCampaign) -> BenchmarkCampaign:
    """No round begins any more; one that is under way goes on. Raises RunRefused."""
    with transaction.atomic():
        current = _locked(caller, campaign)
        if current.is_paused:
            raise RunRefused(f"{current.name} is paused already.")
        current.is_paused, current.next_at = True, None
        current.save(update_fields=["is_paused", "next_at"])
        _record(caller, current, "paused", {})
    return current


def resume(*, caller: Caller, campaign: BenchmarkCampaign, now: datetime) -> BenchmarkCampaign:
    """Rounds begin again by the schedule; those that were due meanwhile are not made up for. Raises RunRefused."""
    with transaction.atomic():
        current = _locked(caller, campaign)
        if not current.is_paused:
            raise RunRefused(f"{current.name} is not paused.")
        current.is_paused, current.next_at = False, campaign_schedule.next_due(current.cron, after=now)
        current.save(update_fields=["is_paused", "next_at"])
        _record(caller, current, "resumed", {})
    return current


def begin_now(*, caller: Caller, campaign: BenchmarkCampaign, now: datetime) -> CampaignRound:
    """A round by hand, beside the schedule. Raises RunRefused with the reason why it cannot begin."""
    with transaction.atomic():
        current = _locked(caller, campaign)
        made = campaign_rounds.begin(current, due_at=now, kind=CampaignRound.Kind.BY_HAND, now=now)
        if made.comparison_id is None:
            raise RunRefused(made.reason)
        _record(caller, current, "begun", {"comparison": made.comparison_id})
    return made


def remove(*, caller: Caller, campaign: BenchmarkCampaign, now: datetime) -> None:
    """Its rounds go with it; the comparisons that they made stay, one under way without the runs that wait."""
    with transaction.atomic():
        current = _locked(caller, campaign)
        campaign_rounds.end_with_campaign(current, now=now)
        _record(caller, current, "removed", {})
        current.delete()


def _locked(caller: Caller, campaign: BenchmarkCampaign) -> BenchmarkCampaign:
    caller.require(Role.OPERATOR)
    current = (
        BenchmarkCampaign.objects.select_for_update(of=("self",))
        .select_related("cluster")
        .filter(pk=campaign.pk)
        .first()
    )
    if current is None:
        raise Http404(f"Campaign {campaign.pk} was removed.")
    return current


def _record(caller: Caller, campaign: BenchmarkCampaign, what: str, after: dict[str, object]) -> None:
    audit.record(
        caller=caller,
        action=f"benchmarks.campaign.{what}",
        target_type="benchmark_campaign",
        target_id=campaign.pk,
        target_name=campaign.name,
        after=after,
    )
