"""The pages that begin a comparison or a campaign."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.benchmarks.models import BenchmarkAccess, BenchmarkCampaign, BenchmarkComparison, BenchmarkRun
from apps.clusters.models import Cluster
from tests.clusters.test_registration_pages import problem_beside, text_of

pytestmark = pytest.mark.django_db

NEW = "/o/acme/benchmarks/comparisons/new/?cluster=orders"
CAMPAIGN = "/o/acme/benchmarks/campaigns/new/?cluster=orders"
OUTLOOK = "/o/acme/benchmarks/comparisons/new/outlook/?cluster=orders&"
Browsers = Callable[..., Client]


def filled(**changes: Any) -> dict[str, Any]:
    usual = {
        "topology": ["primary", "pgpools"], "over": "", "places": "", "repetitions": 2, "name": "", "clients": 4,
        "duration_s": 10, "warm_up_s": "", "parameter_scale": 10,
    }  # fmt: skip
    return {**usual, **changes}


def test_the_places_that_are_ticked_are_compared(cluster: Cluster, client_for: Browsers) -> None:
    operator = client_for("operator")
    text = text_of(operator.get(NEW))
    assert "What is compared" in text

    answer = operator.post(NEW, filled(parameter_scale=20, name="before the move"))

    comparison = BenchmarkComparison.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, f"/o/acme/benchmarks/comparisons/{comparison.pk}/")
    assert (comparison.name, comparison.repetitions, comparison.over) == ("before the move", 2, "")
    assert [(arm["topology"], arm["parameters"]["scale"]) for arm in comparison.arms] == [
        ("primary", 20), ("pgpools", 20),
    ]  # fmt: skip
    assert BenchmarkRun.objects.count() == 6


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"over": "clients", "places": "1, 2,4"}, [("primary", 1.0), ("primary", 2.0), ("primary", 4.0)]),
        ({"over": "parameters.scale", "places": "1 5 10"}, [("primary", 1.0), ("primary", 5.0), ("primary", 10.0)]),
    ],
)
def test_a_sweep_is_made_of_its_places(
    cluster: Cluster, client_for: Browsers, changes: dict[str, str], told: list[tuple[str, float]]
) -> None:
    answer = client_for("operator").post(NEW, filled(**changes))

    assert answer.status_code == 303
    comparison = BenchmarkComparison.objects.get()
    assert comparison.over == changes["over"]
    assert [(arm["topology"], arm["x"]) for arm in comparison.arms] == told


def test_places_of_a_sweep_make_their_own_clients(cluster: Cluster, client_for: Browsers) -> None:
    operator = client_for("operator")
    messaging = {"clients": "", "over": "parameters.writers", "places": "1, 2, 3"}
    wish = {"parameter_groups": 1, "parameter_readers_per_group": 1}

    answer = operator.post(f"{NEW}&workload=pubsub", filled(**messaging, **wish))

    assert answer.status_code == 303
    arms = BenchmarkComparison.objects.get().arms
    assert [(arm["parameters"]["writers"], arm["clients"]) for arm in arms] == [(1, 2), (2, 3), (3, 4)]
    # Clients cannot be swept where parameters make them.
    assert 'value="clients"' in operator.get(NEW).content.decode()
    assert 'value="clients"' not in operator.get(f"{NEW}&workload=pubsub").content.decode()


def test_a_sweep_over_pgpools_takes_one_then_more_of_them(cluster: Cluster, client_for: Browsers) -> None:
    for number in (3, 4):
        cluster.instances.create(name=f"pgpool-{number}", host="127.0.0.1", port=9000 + number, delivery_kind="manual")

    answer = client_for("operator").post(NEW, filled(over="pgpools"))

    assert answer.status_code == 303
    arms = BenchmarkComparison.objects.get().arms
    assert [(arm["topology"], arm["x"]) for arm in arms] == [
        ("pgpool:pgpool-1", 1.0), ("pgpools:2", 2.0), ("pgpools:3", 3.0), ("pgpools", 4.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"topology": []}, "topology", "Tick where the load goes."),
        ({"topology": ["primary"]}, "topology", "Tick two places or more"),
        ({"over": "clients", "places": "1, 2"}, "places", "three whole numbers or more"),
        ({"over": "clients", "places": "1, x, 3"}, "places", "three whole numbers or more"),
        ({"over": "clients", "places": "1, 2, 101"}, "clients", "(arm 3)"),
        ({"repetitions": 1}, "repetitions", "2"),
        ({"repetitions": 61}, "repetitions", "from 2 to 60"),
        ({"duration_s": 121}, "duration_s", "from 1 to 120 s"),
        ({"parameter_scale": 0}, "parameter_scale", "from 1 to 10000"),
    ],
)
def test_what_cannot_be_compared_is_said_beside_its_field(
    cluster: Cluster, client_for: Browsers, changes: dict[str, Any], field: str, words: str
) -> None:
    answer = client_for("operator").post(NEW, filled(**changes))

    assert answer.status_code == 422
    assert words in problem_beside(answer, field)
    assert not BenchmarkRun.objects.exists()


def test_how_long_it_takes_is_said_before(cluster: Cluster, client_for: Browsers) -> None:
    operator = client_for("operator")

    text = text_of(operator.get(OUTLOOK, filled(warm_up_s=5)))

    assert "2 arms, 6 runs: 1 min 30 s of load" in text
    assert "once what is chosen goes together" in text_of(operator.get(OUTLOOK, filled(topology=[])))


def test_what_was_typed_is_kept_where_another_workload_is_chosen(cluster: Cluster, client_for: Browsers) -> None:
    typed = "&topology=standby:1&topology=pgpools&repetitions=9&clients=3"

    page = client_for("operator").get(f"{NEW}{typed}").content.decode()

    ticked = re.findall(r'name="topology" value="([^"]+)"[^>]* checked', page)
    assert ticked == ["standby:1", "pgpools"]
    assert re.search(r'name="repetitions" value="9"', page)
    assert re.search(r'name="clients" value="3"', page)


def test_a_campaign_also_says_when(cluster: Cluster, client_for: Browsers) -> None:
    operator = client_for("operator")
    assert "When, UTC" in text_of(operator.get(CAMPAIGN))
    when = {"name": "Nightly", "cron": "30 1 * * *", "window_min": 60, "budget_min": 10}

    answer = operator.post(CAMPAIGN, filled(**when))

    campaign = BenchmarkCampaign.objects.get()
    assert answer["Location"] == f"/o/acme/benchmarks/campaigns/{campaign.pk}/"
    assert (campaign.name, campaign.cron, campaign.window_min, campaign.budget_min) == ("Nightly", "30 1 * * *", 60, 10)
    assert not BenchmarkRun.objects.exists()
    wrong = operator.post(CAMPAIGN, filled(**{**when, "cron": "nightly", "budget_min": 61}))
    assert wrong.status_code == 422
    assert "expected five fields" in problem_beside(wrong, "cron")


def test_where_load_is_not_allowed_the_way_there_is_shown(cluster: Cluster, client_for: Browsers) -> None:
    BenchmarkAccess.objects.update(is_on=False)

    assert "may not be put under load" in text_of(client_for("operator").get(NEW))
    assert client_for("operator").post(NEW, filled()).status_code == 409
    assert client_for("viewer").get(NEW).status_code == 403
    assert client_for("viewer").get(CAMPAIGN).status_code == 403
