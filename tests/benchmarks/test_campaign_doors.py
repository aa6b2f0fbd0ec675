"""Campaigns by REST, and their rounds: due, left out, ended by window and budget, never twice."""

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import AuditEntry
from apps.benchmarks.control import campaign_rounds, campaign_schedule
from apps.benchmarks.control.campaign_schedule import ScheduleRefused
from apps.benchmarks.models import (
    BenchmarkAccess,
    BenchmarkCampaign,
    BenchmarkComparison,
    BenchmarkRun,
    CampaignRound,
)
from apps.clusters.models import Cluster
from tests.benchmarks.comparison_scene import COMMON, DIRECT, POOLED, advance, finish_all
from tests.clusters.callers_at_doors import script

pytestmark = pytest.mark.django_db

Client = Callable[..., APIClient]
CAMPAIGNS = "/api/v1/benchmarks/campaigns/"
MINUTE = dt.timedelta(minutes=1)


def wanted(**changes: Any) -> dict[str, Any]:
    """Two arms of 10 s in three blocks: a minute of load."""
    return {
        "cluster": "orders", "name": "Nightly", "common": COMMON, "arms": [DIRECT, POOLED], "repetitions": 2,
        "cron": "0 2 * * *", "window_min": 30, "budget_min": 10, **changes,
    }  # fmt: skip


def made(api_client: Client, **changes: Any) -> BenchmarkCampaign:
    answer = api_client("operator").post(CAMPAIGNS, wanted(**changes), format="json")
    assert answer.status_code == 201, answer.json()
    return BenchmarkCampaign.objects.get(pk=answer.json()["id"])


def due(campaign: BenchmarkCampaign, *, late: dt.timedelta = MINUTE) -> dt.datetime:
    """The time at which beat looks, so long after the campaign was due."""
    campaign.refresh_from_db()
    assert campaign.next_at is not None
    return campaign.next_at + late


def test_a_campaign_says_when_it_is_due(cluster: Cluster, api_client: Client) -> None:
    answer = api_client("operator").post(CAMPAIGNS, wanted(), format="json")

    body = answer.json()
    assert answer.status_code == 201, body
    assert body["next_at"].endswith("T02:00:00Z")
    assert (body["arms"], body["is_paused"], body["rounds"], len(body["calendar"])) == (
        ["primary direct", "all pgpools"], False, [], 14,
    )  # fmt: skip
    assert not BenchmarkRun.objects.exists()
    assert AuditEntry.objects.get(action="benchmarks.campaign.created").target_id == str(body["id"])
    [listed] = api_client("viewer").get(CAMPAIGNS, {"cluster": "orders"}).json()["results"]
    assert (listed["name"], listed["may_change"]) == ("Nightly", False)


def test_rounds_have_the_clients_that_their_parameters_make(cluster: Cluster, api_client: Client) -> None:
    messaging = {"workload": "pubsub", "duration_s": 10, "parameters": {"groups": 1, "readers_per_group": 2}}

    campaign = made(api_client, common=messaging)
    campaign_rounds.begin(campaign, due_at=timezone.now(), kind=CampaignRound.Kind.BY_HAND, now=timezone.now())

    assert set(BenchmarkRun.objects.values_list("workload", "clients")) == {("pubsub", 6)}  # 4 + 1 x 2


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"cron": "at night"}, "cron", "0 2 * * * for every night"),
        ({"cron": "0 0 31 2 *"}, "cron", "never occurs"),
        ({"cron": "*/2 * * * *"}, "cron", "5 min or more"),
        ({"cron": "0,3 2 * * *"}, "cron", "5 min or more"),
        # Due at 13:59 and 14:00, which no look at the next few times finds.
        ({"cron": "0,59 1,3,5,7,9,11,13,14 * * *"}, "cron", "within 1 min; 5 min or more"),
        ({"cron": "0,59 0,23 * * *"}, "cron", "5 min or more"),
        ({"cron": "\u0660 2 * * *"}, "cron", "digits are 0 to 9"),
        ({"budget_min": 1, "repetitions": 6}, "budget_min", "from 2.3, the load that one round makes"),
        ({"window_min": 9}, "window_min", "from the budget"),
        ({"name": "  "}, "name", ""),
        ({"arms": [DIRECT, {"topology": "standby:7"}]}, "arms.1.topology", "is none of this cluster"),
        ({"arms": [DIRECT, {"clients": 2}]}, "arms.1.topology", "is needed"),
        ({"colour": "red"}, "colour", "is no field here"),
    ],
)
def test_what_cannot_be_a_campaign_is_refused_by_its_field(
    cluster: Cluster, api_client: Client, changes: dict[str, Any], field: str, words: str
) -> None:
    answer = api_client("operator").post(CAMPAIGNS, wanted(**changes), format="json")

    assert answer.status_code == 400, answer.json()
    error = answer.json()["errors"][0]
    assert error["field"] == field
    assert words in error["reason"]
    assert not BenchmarkCampaign.objects.exists()


