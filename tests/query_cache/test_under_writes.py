"""What a calibration measures while the table is written: asked for, told by REST and on the page."""

from typing import Any

import pytest
from django.utils import timezone

from apps.benchmarks.models import BenchmarkRun
from apps.clusters.models import BackendLatest, Cluster
from tests.clusters.callers_at_doors import browser, script
from tests.query_cache.conftest import calibration, result_of
from tests.query_cache.domain.test_break_even import KEY_LOOK_UP
from tests.query_cache.test_cache_doors import CACHE, CALIBRATIONS, PAGE, calibrate

pytestmark = pytest.mark.django_db

# (asked for and made, share of hits, gain) of two blocks
AT_RATES = [(10, 0.8, 2.01), (10, 0.8, 1.99), (100, 0.3, 0.505), (100, 0.3, 0.495)]


def written(storage: str = "shmem") -> list[dict[str, Any]]:
    return [
        {
            "storage": storage, "block": number % 2, "wanted_per_s": rate, "writes_per_s": float(rate),
            "hits": int(1000 * ratio), "misses": 1000 - int(1000 * ratio), "hit_ratio": ratio, "tps": 1000 * gain,
            "write_latency_ms": 2.5, "no_cache_tps": 1000.0, "no_cache_writes_per_s": float(rate),
            "no_cache_write_latency_ms": 1.5, "kept_keys": 50, "stale_keys": 3 * (rate == 100),
        }
        for number, (rate, ratio, gain) in enumerate(AT_RATES)
    ]  # fmt: skip


@pytest.fixture
def calibrated_under_writes(cluster: Cluster) -> BenchmarkRun:
    """Done; its cache pays up to 31.6 writes per second."""
    result = result_of(KEY_LOOK_UP)
    result["own"]["scratch of pgpool-1"]["cache_writes"] = written()
    return calibration(cluster, state="done", finished_at=timezone.now(), result=result)


def test_the_rate_from_which_on_it_costs_is_told(calibrated_under_writes: BenchmarkRun) -> None:
    found = script("viewer").get(CACHE).json()["under_writes"]

    [curve] = found["curves"]
    assert (found["run"], curve["state"]) == (calibrated_under_writes.pk, "pays_up_to")
    assert found["write"] == "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :key"
    assert curve["per_s"] == pytest.approx(31.6, rel=0.01)
    # The pair of KEY_LOOK_UP at 95 % hot reads is the one without writes.
    assert [one["writes_per_s"] for one in curve["rates"]] == [0.0, 10.0, 100.0]
    assert curve["rates"][1]["hit_ratio"] == pytest.approx(0.8)
    page = browser("operator").get(PAGE).content.decode()
    assert "The cache pays up to about 32 writes per second to its table" in page
    assert "80.0\u00a0%" in page
    assert [(one["stale_keys"], one["kept_keys"]) for one in curve["rates"]] == [(0, 0), (0, 100), (6, 100)]
    assert "6 of 200 in shared memory had rows that were written over" in page
    assert "2.50\u00a0ms" in page


def test_a_later_calibration_without_writes_leaves_it_there(calibrated_under_writes: BenchmarkRun) -> None:
    later = calibration(
        calibrated_under_writes.cluster, state="done", finished_at=timezone.now(), result=result_of(KEY_LOOK_UP)
    )

    found = script("viewer").get(CACHE).json()

    assert found["calibration"]["run"] == later.pk
    assert found["under_writes"]["run"] == calibrated_under_writes.pk
    assert f"Run #{calibrated_under_writes.pk}</a>" in browser("operator").get(PAGE).content.decode()


def test_nothing_is_told_of_writes_where_none_were_made(calibrated: BenchmarkRun) -> None:
    assert script("viewer").get(CACHE).json()["under_writes"] is None
    assert 'id="writes"' not in browser("operator").get(PAGE).content.decode()


def test_writes_are_asked_for_with_it(cluster: Cluster) -> None:
    body = {"sql": "SELECT a FROM t WHERE k = :key", "writes_up_to_per_s": 100, "write_sql": "UPDATE t SET a = a"}

    answer = script("operator").post(CALIBRATIONS, body, format="json")

    assert answer.status_code == 202, answer.content
    run = BenchmarkRun.objects.get()
    assert (run.parameters["writes_up_to_per_s"], run.parameters["write_sql"]) == (100, "UPDATE t SET a = a")
    [listed] = script("viewer").get(CALIBRATIONS).json()["results"]
    assert listed["writes_up_to_per_s"] == 100


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"writes_up_to_per_s": 5}, "writes_up_to_per_s", "10"),
        ({"sql": "SELECT :key", "writes_up_to_per_s": 30}, "write_sql", "must be given beside a SELECT of your own"),
        ({"write_sql": "SELECT 1", "writes_up_to_per_s": 30}, "write_sql", "must begin with UPDATE or INSERT"),
        ({"writes_up_to_per_s": 300, "duration_s": 60}, "duration_s", "must be at least 68 s with these parameters"),
    ],
)
def test_what_is_refused_of_writes_is_named(cluster: Cluster, body: dict[str, object], field: str, words: str) -> None:
    answer = script("operator").post(CALIBRATIONS, body, format="json")

    assert answer.status_code == 400
    assert words in next(one["reason"] for one in answer.json()["errors"] if one["field"] == field)
    assert not BenchmarkRun.objects.exists()


def test_the_form_asks_for_writes_and_marks_what_is_wrong_of_them(cluster: Cluster) -> None:
    operator = browser("operator")
    refused = calibrate(operator, sql="SELECT :key", writes_up_to_per_s=30, write_sql="")
    assert "ust be given beside a SELECT of your own" in refused
    assert "<details open>" in refused

    calibrate(operator, writes_up_to_per_s=30, write_sql="")

    assert BenchmarkRun.objects.get().parameters["writes_up_to_per_s"] == 30


def test_clients_that_the_backends_have_no_sessions_for_are_refused(cluster: Cluster) -> None:
    now = timezone.now()
    for backend in cluster.backends.all():
        BackendLatest.objects.create(backend=backend, polled_at=now, connection_limit=60)
    operator = script("operator")

    answer = operator.post(CALIBRATIONS, {"clients": 9}, format="json")

    # A third of 60 for each scratch pgpool, less 12 of its own.
    assert answer.status_code == 400
    assert "at most 8 there" in answer.json()["errors"][0]["reason"]
    assert operator.post(CALIBRATIONS, {"clients": 8}, format="json").status_code == 202
