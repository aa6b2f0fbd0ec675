"""The arms of a comparison over the time of their runs."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from apps.benchmarks.models import BenchmarkComparison, BenchmarkRun, RunSample
from apps.clusters.models import Cluster
from tests.benchmarks.comparison_scene import COMPARISONS, finish_all, wanted
from tests.clusters.callers_at_doors import script

pytestmark = pytest.mark.django_db


def sampled(run: BenchmarkRun, rate: float, seconds: int, *, attempt: int = 0) -> None:
    RunSample.objects.bulk_create(
        RunSample(run=run, attempt=attempt, at_s=at_s, tps=rate + at_s) for at_s in range(1, seconds + 1)
    )


def test_each_arm_is_the_mean_of_its_runs_that_count(cluster: Cluster, api_client: Callable[..., APIClient]) -> None:
    operator = api_client("operator")
    pk = operator.post(COMPARISONS, wanted(), format="json").json()["id"]
    for member in BenchmarkComparison.objects.get(pk=pk).members.select_related("run"):
        sampled(member.run, 1000 + 100 * member.block + 10 * member.arm, 3)
    runs = [member.run_id for member in BenchmarkComparison.objects.get(pk=pk).members.filter(block__gt=0)]
    assert [arm["points"] for arm in operator.get(f"{COMPARISONS}{pk}/courses/").json()["arms"]] == [[], []]
    finish_all(pk, [1000, 800])
    operator.post(COMPARISONS, {"runs": runs}, format="json")  # the same runs in another comparison count once

    body = operator.get(f"{COMPARISONS}{pk}/courses/").json()

    assert (body["duration_s"], body["step_s"]) == (10, 1)
    # Blocks 1 and 2: 1,100 and 1,200, and a transaction more each second; the first block, 1,000, is set apart.
    assert [(arm["label"], arm["is_baseline"], arm["points"]) for arm in body["arms"]] == [
        ("primary direct", True, [[1, 1151], [2, 1152], [3, 1153]]),
        ("all pgpools", False, [[1, 1161], [2, 1162], [3, 1163]]),
    ]
    assert script("admin", organisation="globex").get(f"{COMPARISONS}{pk}/courses/").status_code == 404


def test_long_runs_are_told_in_stretches(cluster: Cluster, api_client: Callable[..., APIClient]) -> None:
    operator = api_client("operator")
    pk = operator.post(COMPARISONS, wanted(), format="json").json()["id"]
    comparison = BenchmarkComparison.objects.get(pk=pk)
    comparison.arms[0]["duration_s"] = 900
    comparison.save()
    sampled(comparison.members.get(arm=0, block=1).run, 1000, 6)
    finish_all(pk, [1000, 800])

    body = operator.get(f"{COMPARISONS}{pk}/courses/").json()

    assert body["step_s"] == 3
    assert body["arms"][0]["points"] == [[3, 1002], [6, 1005]]