def test_a_round_begins_when_it_is_due_and_once(cluster: Cluster, api_client: Client) -> None:
    campaign = made(api_client)
    campaign_rounds.begin_due(now=timezone.now())
    assert not CampaignRound.objects.exists()
    at = due(campaign)

    for _ in range(2):
        campaign_rounds.begin_due(now=at)

    comparison = BenchmarkComparison.objects.get()
    assert comparison.name == f"Nightly, {at:%d %b} 02:00 UTC"
    assert comparison.members.count() == 6
    assert due(campaign) == at + dt.timedelta(days=1)
    finish_all(comparison.pk, [1000, 800])
    advance(comparison.pk)
    body = api_client("viewer").get(f"{CAMPAIGNS}{campaign.pk}/").json()
    [one] = body["rounds"]
    assert (one["state"], one["kind"], one["comparison"]) == ("done", "scheduled", comparison.pk)
    assert [round(point["tps"]) for point in one["trend"]] == [1005, 804]


def test_a_round_is_left_out_with_its_reason(cluster: Cluster, api_client: Client) -> None:
    campaign = made(api_client)
    campaign_rounds.begin_due(now=due(campaign))
    campaign_rounds.begin_due(now=due(campaign))  # the first is still under way
    BenchmarkComparison.objects.update(state="done")
    campaign_rounds.begin_due(now=due(campaign, late=31 * MINUTE))
    BenchmarkAccess.objects.update(is_on=False)
    campaign_rounds.begin_due(now=due(campaign))

    rounds = api_client("viewer").get(f"{CAMPAIGNS}{campaign.pk}/").json()["rounds"]

    assert [one["state"] for one in rounds] == ["left_out", "left_out", "left_out", "done"]
    reasons = [one["reason"] for one in rounds]
    assert "an admin has to allow it first" in reasons[0]
    assert "Its window was over before a worker looked" in reasons[1]
    assert "is still under way" in reasons[2]


def begun(api_client: Client, **changes: Any) -> BenchmarkComparison:
    campaign = made(api_client, **changes)
    campaign_rounds.begin_due(now=due(campaign))
    return BenchmarkComparison.objects.get()


def test_no_run_begins_after_the_window(cluster: Cluster, api_client: Client) -> None:
    comparison = begun(api_client)
    under_way = comparison.members.order_by("run_id")[0].run
    BenchmarkRun.objects.filter(pk=under_way.pk).update(state="running")
    due_at = CampaignRound.objects.get().due_at
    campaign_rounds.end_overdue(now=due_at + 30 * MINUTE)
    assert BenchmarkRun.objects.filter(state="queued").count() == 5

    campaign_rounds.end_overdue(now=due_at + 31 * MINUTE)

    assert sorted(BenchmarkRun.objects.values_list("state", flat=True)) == ["running", *["stopped"] * 5]
    BenchmarkRun.objects.filter(pk=under_way.pk).update(state="done", finished_at=timezone.now())
    assert advance(comparison.pk).state == "failed"  # and no block is measured again
    assert BenchmarkRun.objects.count() == 6
    assert "window of 30 min" in CampaignRound.objects.get().reason


def test_no_run_begins_once_the_budget_is_used_up(cluster: Cluster, api_client: Client) -> None:
    comparison = begun(api_client, budget_min=1)
    began = timezone.now()
    first = comparison.members.order_by("run_id")[0].run
    ran = {"state": "failed", "measured_at": began, "duration_s": 50, "warm_up_s": 49}
    BenchmarkRun.objects.filter(pk=first.pk).update(finished_at=began + dt.timedelta(seconds=10), **ran)
    campaign_rounds.end_overdue(now=began)
    assert BenchmarkRun.objects.filter(state="queued").count() == 5
    BenchmarkRun.objects.filter(pk=first.pk).update(finished_at=began + dt.timedelta(seconds=11))

    campaign_rounds.end_overdue(now=began)

    assert BenchmarkRun.objects.filter(state="queued").count() == 0
    assert "budget of 1 min" in CampaignRound.objects.get().reason


def test_one_that_is_paused_begins_nothing_and_makes_up_for_nothing(cluster: Cluster, api_client: Client) -> None:
    campaign, operator = made(api_client), api_client("operator")
    at = due(campaign)
    address = f"{CAMPAIGNS}{campaign.pk}/"

    body = operator.patch(address, {"is_paused": True}, format="json").json()
    assert (body["is_paused"], body["next_at"], body["calendar"]) == (True, None, [])
    campaign_rounds.begin_due(now=at)
    assert not CampaignRound.objects.exists()
    assert operator.patch(address, {"is_paused": True}, format="json").status_code == 409

    body = operator.patch(address, {"is_paused": False}, format="json").json()
    assert (body["is_paused"], body["next_at"].endswith("T02:00:00Z")) == (False, True)
    assert operator.patch(address, {}, format="json").status_code == 400


