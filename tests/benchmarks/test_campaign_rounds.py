"""Rounds of campaigns keep to their window and to what people said meanwhile; one that fails keeps nobody waiting."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.benchmarks import tasks
from apps.benchmarks.control import campaign_rounds, comparison_rows
from apps.benchmarks.models import BenchmarkCampaign, BenchmarkComparison, BenchmarkRun, CampaignRound
from apps.benchmarks.queries import campaign_page
from apps.clusters.models import Cluster
from tests.benchmarks.comparison_scene import advance, finish_all
from tests.benchmarks.test_campaign_doors import CAMPAIGNS, MINUTE, due, made, rounds_of

pytestmark = pytest.mark.django_db

Client = Callable[..., APIClient]
QUIET = (800, 803, 798, 801, 799, 802, 800)


def test_the_longest_name_leaves_room_for_the_time(cluster: Cluster, api_client: Client) -> None:
    campaign = made(api_client, name="n" * 200)

    campaign_rounds.begin_due(now=due(campaign))

    assert BenchmarkComparison.objects.get().name.endswith(" 02:00 UTC")


def test_a_step_that_fails_keeps_no_other_waiting(
    cluster: Cluster, api_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_: Any) -> None:
        raise RuntimeError("broken")

    nudged: list[int] = []
    campaign_rounds.begin_due(now=due(made(api_client)))
    monkeypatch.setattr(campaign_rounds, "begin_due", broken)
    monkeypatch.setattr(comparison_rows, "advance_all", broken)
    monkeypatch.setattr("apps.clusters.control.rollout_rows.nudge", lambda pk, **_: nudged.append(pk))

    tasks.advance_runs()

    assert nudged == [BenchmarkRun.objects.order_by("pk")[0].pk]


def test_a_campaign_that_fails_keeps_no_other_waiting(
    cluster: Cluster, api_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = made(api_client, name="Breaks"), made(api_client, name="Works")
    begin = campaign_rounds.begin

    def breaks(campaign: BenchmarkCampaign, **given: Any) -> CampaignRound:
        if campaign.name == "Breaks":
            raise RuntimeError("broken")
        return begin(campaign, **given)

    monkeypatch.setattr(campaign_rounds, "begin", breaks)
    at = due(second)

    campaign_rounds.begin_due(now=at)

    assert [one.campaign_id for one in CampaignRound.objects.all()] == [second.pk]
    assert due(first) == at  # nothing of it was written: it is still due


def suspected(campaign: BenchmarkCampaign) -> CampaignRound:
    """A slower round whose runs are all over, and that nobody has judged yet."""
    rounds_of(campaign, *QUIET)
    campaign_rounds.begin_due(now=due(campaign))
    latest = campaign.rounds.order_by("-pk")[0]
    assert latest.comparison_id is not None
    finish_all(latest.comparison_id, [1000, 700])
    advance(latest.comparison_id)
    return latest


def confirming(campaign: BenchmarkCampaign) -> int:
    return campaign.rounds.filter(kind="confirming").count()


def test_a_paused_campaign_measures_nothing_again(cluster: Cluster, api_client: Client) -> None:
    campaign = made(api_client)
    latest = suspected(campaign)
    api_client("operator").patch(f"{CAMPAIGNS}{campaign.pk}/", {"is_paused": True}, format="json")

    campaign_rounds.judge_finished(now=latest.due_at)

    assert confirming(campaign) == 0


def test_a_round_that_somebody_stopped_is_not_measured_again(cluster: Cluster, api_client: Client) -> None:
    campaign = made(api_client)
    latest = suspected(campaign)
    BenchmarkComparison.objects.filter(pk=latest.comparison_id).update(state="stopped")

    campaign_rounds.judge_finished(now=latest.due_at)

    assert confirming(campaign) == 0


def test_nothing_is_measured_again_after_the_window_and_the_next_round_confirms(
    cluster: Cluster, api_client: Client
) -> None:
    campaign = made(api_client)
    latest = suspected(campaign)

    campaign_rounds.judge_finished(now=latest.due_at + 31 * MINUTE)
    assert confirming(campaign) == 0

    rounds_of(campaign, 702)
    sentence = api_client("viewer").get(f"{CAMPAIGNS}{campaign.pk}/").json()["sentence"]
    assert f"since about {latest.due_at:%d %b} 02:00 UTC; measured twice." in sentence


def test_the_window_counts_from_when_the_round_was_due(cluster: Cluster, api_client: Client) -> None:
    campaign = made(api_client)
    at = due(campaign, late=29 * MINUTE)
    campaign_rounds.begin_due(now=at)

    campaign_rounds.end_overdue(now=at + 2 * MINUTE)

    assert {run.state for run in BenchmarkRun.objects.all()} == {"stopped"}


def test_what_confirms_keeps_to_the_window_of_what_it_confirms(cluster: Cluster, api_client: Client) -> None:
    campaign = made(api_client)
    latest = suspected(campaign)
    campaign_rounds.judge_finished(now=latest.due_at + 20 * MINUTE)
    assert confirming(campaign) == 1

    campaign_rounds.end_overdue(now=latest.due_at + 31 * MINUTE)

    assert not BenchmarkRun.objects.filter(state="queued").exists()


def test_no_block_is_measured_again_after_the_window(cluster: Cluster, api_client: Client) -> None:
    campaign = made(api_client)
    at = due(campaign)
    campaign_rounds.begin_due(now=at)
    comparison = BenchmarkComparison.objects.get()
    lacking = comparison.members.get(block=2, arm=0).run
    lacking.state, lacking.finished_at = "stopped", timezone.now()
    lacking.save()
    finish_all(comparison.pk, [1000, 800])

    campaign_rounds.end_overdue(now=at + 31 * MINUTE)
    comparison_rows.advance_all(now=at + 31 * MINUTE)

    comparison.refresh_from_db()
    assert (comparison.state, comparison.extra_blocks) == ("failed", 0)
    assert BenchmarkRun.objects.count() == 6


def test_a_removed_campaign_takes_its_waiting_runs_with_it(cluster: Cluster, api_client: Client) -> None:
    campaign = made(api_client)
    campaign_rounds.begin_due(now=due(campaign))

    api_client("operator").delete(f"{CAMPAIGNS}{campaign.pk}/")

    assert {run.state for run in BenchmarkRun.objects.all()} == {"stopped"}
    comparison_rows.advance_all(now=timezone.now())
    assert BenchmarkComparison.objects.get().state == "failed"


def test_rounds_that_were_left_out_hide_no_step(cluster: Cluster, api_client: Client) -> None:
    campaign = made(api_client)
    rounds_of(campaign, *QUIET)
    CampaignRound.objects.bulk_create(
        CampaignRound(campaign=campaign, due_at=timezone.now() + dt.timedelta(seconds=at), reason="busy")
        for at in range(100)
    )
    rounds_of(campaign, 700)

    body = api_client("viewer").get(f"{CAMPAIGNS}{campaign.pk}/").json()

    assert "all pgpools was 12.5 % slower" in body["sentence"]
    assert confirming(campaign) == 1


@pytest.mark.parametrize(("hour", "days"), [("10:02", 14), ("23:57", 13)])
def test_a_campaign_that_is_due_every_five_minutes_has_a_short_calendar(
    hour: str, days: int, cluster: Cluster, api_client: Client
) -> None:
    campaign = made(api_client, cron="*/5 * * * *")
    now = dt.datetime.fromisoformat(f"2026-03-02T{hour}:00+00:00")

    [row] = campaign_page.calendar_rows([campaign], now=now)

    # At 23:57 the next time is tomorrow's. The times of the latest days are not looked up.
    assert sum(day["count"] > 0 for day in row["days"]) == days
    assert row["days"][-1]["times"] == ["…"]


def test_the_calendar_of_one_that_is_due_every_five_minutes_is_drawn(
    cluster: Cluster, api_client: Client, client_for: Callable[..., Any]
) -> None:
    made(api_client, cron="*/5 * * * *")

    text = client_for("viewer").get("/o/acme/benchmarks/campaigns/").content.decode()

    assert text.count('class="due"') in (13, 14)  # by the hour: 13 in the last five minutes of a day
    assert "…" in text
