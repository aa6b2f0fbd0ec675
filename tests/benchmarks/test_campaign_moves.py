"""Rounds of a campaign whose topology moved: a step that coincides is told with it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.benchmarks.models import BenchmarkCampaign, BenchmarkRun
from apps.clusters.models import Cluster
from tests.benchmarks.comparison_scene import replicated
from tests.benchmarks.test_campaign_doors import CAMPAIGNS, made, over, rounds_of
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

MakeApiClient = Callable[..., APIClient]
QUIET = (800, 803, 798, 801, 799, 802, 800)
MOVED = "measured at 10.0.0.5:9999 instead of 10.0.0.4:9999"
MODE = "replicated as 1 synchronous instead of asynchronous"


def told(host: str, mode: str = "asynchronous") -> dict[str, Any]:
    return {"topology": {"servers": [{"name": "pgpool-1", "host": host, "port": 9999}]}, **replicated(mode)}


def measured_under(environment: dict[str, Any]) -> None:
    """Of runs that have none yet: those of the round before."""
    BenchmarkRun.objects.filter(topology="pgpools", state="done", environment={}).update(environment=environment)


def detail(campaign: BenchmarkCampaign, viewer: APIClient) -> tuple[str, list[list[str]]]:
    """The sentence, and of the second arm what moved, oldest round first."""
    body = viewer.get(f"{CAMPAIGNS}{campaign.pk}/").json()
    assert [one["trend"][0]["moved"] for one in body["rounds"]] == [[]] * len(body["rounds"])
    return body["sentence"], [one["trend"][1]["moved"] for one in reversed(body["rounds"])]


def test_a_step_is_told_with_what_moved_since(
    cluster: Cluster, api_client: MakeApiClient, client_for: Callable[..., Client]
) -> None:
    campaign, viewer = made(api_client), api_client("viewer")
    rounds_of(campaign, *QUIET)
    measured_under(told("10.0.0.4"))
    rounds_of(campaign, 700)  # suspected, and measured again
    measured_under(told("10.0.0.5"))

    suspected, _ = detail(campaign, viewer)
    over(campaign, 702)
    measured_under(told("10.0.0.5", "1 synchronous"))
    confirmed, moved = detail(campaign, viewer)

    first, second = [f"{one.due_at:%d %b %H:%M} UTC" for one in campaign.rounds.order_by("pk")[7:]]
    assert suspected.endswith(f"is not confirmed. From the round of {first} on it was {MOVED}.")
    assert confirmed.endswith(
        f"measured twice. From the round of {first} on it was {MOVED}. From the round of {second} on it was {MODE}."
    )
    assert moved == [[]] * 7 + [[MOVED], [MOVED, MODE]]
    page = text_of(client_for("viewer").get(f"/o/acme/benchmarks/campaigns/{campaign.pk}/"))
    assert page.count(MOVED) == 3  # the sentence, the suspicion, the step
    assert page.count(MODE) == 2


def test_what_moved_without_a_step_stands_at_its_round_alone(cluster: Cluster, api_client: MakeApiClient) -> None:
    campaign, viewer = made(api_client), api_client("viewer")
    rounds_of(campaign, *QUIET)
    measured_under(told("10.0.0.4"))
    rounds_of(campaign, 801, 799)
    measured_under(told("10.0.0.5"))

    sentence, moved = detail(campaign, viewer)

    assert sentence.startswith("No arm has stepped.")
    assert moved == [[]] * 7 + [[MOVED], []]


def test_a_step_where_nothing_moved_is_told_alone(cluster: Cluster, api_client: MakeApiClient) -> None:
    campaign, viewer = made(api_client), api_client("viewer")
    rounds_of(campaign, *QUIET[:1])
    measured_under(told("10.0.0.5"))
    rounds_of(campaign, *QUIET[1:], 700)
    over(campaign, 702)
    measured_under(told("10.0.0.5"))

    sentence, moved = detail(campaign, viewer)

    assert sentence.endswith("measured twice.")
    assert moved == [[]] * 9