def test_a_round_is_begun_by_hand(cluster: Cluster, api_client: Client) -> None:
    campaign, operator = made(api_client), api_client("operator")

    answer = operator.post(f"{CAMPAIGNS}{campaign.pk}/rounds/")

    assert answer.status_code == 202
    assert [one["kind"] for one in answer.json()["rounds"]] == ["by_hand"]
    again = operator.post(f"{CAMPAIGNS}{campaign.pk}/rounds/")
    assert (again.status_code, again.json()["type"]) == (409, "urn:lifeguard:run-refused")
    assert CampaignRound.objects.count() == 1


def test_one_that_is_removed_leaves_its_comparisons(cluster: Cluster, api_client: Client) -> None:
    campaign, operator = made(api_client), api_client("operator")
    campaign_rounds.begin_due(now=due(campaign))

    assert operator.delete(f"{CAMPAIGNS}{campaign.pk}/").status_code == 204

    assert operator.get(f"{CAMPAIGNS}{campaign.pk}/").status_code == 404
    assert BenchmarkComparison.objects.count() == 1


def test_viewers_and_strangers_change_nothing(cluster: Cluster, api_client: Client) -> None:
    address = f"{CAMPAIGNS}{made(api_client).pk}/"
    viewer, stranger = api_client("viewer"), script("admin", organisation="globex")

    assert viewer.get(address).status_code == 200
    for client, status in ((viewer, 403), (stranger, 404)):
        assert client.patch(address, {"is_paused": True}, format="json").status_code == status
        assert client.post(f"{address}rounds/").status_code == status
        assert client.delete(address).status_code == status
        assert client.post(CAMPAIGNS, wanted(), format="json").status_code == status
    assert stranger.get(address).status_code == 404
    assert stranger.get(CAMPAIGNS).json()["results"] == []


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("0 2 * * *", "2026-11-21 02:00"),
        ("30 12 * * *", "2026-11-20 12:30"),
        ("0 2 * * 1", "2026-11-23 02:00"),
        ("0 0 29 2 *", "2028-02-29 00:00"),
    ],
)
def test_a_schedule_names_the_next_time(cron: str, expected: str) -> None:
    now = dt.datetime(2026, 11, 20, 12, 0, tzinfo=dt.UTC)
    assert f"{campaign_schedule.next_due(cron, after=now):%F %H:%M}" == expected


@pytest.mark.parametrize(
    "cron",
    [
        "", "* * * *", "61 * * * *", "a b c d e", "@daily", "1,,2 2 * * *", "1, 2 * * *", "1-5/ 2 * * *",
        "*/-1 2 * * *", "9" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_schedule_is_told(cron: str) -> None:
    with pytest.raises(ScheduleRefused, match="expected five fields"):
        campaign_schedule.next_due(cron, after=timezone.now())


def rounds_of(campaign: BenchmarkCampaign, *rates: float) -> None:
    """So many scheduled rounds that are over; the second arm has these rates, the first always the same."""
    for rate in rates:
        campaign_rounds.begin_due(now=due(campaign))
        over(campaign, rate)


def over(campaign: BenchmarkCampaign, rate: float) -> None:
    latest = campaign.rounds.order_by("-pk")[0]
    assert latest.comparison_id is not None, latest.reason
    finish_all(latest.comparison_id, [1000, rate])
    advance(latest.comparison_id)
    campaign_rounds.judge_finished(now=timezone.now())


def test_a_slower_round_is_measured_again_before_it_is_told(cluster: Cluster, api_client: Client) -> None:
    campaign, viewer = made(api_client), api_client("viewer")
    address = f"{CAMPAIGNS}{campaign.pk}/"
    rounds_of(campaign, 800, 803, 798, 801)
    assert viewer.get(address).json()["sentence"].startswith("Too early to tell")
    rounds_of(campaign, 799, 802, 800)
    assert viewer.get(address).json()["sentence"].startswith("Too early to tell")  # the seventh is the latest itself
    rounds_of(campaign, 700)

    body = viewer.get(address).json()
    assert "all pgpools was 12.5 % slower" in body["sentence"]
    assert [one["kind"] for one in body["rounds"][:2]] == ["confirming", "scheduled"]
    campaign_rounds.judge_finished(now=timezone.now())
    assert campaign.rounds.filter(kind="confirming").count() == 1

    over(campaign, 702)
    body = viewer.get(address).json()
    assert body["sentence"].startswith("all pgpools is 12.")
    assert body["sentence"].endswith("measured twice.")
    latest = body["rounds"][0]
    assert [point["change"] for point in latest["trend"]] == ["none", "confirmed"]


def test_a_slower_round_that_is_not_slower_again_is_not_told(cluster: Cluster, api_client: Client) -> None:
    campaign = made(api_client)
    rounds_of(campaign, 800, 803, 798, 801, 799, 802, 800, 700)

    over(campaign, 800)

    body = api_client("viewer").get(f"{CAMPAIGNS}{campaign.pk}/").json()
    assert re.fullmatch(r"No arm has stepped\. A change counts as a step from \d+\.\d % on\.", body["sentence"])
    assert campaign.rounds.filter(kind="confirming").count() == 1
