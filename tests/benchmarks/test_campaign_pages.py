"""Pages of campaigns: the calendar, the rounds, pause, go on, begin, remove."""

from collections.abc import Callable

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.benchmarks.models import BenchmarkCampaign, BenchmarkComparison
from apps.clusters.models import Cluster
from tests.benchmarks.comparison_scene import advance, finish_all
from tests.benchmarks.test_campaign_doors import made, rounds_of
from tests.clusters.callers_at_doors import browser
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

PAGES = "/o/acme/benchmarks/campaigns/"
Browsers = Callable[..., Client]
Scripts = Callable[..., APIClient]


def test_the_list_is_empty_at_first(cluster: Cluster, client_for: Browsers) -> None:
    assert "operators begin campaigns" in text_of(client_for("viewer").get(PAGES))
    assert f'href="{PAGES}new/"' in client_for("operator").get(PAGES).content.decode()


def test_the_calendar_shows_when_rounds_are_due(cluster: Cluster, api_client: Scripts, client_for: Browsers) -> None:
    campaign = made(api_client, cron="0 2,14 * * *")
    viewer = client_for("viewer")

    text = viewer.get(PAGES).content.decode()

    assert text.count('class="due"') >= 13
    assert "02:00 +1" in text
    BenchmarkCampaign.objects.filter(pk=campaign.pk).update(is_paused=True, next_at=None)
    assert 'class="due"' not in viewer.get(PAGES).content.decode()


def test_its_rounds_say_what_stepped(cluster: Cluster, api_client: Scripts, client_for: Browsers) -> None:
    campaign = made(api_client)
    address = f"{PAGES}{campaign.pk}/"
    viewer = client_for("viewer")
    before = viewer.get(address)
    assert "No round is over yet." in text_of(before)
    assert "<campaign-trend" not in before.content.decode()
    assert "pgbench, one SELECT by key (-S)" in text_of(before)

    rounds_of(campaign, 800, 803, 798, 801, 799, 802, 800, 700)

    text = text_of(viewer.get(address))
    assert "all pgpools was 12.5 % slower" in text
    assert "suspect" in text
    assert "to confirm" in text
    drawn = f'<campaign-trend src="/api/v1/benchmarks/campaigns/{campaign.pk}/?organisation=acme"'
    assert drawn in viewer.get(address).content.decode()


def test_an_operator_begins_a_round_pauses_and_goes_on(
    cluster: Cluster, api_client: Scripts, client_for: Browsers
) -> None:
    address = f"{PAGES}{made(api_client).pk}/"
    operator = client_for("operator")

    assert "A round has begun." in text_of(operator.post(f"{address}begin/", follow=True))
    assert "is still under way" in text_of(operator.post(f"{address}begin/", follow=True))
    assert "It is paused." in text_of(operator.post(f"{address}pause/", follow=True))
    assert "is paused already" in text_of(operator.post(f"{address}pause/", follow=True))
    assert "It goes on." in text_of(operator.post(f"{address}resume/", follow=True))
    pk = BenchmarkComparison.objects.get().pk
    finish_all(pk, [1000, 800])
    assert advance(pk).state == "done"


def test_one_is_removed_after_a_question(cluster: Cluster, api_client: Scripts, client_for: Browsers) -> None:
    address = f"{PAGES}{made(api_client).pk}/"
    operator = client_for("operator")
    assert "Remove Nightly?" in text_of(operator.get(f"{address}remove/"))

    assert "Nightly is removed." in text_of(operator.post(f"{address}remove/", follow=True))

    assert operator.get(address).status_code == 404


def test_viewers_and_strangers_change_nothing(cluster: Cluster, api_client: Scripts, client_for: Browsers) -> None:
    address = f"{PAGES}{made(api_client).pk}/"
    viewer, stranger = client_for("viewer"), browser("admin", organisation="globex")

    assert stranger.get(address).status_code == 404
    for part in ("begin/", "pause/", "resume/", "remove/"):
        assert viewer.post(address + part).status_code == 403
        assert stranger.post(address + part).status_code == 404
    assert "Begin a round now" not in text_of(viewer.get(address))
