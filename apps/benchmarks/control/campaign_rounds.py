"""Rounds of campaigns: begun when due, ended when their window or their budget is over. Looked after by beat."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from apps.benchmarks.control import campaign_schedule, comparison_rows, comparisons, one_by_one
from apps.benchmarks.control.runs import RunRefused
from apps.benchmarks.domain.comparison_plan import PlanRefused
from apps.benchmarks.domain.run_wish import WishRefused
from apps.benchmarks.domain.step_change import Change
from apps.benchmarks.models import BenchmarkCampaign, BenchmarkComparison, BenchmarkRun, CampaignRound
from apps.benchmarks.queries import campaign_trend
from apps.clusters.control import writes
from apps.live import events

Kind = CampaignRound.Kind
# Of a campaign, so that the name of a comparison holds the time behind it.
LONGEST_NAME = 170


def begin_due(*, now: datetime) -> None:
    """Every round that is due. A time that passed while nobody was there is told as left out."""
    due = BenchmarkCampaign.objects.filter(next_at__lte=now).values_list("pk", flat=True)
    one_by_one.each(due, lambda pk: _begin_one(pk, now=now), what="campaign")


def _begin_one(pk: int, *, now: datetime) -> None:
    with transaction.atomic():
        campaign = (
            BenchmarkCampaign.objects.select_for_update(of=("self",), skip_locked=True)
            .select_related("cluster")
            .filter(pk=pk, next_at__lte=now)
            .first()
        )
        if campaign is None or campaign.next_at is None:
            return
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
            baseline=campaign.baseline, over=campaign.over, margin_percent=campaign.margin_percent,
            name=f"{campaign.name[:LONGEST_NAME]}, {found.due_at:%d %b %H:%M} UTC",
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
    one_by_one.each(
        over.order_by("pk").values_list("pk", flat=True), lambda pk: _judge_one(pk, now=now), what="round of a campaign"
    )


def _judge_one(pk: int, *, now: datetime) -> None:
    with transaction.atomic():
        campaign = (
            BenchmarkCampaign.objects.select_for_update(of=("self",), skip_locked=True)
            .select_related("cluster")
            .filter(rounds__pk=pk)
            .first()
        )
        if campaign is None:
            return
        CampaignRound.objects.filter(pk=pk).update(is_judged=True)
        latest = [one for one in campaign_trend.history(campaign) if one.round.comparison_id is not None][-1]
        if latest.round.pk == pk and _is_to_confirm(campaign, latest, now=now):
            begin(campaign, due_at=now, kind=Kind.CONFIRMING, now=now)


def _is_to_confirm(campaign: BenchmarkCampaign, latest: campaign_trend.Measured, *, now: datetime) -> bool:
    """Whether it is measured again at once. Else the next round confirms it."""
    found = latest.round
    if campaign.is_paused or found.kind == Kind.CONFIRMING or now > _window_ends(campaign, found):
        return False
    is_whole = found.comparison is not None and found.comparison.state == BenchmarkComparison.State.DONE
    return is_whole and any(one is not None and one.change is Change.SUSPECTED for one in latest.judged)


def _window_ends(campaign: BenchmarkCampaign, found: CampaignRound) -> datetime:
    """Of a confirming round when that of the round ends that it confirms."""
    due_at = found.due_at
    if found.kind == Kind.CONFIRMING:
        before = campaign.rounds.filter(pk__lt=found.pk).exclude(kind=Kind.CONFIRMING).order_by("-pk").first()
        due_at = before.due_at if before is not None else due_at
    return due_at + timedelta(minutes=campaign.window_min)


def end_overdue(*, now: datetime) -> None:
    """Rounds whose window or budget is over: no run of them begins any more, the one under way counts."""
    under_way = BenchmarkComparison.objects.filter(
        round__isnull=False, is_cut_short=False, state=BenchmarkComparison.State.UNDER_WAY
    )
    one_by_one.each(under_way.values_list("pk", flat=True), lambda pk: _end_one(pk, now=now), what="comparison")


def _end_one(pk: int, *, now: datetime) -> None:
    with transaction.atomic():
        comparison = (
            BenchmarkComparison.objects.select_for_update(of=("self",), skip_locked=True)
            .select_related("cluster")
            .filter(pk=pk, state=BenchmarkComparison.State.UNDER_WAY)
            .first()
        )
        found = CampaignRound.objects.select_related("campaign").filter(comparison_id=pk).first()
        if comparison is None or found is None:
            return
        if why := _overdue(found, comparison, now=now):
            comparison_rows.end_early(comparison, reason=why, now=now)
            CampaignRound.objects.filter(comparison=comparison).update(reason=why)


def end_with_campaign(campaign: BenchmarkCampaign, *, now: datetime) -> None:
    """Nobody would hold it to its window and its budget any more."""
    comparison = (
        BenchmarkComparison.objects.select_for_update(of=("self",))
        .select_related("cluster")
        .filter(round__campaign=campaign, state=BenchmarkComparison.State.UNDER_WAY)
        .first()
    )
    if comparison is not None:
        comparison_rows.end_early(comparison, reason=f"The campaign {campaign.name} was removed.", now=now)


def _overdue(found: CampaignRound, comparison: BenchmarkComparison, *, now: datetime) -> str:
    campaign = found.campaign
    if now > _window_ends(campaign, found):
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
