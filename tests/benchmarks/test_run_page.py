"""The page of one run, in every state, for every role; its time course by REST."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import AuditEntry, Organisation
from apps.benchmarks.models import BenchmarkComparison, BenchmarkRun, ComparisonRun, RunOutput, RunSample
from apps.clusters.models import Cluster
from tests.benchmarks.scene import RUNS, made_run
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

Browsers = Callable[..., Client]
Scripts = Callable[..., APIClient]
RESULT = {
    "tps": 100.0,
    "tps_by_server": {"pgpool-1": 60.0, "pgpool-2": 40.0},
    "latency_ms": {"mean": 4.0, "stddev": 1.5, "p50": 3.9, "p95": 7.44, "p99": 12.31},
    "transactions": 6000,
    "failed": 3,
    "connect_ms": 15_000.0,
    "statements": [{"text": "SELECT abalance <from> accounts", "latency_ms": 1.0}],
    "own": {"pgpool-1": {"average_connection_ms": 1.25, "scripts_share": 0.5}},
    "scripts": [
        {
            "name": "pay", "weight": 3, "transactions": 4500, "tps": 75.0, "failed": 1,
            "latency_ms": {"mean": 5.0, "stddev": 1, "p50": 4.5, "p95": 8.25, "p99": 20.0},
            "statements": [{"text": "UPDATE accounts", "latency_ms": 4.0}],
        }
    ],
}  # fmt: skip
FINDINGS = [
    {"check": "co_located", "ok": False, "sentence": "These share one machine: client, pgpool-1."},
    {"check": "littles_law", "ok": True, "sentence": "Latency is clients / tps."},
]


def page_of(run: BenchmarkRun, part: str = "") -> str:
    return f"/o/acme/benchmarks/runs/{run.pk}/{part}"


def measured(run: BenchmarkRun, count: int, *, attempt: int = 0) -> None:
    RunSample.objects.bulk_create(
        RunSample(run=run, attempt=attempt, at_s=at_s, tps=100 + at_s % 2, latency_ms=2) for at_s in range(1, count + 1)
    )


def test_a_run_that_is_done_shows_its_figures_findings_and_surroundings(cluster: Cluster, client_for: Browsers) -> None:
    environment = {
        "placement": {"localhost": ["client", "pgpool-1"]},
        "postgresql": "15.14",
        "reads": {"1": 750, "2": 250},
        "counters_before": {"lsn_bytes": {"a": 0}},
        "counters_after": {"lsn_bytes": {"a": 2048}},
    }
    run = made_run(
        cluster, state="done", tps=100.0, result=RESULT, findings=FINDINGS, environment=environment, topology="pgpools"
    )
    measured(run, 30)
    RunOutput.objects.create(run=run, attempt=0, name="pgpool-1", command="pgbench -S", output="tps = 60", exit_code=0)

    answer = client_for("operator").get(page_of(run))

    told = text_of(answer)
    assert "Worked out: the 15,000" in answer.content.decode()
    for words in (
        "100 tps through all pgpools with 4 clients",
        "With connecting 80.00 tps",
        "p95 7.44 ms",
        "p99 12.3 ms",
        "6,000 Failed 3",
        "Look at this These share one machine",
        "Holds Latency is clients / tps.",
        "SELECT abalance &lt;from&gt; accounts 1.00 ms 25.0 %",
        "pgpool-2 40.00 tps 40.0 %",
        "pay weight 3, 75.00 tps, 1 failed",
        "4.50 ms, 8.25 ms, 20.0 ms",
        "UPDATE accounts 4.00 ms 80.0 %",
        "average connection 1.25 ms",
        "localhost client, pgpool-1",
        "reads at 127.0.0.1:5001 750, 75.0 %",
        "WAL written 2 KiB",
        "95 % interval of this run alone",
        "pgbench -S tps = 60",
    ):
        assert words in told
    assert page_of(run, "stop/") not in answer.content.decode()


def test_of_a_load_that_tells_no_time_to_connect_nothing_is_worked_out(
    cluster: Cluster, client_for: Callable[..., Client]
) -> None:
    run = made_run(cluster, state="done", tps=100.0, result={**RESULT, "connect_ms": None, "tps_with_connecting": None})

    page = client_for("operator").get(page_of(run)).content.decode()

    assert "Worked out" not in page
    assert "With connecting" in page


def test_messaging_is_told_in_messages_and_what_its_readers_received(cluster: Cluster, client_for: Browsers) -> None:
    own = {"pg1": {"consumed_per_s": 2500.0, "groups": 5}}
    result = {**RESULT, "tps": 500.0, "transactions": 5000, "scripts": [], "statements": [], "own": own}
    run = made_run(cluster, state="done", workload="pubsub", topology="primary", tps=500.0, result=result)
    measured(run, 5)

    answer = client_for("viewer").get(page_of(run))

    text = text_of(answer)
    assert "500 messages/s on the primary" in text
    assert "half of the messages took at most" in text
    assert "Received 2,500 messages/s" in text
    assert "Messages 5,000" in text
    assert "Does a message take longer" in text
    assert " tps" not in text
    assert 'unit="messages/s"' in answer.content.decode()


def test_one_that_measures_says_how_far_it_is_and_when_it_ends(cluster: Cluster, client_for: Browsers) -> None:
    printed = {"measured_at": timezone.now(), "log_tail": "progress: 15.0 s, 101.0 tps"}
    run = made_run(cluster, state="running", phase="measures", warm_up_s=5, **printed)
    measured(run, 15)

    answer = client_for("operator").get(page_of(run, "now/"))

    told = text_of(answer)
    assert "15 s of 1 min, 25 %, ends around" in told
    assert "after 5 s of warm-up, which is in no figure" in told
    assert "101 tps so far" in told
    assert "progress: 15.0 s, 101.0 tps Its latest lines, as they come." in told
    assert "Stop and keep what is measured" in told
    assert "--w:25.00%" in answer.content.decode()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ["Queued", "next on Orders", "once its data is ready"]),
        ({"state": "preparing", "phase": "warms up"}, ["Prepares", "Warms up", "Nothing is measured yet."]),
        (
            {"state": "failed", "error": "pgpool-1: the password is wrong. Give the right one"},
            [
                "Failed",
                "It failed before anything was measured.",
                "Give the right one.",
                "It ended before this was kept.",
            ],
        ),
        (
            {"state": "stopped", "stop_reason": "stopped by Ann", "is_partial": True, "attempts": 2},
            ["Stopped by Ann.", "What is here is partial", "no percentile", "This is its attempt 2."],
        ),
        ({"state": "running", "is_stop_requested": True, "stop_reason": "stopped by Ann"}, ["It is being stopped"]),
        (
            {"state": "done", "tps": 100.0, "is_stop_requested": True, "stop_reason": "stopped by Ann"},
            ["It was to be stopped when it had measured already Stopped by Ann. Its figures are those of the whole"],
        ),
        ({"workload": "gone", "topology": "shards:old", "state": "done"}, ["gone", "on shards:old"]),
    ],
)
def test_every_state_says_what_there_is(
    cluster: Cluster, client_for: Browsers, changes: dict[str, Any], words: list[str]
) -> None:
    told = text_of(client_for("viewer").get(page_of(made_run(cluster, **changes))))

    assert [each for each in words if each not in told] == []


def test_seconds_without_their_programs_are_charts_and_nothing_printed(cluster: Cluster, client_for: Browsers) -> None:
    run = made_run(cluster, state="stopped", is_partial=True, stop_reason="stopped by Ann")
    measured(run, 5)

    told = text_of(client_for("viewer").get(page_of(run)))

    assert "Is throughput steady?" in told
    assert "What its programs printed" not in told


def test_a_viewer_is_offered_no_stop_and_may_not(cluster: Cluster, client_for: Browsers) -> None:
    run = made_run(cluster)
    viewer = client_for("viewer")

    assert page_of(run, "stop/") not in viewer.get(page_of(run)).content.decode()
    assert viewer.get(page_of(run, "stop/")).status_code == 403
    assert viewer.post(page_of(run, "stop/")).status_code == 403
    run.refresh_from_db()
    assert run.state == "queued"


def test_an_operator_is_asked_first_and_then_it_is_stopped(cluster: Cluster, client_for: Browsers) -> None:
    run = made_run(cluster)
    operator = client_for("operator")

    assert page_of(run, "stop/") in operator.get(page_of(run)).content.decode()
    assert f"Stop run #{run.pk}?" in text_of(operator.get(page_of(run, "stop/")))
    run.refresh_from_db()
    assert run.state == "queued"
    answer = operator.post(page_of(run, "stop/"))

    assert (answer.status_code, answer["Location"]) == (303, page_of(run))
    run.refresh_from_db()
    assert run.state == "stopped"
    assert AuditEntry.objects.filter(action="benchmarks.run.stopped").count() == 1
    assert "There is nothing to stop." in text_of(operator.get(page_of(run, "stop/")))
    again = operator.post(page_of(run, "stop/"), follow=True)
    assert "there is nothing to stop" in text_of(again)


@pytest.mark.parametrize(("state", "is_told"), [("queued", False), ("preparing", True), ("running", False)])
def test_that_half_made_data_goes_is_said_before_a_preparation_is_stopped(
    cluster: Cluster, client_for: Browsers, state: str, is_told: bool
) -> None:
    run = made_run(cluster, state=state)

    told = text_of(client_for("operator").get(page_of(run, "stop/")))

    assert ("Data that is half made is dropped." in told) is is_told


def test_another_organisation_finds_no_run(
    cluster: Cluster, other_organisation: Organisation, client_for: Browsers, api_client: Scripts
) -> None:
    run = made_run(cluster)
    stranger = client_for("admin", of=other_organisation)

    for part in ("", "now/", "stop/"):
        assert stranger.get(f"/o/rival/benchmarks/runs/{run.pk}/{part}").status_code == 404
    assert stranger.post(f"/o/rival/benchmarks/runs/{run.pk}/stop/").status_code == 404
    assert api_client("admin", of=other_organisation).get(f"{RUNS}{run.pk}/course/").status_code == 404
    run.refresh_from_db()
    assert run.state == "queued"


def test_the_time_course_has_every_second_of_a_short_run(cluster: Cluster, api_client: Scripts) -> None:
    run = made_run(cluster, state="running", attempts=2)
    measured(run, 3, attempt=1)
    measured(run, 20, attempt=2)

    body = api_client("viewer").get(f"{RUNS}{run.pk}/course/").json()

    assert (body["run"], body["state"], body["is_active"], body["step_s"]) == (run.pk, "running", True, 1)
    assert [one["at_s"] for one in body["points"]] == list(range(1, 21))
    assert body["points"][1] == {
        "at_s": 2, "tps": 100, "latency_ms": 2, "mean_tps": 100.5, "low_tps": None, "high_tps": None,
    }  # fmt: skip
    # Every stretch of two seconds has 101 and 100 tps.
    assert [body["points"][-1][name] for name in ("mean_tps", "low_tps", "high_tps")] == [100.5, 100.5, 100.5]


def test_of_a_long_run_the_time_course_has_stretches(cluster: Cluster, api_client: Scripts) -> None:
    run = made_run(cluster, state="done")
    BenchmarkRun.objects.update(duration_s=1201)  # three seconds a stretch, so that there are at most 600
    seconds = ((1, 10, 1.0), (2, 20, 4.0), (3, 0, None), (4, 0, None), (5, 0, None), (6, 0, None), (7, 8, 2.0))
    for at_s, tps, latency_ms in seconds:
        RunSample.objects.create(run=run, attempt=0, at_s=at_s, tps=tps, latency_ms=latency_ms)

    body = api_client("viewer").get(f"{RUNS}{run.pk}/course/").json()

    assert body["step_s"] == 3
    # (10 × 1 + 20 × 4) / 30
    assert [(one["at_s"], one["tps"], one["latency_ms"]) for one in body["points"]] == [
        (3, 10, 3.0), (6, 0, None), (7, 8, 2.0),
    ]  # fmt: skip


def test_a_run_says_which_comparisons_it_belongs_to(
    cluster: Cluster, client_for: Browsers, api_client: Scripts
) -> None:
    run, alone = made_run(cluster), made_run(cluster)
    made = [
        BenchmarkComparison.objects.create(
            cluster=cluster, name="two ways", arms=[], baseline=0, repetitions=1, order_seed=1, requested_by_name="Ann"
        )
        for _ in range(2)
    ]
    for comparison in reversed(made):
        ComparisonRun.objects.create(comparison=comparison, run=run, arm=0, block=0)

    text = client_for("viewer").get(page_of(run)).content.decode()

    assert api_client("viewer").get(f"{RUNS}{run.pk}/").json()["comparisons"] == [one.pk for one in made]
    assert api_client("viewer").get(f"{RUNS}{alone.pk}/").json()["comparisons"] == []
    for one in made:
        assert f'href="/o/acme/benchmarks/comparisons/{one.pk}/">comparison #{one.pk}</a>' in text


def test_the_page_follows_its_run(cluster: Cluster, client_for: Browsers) -> None:
    run = made_run(cluster)

    text = client_for("viewer").get(page_of(run)).content.decode()

    assert f",run.{run.pk}" in text
    assert f'hx-get="{page_of(run, "now/")}" hx-trigger="run from:body"' in text
