"""The page on which runs are picked to be compared."""

from collections.abc import Callable

import pytest
from django.test import Client

from apps.benchmarks.models import BenchmarkComparison, BenchmarkRun
from apps.clusters.models import Cluster
from tests.benchmarks.comparison_scene import finish
from tests.benchmarks.scene import made_run
from tests.clusters.callers_at_doors import browser
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

PICK = "/o/acme/benchmarks/comparisons/pick/"
Browsers = Callable[..., Client]


def measured(cluster: Cluster, topology: str, tps: float) -> BenchmarkRun:
    run = made_run(cluster, topology=topology)
    finish(run, tps)
    return run


def boxes(client: Client, address: str = PICK) -> list[int]:
    answer = client.get(address)
    assert answer.status_code == 200
    return [
        int(part.partition('"')[0]) for part in answer.content.decode().split('type="checkbox" name="run" value="')[1:]
    ]


def test_runs_of_their_whole_time_can_be_picked(cluster: Cluster, client_for: Browsers) -> None:
    operator = client_for("operator")
    assert "No runs to pick from yet" in text_of(operator.get(PICK))
    first, second = measured(cluster, "primary", 1000), measured(cluster, "pgpools", 800)
    made_run(cluster)  # queued
    partial = measured(cluster, "primary", 900)
    BenchmarkRun.objects.filter(pk=partial.pk).update(is_partial=True)

    assert boxes(operator) == [second.pk, first.pk]
    answer = operator.post(PICK, {"run": [first.pk, second.pk], "name": "by hand"})

    comparison = BenchmarkComparison.objects.get()
    assert answer["Location"] == f"/o/acme/benchmarks/comparisons/{comparison.pk}/"
    assert (comparison.name, comparison.repetitions, comparison.state) == ("by hand", 0, "done")
    text = text_of(operator.get(answer["Location"]))
    assert "These runs were picked by hand" in text
    assert "Nothing can be compared: no arm has two runs beside two of primary direct." in text


def test_what_makes_no_comparison_is_said_and_stays_ticked(cluster: Cluster, client_for: Browsers) -> None:
    run = measured(cluster, "primary", 1000)

    answer = client_for("operator").post(PICK, {"run": [run.pk]})

    assert answer.status_code == 422
    assert "pick 2 to 200" in text_of(answer)
    assert f'value="{run.pk}" aria-label="Run {run.pk}" checked' in answer.content.decode()
    assert client_for("operator").post(PICK, {"run": ["x", "9" * 30]}).status_code == 422


def test_viewers_and_strangers_pick_nothing(cluster: Cluster, client_for: Browsers) -> None:
    first, second = measured(cluster, "primary", 1000), measured(cluster, "pgpools", 800)
    stranger = browser("operator", organisation="globex")

    assert client_for("viewer").get(PICK).status_code == 403
    assert stranger.get(f"/o/globex/benchmarks/comparisons/pick/?cluster={cluster.slug}").status_code == 404
    refused = stranger.post("/o/globex/benchmarks/comparisons/pick/", {"run": [first.pk, second.pk]})
    assert (refused.status_code, "is no run of" in text_of(refused)) == (422, True)
    assert not BenchmarkComparison.objects.exists()
