"""Rounds of campaigns: begun when due, ended when their window or their budget is over. Looked after by beat."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from apps.benchmarks.control import campaign_schedule, comparison_rows, comparisons
from apps.benchmarks.control.runs import RunRefused
from apps.benchmarks.domain.comparison_plan import PlanRefused
from apps.benchmarks.domain.run_wish import WishRefused
from apps.benchmarks.domain.step_change import Change
from apps.benchmarks.models import BenchmarkCampaign, BenchmarkComparison, BenchmarkRun, CampaignRound
from apps.benchmarks.queries import campaign_trend
from apps.clusters.control import writes
from apps.live import events

Kind = CampaignRound.Kind


def begin_due(*, now: datetime) -> None:
    """Every round that is due. A time that passed while nobody was there is told as left out."""
    for pk in BenchmarkCampaign.objects.filter(next_at__lte=now).values_list("pk", flat=True):
        with transaction.atomic():
            campaign = (
                BenchmarkCampaign.objects.select_for_update(of=("self",), skip_locked=True)
                .select_related("cluster")
                .filter(pk=pk, next_at__lte=now)
                .first()
            )
            if campaign is None or campaign.next_at is None:
                continue
            due_at = campaign.next_at
            campaign.next_at = campaign_schedule.next_due(campaign.cron, after=now)
            campaign.save(update_fields=["next_at"])
            begin(campaign, due_at=due_at, kind=Kind.SCHEDULED, now=now)


def begin(campaign: BenchmarkCampaign, *, due_at: datetime, kind: str, now: datetime) -> CampaignRound:
    """Of a row that is locked. A round that cannot begin is kept with the reason."""
    found = CampaignRound(campaign=campaign, kind=kind, due_at=due_at)
    if before := _under_way(campaign):
        found.reason = f"Its comparison #{before.pk} is still under way."
    elif now - due_at > timedelta(minutes=campaign.window_min):
        found.reason = "Its window was over before a worker looked: Lifeguard was not running, or its beat was not."
    else:
        _try(campaign, found)
    found.save()
    told = {"campaign": campaign.pk}
    events.announce(f"cluster.{campaign.cluster_id}", "comparison", **told)
    return found


def _try(campaign: BenchmarkCampaign, found: CampaignRound) -> None:
    try:
        plan = comparisons.planned(
            cluster=campaign.cluster, arms=campaign.arms, repetitions=campaign.repetitions,
            baseline=campaign.baseline, name=f"{campaign.name}, {found.due_at:%d %b %H:%M} UTC", over=campaign.over,
            margin_percent=campaign.margin_percent,
        )  # fmt: skip
    except (PlanRefused, WishRefused, RunRefused, writes.NotAllowed) as error:
        found.reason = str(error)
        return
    found.comparison = comparison_rows.make(plan, by=campaign.requested_by, by_name=campaign.name)


def _under_way(campaign: BenchmarkCampaign) -> BenchmarkComparison | None:
    return BenchmarkComparison.objects.filter(
        round__campaign=campaign, state=BenchmarkComparison.State.UNDER_WAY
    ).first()


def judge_finished(*, now: datetime) -> None:
    """Rounds that are over: one that lies outside of those before it is measured again before anybody is told."""
    over = CampaignRound.objects.filter(is_judged=False, comparison__isnull=False).exclude(
        comparison__state=BenchmarkComparison.State.UNDER_WAY
    )
    for pk, campaign_id in list(over.order_by("pk").values_list("pk", "campaign_id")):
        with transaction.atomic():
            campaign = (
                BenchmarkCampaign.objects.select_for_update(of=("self",), skip_locked=True)
                .select_related("cluster")
                .filter(pk=campaign_id)
                .first()
            )
            if campaign is None:
                continue
            CampaignRound.objects.filter(pk=pk).update(is_judged=True)
            latest = campaign_trend.history(campaign)[-1]
            is_suspected = any(one is not None and one.change is Change.SUSPECTED for one in latest.judged)
            if latest.round.pk == pk and latest.round.kind != Kind.CONFIRMING and is_suspected:
                begin(campaign, due_at=now, kind=Kind.CONFIRMING, now=now)


def end_overdue(*, now: datetime) -> None:
    """Rounds whose window or budget is over: no run of them begins any more, the one under way counts."""
    queued = Q(members__run__state=BenchmarkRun.State.QUEUED)
    under_way = BenchmarkComparison.objects.filter(
        queued, round__isnull=False, state=BenchmarkComparison.State.UNDER_WAY
    ).distinct()
    for pk in list(under_way.values_list("pk", flat=True)):
        with transaction.atomic():
            comparison = (
                BenchmarkComparison.objects.select_for_update(of=("self",), skip_locked=True)
                .select_related("cluster")
                .filter(pk=pk, state=BenchmarkComparison.State.UNDER_WAY)
                .first()
            )
            campaign = BenchmarkCampaign.objects.filter(rounds__comparison_id=pk).first()
            if comparison is None or campaign is None:
                continue
            if why := _overdue(campaign, comparison, now=now):
                comparison_rows.end_early(comparison, reason=why, now=now)
                CampaignRound.objects.filter(comparison=comparison).update(reason=why)


def _overdue(campaign: BenchmarkCampaign, comparison: BenchmarkComparison, *, now: datetime) -> str:
    if now - comparison.created_at > timedelta(minutes=campaign.window_min):
        return f"Its window of {campaign.window_min} min was over before all of its runs were."
    if load_min(comparison) >= campaign.budget_min:
        return f"Its budget of {campaign.budget_min} min of load was used up before all of its runs were done."
    return ""


def load_min(comparison: BenchmarkComparison) -> float:
    """Minutes of load that its runs have made: those that ended early with what they had made until then."""
    whole = 0.0
    for run in BenchmarkRun.objects.filter(places__comparison=comparison):
        if run.measured_at is not None:
            took = run.duration_s if run.finished_at is None else (run.finished_at - run.measured_at).total_seconds()
            whole += run.warm_up_s + min(float(run.duration_s), took)
    return whole / 60
