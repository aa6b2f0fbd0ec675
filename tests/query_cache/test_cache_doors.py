"""How a cache stands, and calibrations of it, by REST and on its page."""

from collections.abc import Callable

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.benchmarks.models import BenchmarkAccess, BenchmarkRun
from apps.clusters.models import Cluster, InstanceConfig
from tests.clusters.callers_at_doors import browser, script
from tests.query_cache.conftest import RUNNING, calibration, result_of
from tests.query_cache.domain.test_break_even import AGGREGATE, KEY_LOOK_UP

pytestmark = pytest.mark.django_db

CACHE = "/api/v1/clusters/orders/cache/"
CALIBRATIONS = f"{CACHE}calibrations/"
PAGE = "/o/acme/clusters/orders/cache/"
Count = Callable[..., None]


def test_the_operating_ratio_is_held_against_the_measured_break_even(
    calibrated: BenchmarkRun, counted: Count, api_client: Callable[..., APIClient]
) -> None:
    counted(hits=7100, selects=2900, reads=4000, entries=(100, 60))

    found = api_client("viewer").get(CACHE).json()

    assert found["operating_hit_ratio"] == pytest.approx(0.71)
    assert found["cumulative_hit_ratio"] == pytest.approx(0.9)
    assert found["absorbed_share"] == pytest.approx(7100 / 11100)
    assert found["break_even"]["low"] < found["break_even"]["ratio"] == pytest.approx(0.40, abs=0.01)
    assert found["margin"] == pytest.approx(0.31, abs=0.01)
    assert found["gain"]["times"] == pytest.approx(1.6, abs=0.1)
    assert found["verdict"]["state"] == "pays"
    assert found["verdict"]["sentence"].startswith("Keep the cache on: at 71 % hits it serves ")
    [first, second] = found["pgpools"]
    assert (first["dropped_entries"], first["sizes"]["entries"], first["total_size"]) == (40, 77, "64MB")
    assert (second["operating_hit_ratio"], second["reason"]) == (None, "no two samples of SHOW pool_cache in this time")
    [curve] = found["calibration"]["curves"]
    assert len(curve["pairs"]) == len(KEY_LOOK_UP)
    assert curve["curve"][0]["tps"] < curve["no_cache_tps"] < curve["curve"][-1]["tps"]
    assert curve["cumulative_ratio"] < curve["ratio"]
    assert {one["key"] for one in found["risks"]} >= {"several_caches", "writes_elsewhere", "cve_2024_45624"}


@pytest.mark.parametrize(
    ("hits", "state", "words"),
    [(1500, "costs", "Turn the cache off: at 15 % hits"), (4200, "close", "Too close to call: at 42 % hits")],
)
def test_below_and_within_the_interval(
    calibrated: BenchmarkRun, counted: Count, hits: int, state: str, words: str
) -> None:
    counted(hits=hits, selects=10_000 - hits, reads=10_000)

    verdict = script("viewer").get(CACHE).json()["verdict"]

    assert verdict["state"] == state
    assert verdict["sentence"].startswith(words)


def test_hits_that_the_extended_protocol_counts_twice_are_taken_off(calibrated: BenchmarkRun, counted: Count) -> None:
    counted(hits=12_259, selects=12_360, reads=101)

    found = script("viewer").get(CACHE).json()

    assert found["operating_hit_ratio"] == pytest.approx(0.992, abs=0.001)
    assert found["pgpools"][0]["counted_hit_ratio"] == pytest.approx(0.498, abs=0.001)
    assert found["counted_twice"] == 12_259
    assert "hits counted twice" in browser("operator").get(PAGE).content.decode()


def test_before_the_first_poll_and_calibration(cluster: Cluster) -> None:
    found = script("operator").get(CACHE).json()

    assert (found["operating_hit_ratio"], found["break_even"], found["calibration"]) == (None, None, None)
    assert found["verdict"]["state"] == "too_little_traffic"
    page = browser("viewer").get(PAGE).content.decode()
    assert "Nothing was measured here yet." in page
    assert "A calibration needs the role operator; you have viewer access." in page


def test_a_cache_that_is_off_says_from_where_it_would_pay(calibrated: BenchmarkRun) -> None:
    InstanceConfig.objects.update(running=RUNNING | {"memory_cache_enabled": "off"})

    found = script("viewer").get(CACHE).json()

    assert found["verdict"] == {
        "state": "off",
        "sentence": "The query cache is off at every pgpool.",
        "why": "The cache pays from 40 % hits (95 % interval 22 to 51 %).",
    }
    assert found["risks"] == []


def test_settings_that_nobody_has_read_are_not_known(cluster: Cluster) -> None:
    InstanceConfig.objects.update(running={})

    assert script("viewer").get(CACHE).json()["verdict"]["state"] == "unknown"


def test_a_calibration_of_another_storage_is_not_held_against_this_one(cluster: Cluster, counted: Count) -> None:
    calibration(cluster, state="done", result=result_of(AGGREGATE, "memcached"))
    counted(hits=7100, selects=2900, reads=4000)

    found = script("viewer").get(CACHE).json()

    assert found["verdict"]["state"] == "not_measured"
    assert [one["storage"] for one in found["calibration"]["curves"]] == ["memcached"]


def test_a_calibration_is_queued_as_a_run(cluster: Cluster) -> None:
    operator = script("operator")

    answer = operator.post(CALIBRATIONS, {"hot_keys": 50, "duration_s": 120, "pgpool": "pgpool-2"}, format="json")

    body = answer.json()
    assert answer.status_code == 202, body
    assert (body["workload"], body["topology"], body["state"]) == ("query-cache", "scratch:pgpool-2", "queued")
    assert body["parameters"]["hot_keys"] == 50
    assert operator.get(body["status_url"]).json()["id"] == body["id"]
    [listed] = operator.get(CALIBRATIONS).json()["results"]
    assert (listed["run"], listed["is_active"], listed["pgpool"], listed["curves"]) == (
        body["id"], True, "pgpool-2", []
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"sql": "UPDATE t SET a = :key"}, "sql", "must begin with SELECT or WITH"),
        ({"sql": "SELECT 1"}, "sql", "must ask for :key"),
        ({"sql": "SELECT :key; DROP TABLE t"}, "sql", "one statement without ';'"),
        ({"sql": "SELECT :key \\! date"}, "sql", "without '\\\\'"),
        ({"duration_s": 10}, "duration_s", "must be at least 39 s with these parameters"),
        ({"duration_s": 601}, "duration_s", "from 1 to 600 s"),
        ({"storage": "redis"}, "storage", "redis"),
        ({"pgpool": "pgpool-9"}, "pgpool", "scratch:pgpool-1, scratch:pgpool-2"),
        ({"hot_keys": 0}, "hot_keys", "1"),
        ({"clients": 101}, "clients", "from 1 to 100"),
        ({"seconds": 5}, "seconds", "is no field here"),
    ],
)
def test_what_is_refused_is_named_and_nothing_is_queued(
    cluster: Cluster, body: dict[str, object], field: str, words: str
) -> None:
    answer = script("operator").post(CALIBRATIONS, body, format="json")

    assert answer.status_code == 400
    assert words in next(one["reason"] for one in answer.json()["errors"] if one["field"] == field)
    assert not BenchmarkRun.objects.exists()


def test_who_may_not_and_where_nobody_allowed_it(cluster: Cluster) -> None:
    assert script("viewer").post(CALIBRATIONS, {}, format="json").status_code == 403
    BenchmarkAccess.objects.update(is_on=False)

    answer = script("operator").post(CALIBRATIONS, {}, format="json")

    assert answer.status_code == 409
    assert answer.json()["type"].endswith("benchmarks-not-allowed")


def test_strangers_see_nothing(cluster: Cluster) -> None:
    stranger = script("operator", organisation="umbrella")

    assert stranger.get(CACHE).status_code == 404
    assert stranger.post(CALIBRATIONS, {}, format="json").status_code == 404


def test_scratch_pgpools_take_nothing_else_and_a_calibration_no_other_target(cluster: Cluster) -> None:
    wish = {"cluster": "orders", "clients": 2, "duration_s": 60}
    runs, operator = "/api/v1/benchmarks/runs/", script("operator")

    load = operator.post(
        runs, wish | {"workload": "pgbench-select-only", "topology": "scratch:pgpool-1"}, format="json"
    )
    cache = operator.post(runs, wish | {"workload": "query-cache", "topology": "pgpool:pgpool-1"}, format="json")

    assert "takes no pgbench-select-only; it can be run against: primary" in str(load.json())
    assert "takes no query-cache; it can be run against: scratch:pgpool-1, scratch:pgpool-2" in str(cache.json())


def test_no_configuration_is_known_to_start_from(cluster: Cluster) -> None:
    InstanceConfig.objects.update(file_text="", file_sha256="")

    answer = script("operator").post(CALIBRATIONS, {}, format="json")

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "pgpool"


def calibrate(client: Client, **changes: object) -> str:
    form = {
        "storage": "shmem", "sql": "SELECT abalance FROM pgbench_accounts WHERE aid = :key", "key_space": "",
        "hot_keys": 100, "clients": 4, "duration_s": 180, **changes,
    }  # fmt: skip
    return client.post(PAGE, form, follow=True).content.decode()


def test_one_button_queues_it_and_shows_how_far_it_is(cluster: Cluster) -> None:
    page = calibrate(browser("operator"))

    run = BenchmarkRun.objects.get()
    assert run.parameters["key_space"] is None
    assert f'href="/o/acme/benchmarks/runs/{run.pk}/">Run #{run.pk}</a>' in page
    assert "takes 3\u00a0min once its data is ready" in page


def test_what_the_form_refuses_is_marked(cluster: Cluster) -> None:
    page = calibrate(browser("operator"), sql="DELETE FROM t", duration_s=180)

    assert "Nothing was queued" in page
    assert "ust begin with SELECT or WITH" in page
    assert not BenchmarkRun.objects.exists()


def test_the_page_of_a_cache_that_costs_says_how_to_turn_it_off(calibrated: BenchmarkRun, counted: Count) -> None:
    counted(hits=1500, selects=8500, reads=10_000)

    page = browser("operator").get(PAGE).content.decode()

    assert "Turn the cache off: at 15 % hits" in page
    assert "memory_cache_enabled = off" in page
    assert 'data-risk="cve_2024_45624"' in page
    assert "−24.6\u00a0pp" in page


def test_a_calibration_that_failed_says_why(cluster: Cluster) -> None:
    calibration(cluster, state="failed", error="this worker has no pgpool to start beside the real one.")

    assert "this worker has no pgpool" in browser("viewer").get(PAGE).content.decode()


def test_the_published_example_is_shown_on_both_axes(cluster: Cluster) -> None:
    found = script("viewer").get("/api/v1/query-cache/published/").json()

    assert [(one["storage"], one["cumulative_ratio"]) for one in found["curves"]] == [
        ("shmem", 0.52), ("memcached", 0.62)
    ]  # fmt: skip
    assert [round(one["ratio"], 2) for one in found["curves"]] == [0.82, 0.91]
    assert any("less than no time" in sentence for sentence in found["reasoning"])
    page = browser("operator").get(f"{PAGE}published/?axis=operating").content.decode()
    assert "it paid from 82 % and 91 % hits" in page
    assert "about 9,917 a run" in page


def test_a_later_calibration_of_another_storage_hides_none_of_this_one(
    calibrated: BenchmarkRun, cluster: Cluster, counted: Count
) -> None:
    calibration(cluster, state="done", result=result_of(AGGREGATE, "memcached"))
    counted(hits=7100, selects=2900, reads=4000)

    found = script("viewer").get(CACHE).json()

    assert found["verdict"]["state"] == "pays"
    assert found["break_even"]["ratio"] == pytest.approx(0.40, abs=0.01)


def test_one_that_was_ended_before_its_time_counts_for_none(calibrated: BenchmarkRun, counted: Count) -> None:
    BenchmarkRun.objects.update(is_partial=True)
    counted(hits=7100, selects=2900, reads=4000)

    assert script("viewer").get(CACHE).json()["verdict"]["state"] == "not_measured"
