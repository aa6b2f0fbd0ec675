"""Runs by REST: queued, refused by field, stopped, seen by their organisation only."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import AuditEntry
from apps.benchmarks.control import run_rows
from apps.benchmarks.models import BenchmarkAccess, BenchmarkRun, RunSample
from apps.clusters.models import Cluster, ConfigRevision, Rollout
from tests.benchmarks.scene import ACCESS, NOW, RUNS, SECRET, asked
from tests.clusters.callers_at_doors import script

pytestmark = pytest.mark.django_db

Client = Callable[..., APIClient]
SCRIPT = {"name": "look", "sql": "SELECT 1;"}
WEIGHED = {"name": "pay", "sql": "\\set aid random(1, 10)\nSELECT :aid;", "weight": 3}


def queued(cluster: Cluster, **changes: Any) -> BenchmarkRun:
    return BenchmarkRun.objects.create(
        cluster=cluster, workload="pgbench-select-only", topology="primary", clients=4, threads=4, duration_s=60,
        parameters={"scale": 10}, requested_by_name="Ann", **changes,
    )  # fmt: skip


def test_a_run_is_queued_behind_those_before_it(cluster: Cluster, api_client: Client) -> None:
    first = queued(cluster)

    answer = api_client("operator").post(RUNS, asked(topology="pgpools", note="before the new weights"), format="json")

    body = answer.json()
    assert answer.status_code == 202, body
    assert (body["state"], body["runs_before"], body["topology"]) == ("queued", 1, "pgpools")
    assert (body["threads"], body["parameters"]["scale"], body["warm_up_s"]) == (4, 10, 0)
    assert (body["parameters"]["reconnect"], body["parameters"]["throttle_per_s"]) == (False, None)
    assert (body["tps"], body["latency_ms"]["p99"], body["can_stop"]) == (None, None, True)
    assert AuditEntry.objects.get(action="benchmarks.run.requested").target_id == str(body["id"])
    listed = api_client("viewer").get(RUNS, {"cluster": "orders"}).json()
    assert [one["id"] for one in listed["results"]] == [body["id"], first.pk]


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"workload": "tpc-h"}, "workload", "there are pgbench-select-only"),
        ({"topology": "standby:7"}, "topology", "standby:1"),
        ({"topology": "standbys", "workload": "pgbench-tpcb-like"}, "topology", "takes no writes"),
        ({"clients": 0}, "clients", "1"),
        ({"clients": 101}, "clients", "from 1 to 100"),
        ({"clients": 27, "topology": "pgpool:pgpool-1"}, "clients", "32 num_init_children, of which others use 4"),
        ({"clients": 1, "topology": "pgpools"}, "clients", "fewer than the 2 servers"),
        ({"duration_s": 0}, "duration_s", "1"),
        ({"duration_s": 121}, "duration_s", "from 1 to 120 s"),
        ({"duration_s": 100, "warm_up_s": 21}, "warm_up_s", "120 s are allowed"),
        ({"threads": 5}, "threads", "from 1 to 4"),
        ({"parameters": {"scale": 0}}, "parameters.scale", "from 1 to 10000"),
        ({"parameters": {"scale": True}}, "parameters.scale", "a whole number"),
        ({"parameters": {"throttle_per_s": 0}}, "parameters.throttle_per_s", "from 1 to 10000000 per s, or null"),
        ({"parameters": {"throttle_per_s": "fast"}}, "parameters.throttle_per_s", "must be a whole number"),
        ({"parameters": {"reconnect": 1}}, "parameters.reconnect", "must be true or false"),
        ({"parameters": {"scale": None}}, "parameters.scale", "a whole number from 1 to 10000"),
        ({"parameters": {"protocol": "fast"}}, "parameters.protocol", "one of simple, extended, prepared"),
        ({"workload": "pgbench-scripts"}, "parameters.scripts", "must be a list of 1 to 20 scripts"),
        (
            {"workload": "pgbench-scripts", "parameters": {"scripts": [{"name": "a", "sql": "SELECT 1;\n\\shell id"}]}},
            "parameters.scripts.0.sql",
            "in line 2 cannot be taken",
        ),
        (
            {"workload": "pgbench-scripts", "topology": "standbys", "parameters": {"scripts": [SCRIPT]}},
            "topology",
            "takes no writes",
        ),
        ({"workload": "pubsub", "topology": "standbys", "clients": 24}, "topology", "takes no writes"),
        ({"clients": None}, "clients", "is missing; say how many clients pgbench-select-only is to have"),
        ({"workload": "pubsub", "clients": 23}, "clients", "'23' must be 24, or left out"),
        ({"workload": "pubsub", "clients": 9, "parameters": {"groups": 1, "writers": 6}}, "clients", "must be 10"),
        ({"workload": "pubsub", "parameters": {"scale": 1}}, "parameters.scale", "known are writers, groups"),
        (
            {"workload": "pubsub", "parameters": {"write_batch": 1000, "message_bytes": 1_000_000}},
            "parameters.write_batch",
            "more than 64 MiB at once",
        ),
        ({"workload": "sysbench-read-write", "topology": "standbys"}, "topology", "takes no writes"),
        ({"workload": "sysbench-read-only", "parameters": {"tables": 101}}, "parameters.tables", "from 1 to 100"),
        (
            {"parameters": {"fillfactor": 90}},
            "parameters.fillfactor",
            "'fillfactor' is no parameter of pgbench-select-only",
        ),
        ({"workload": "sysbench-read-only", "parameters": {"prepared": 1}}, "parameters.prepared", "false, or null"),
        ({"clint": 4}, "clint", "is no field here"),
    ],
)
def test_what_cannot_be_run_is_refused_by_its_field(
    cluster: Cluster, api_client: Client, changes: dict[str, Any], field: str, words: str
) -> None:
    answer = api_client("operator").post(RUNS, asked(**changes), format="json")

    assert answer.status_code == 400
    [error] = answer.json()["errors"]
    assert error["field"] == field
    assert words in error["reason"]
    assert not BenchmarkRun.objects.exists()


@pytest.mark.parametrize("given", [{}, {"clients": None}])
def test_clients_that_the_parameters_make_are_left_out(
    cluster: Cluster, api_client: Client, given: dict[str, Any]
) -> None:
    wish = asked(workload="pubsub", parameters={"writers": 2, "groups": 3, "readers_per_group": 4})
    del wish["clients"]

    answer = api_client("operator").post(RUNS, {**wish, **given}, format="json")

    assert (answer.status_code, answer.json()["clients"]) == (202, 14)  # 2 + 3 x 4


def test_own_scripts_that_do_not_write_are_taken_by_standbys(cluster: Cluster, api_client: Client) -> None:
    wish = asked(
        workload="pgbench-scripts", topology="standbys", parameters={"scripts": [SCRIPT, WEIGHED], "writes": False}
    )

    answer = api_client("operator").post(RUNS, wish, format="json")

    body = answer.json()
    assert answer.status_code == 202, body
    assert body["parameters"]["scripts"] == [{**SCRIPT, "weight": 1}, WEIGHED]
    assert (body["parameters"]["writes"], body["parameters"]["scale"]) == (False, 0)


def test_as_many_clients_as_the_children_of_each_pgpool_leave_are_taken(cluster: Cluster, api_client: Client) -> None:
    operator = api_client("operator")

    assert operator.post(RUNS, asked(clients=26, topology="pgpool"), format="json").status_code == 202
    assert operator.post(RUNS, asked(clients=52, topology="pgpools"), format="json").status_code == 202
    assert operator.post(RUNS, asked(clients=53, topology="pgpools"), format="json").status_code == 400


def test_backends_can_be_chosen_once_the_primary_is_known(cluster: Cluster, api_client: Client) -> None:
    cluster.primary_node_id = None
    cluster.save()
    operator = api_client("operator")

    answer = operator.post(RUNS, asked(topology="primary"), format="json")

    assert answer.status_code == 400
    assert "once a pgpool has named the primary" in answer.json()["errors"][0]["reason"]
    assert operator.post(RUNS, asked(topology="pgpools"), format="json").status_code == 202


def test_nothing_is_run_where_nobody_has_allowed_it(cluster: Cluster, api_client: Client) -> None:
    BenchmarkAccess.objects.update(is_on=False)

    answer = api_client("operator").post(RUNS, asked(), format="json")

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:lifeguard:benchmarks-not-allowed")
    assert "an admin has to allow it" in answer.json()["detail"]


def test_nothing_is_run_where_nothing_may_be_written(cluster: Cluster, api_client: Client) -> None:
    cluster.is_observe_only = True
    cluster.save()

    answer = api_client("operator").post(RUNS, asked(), format="json")

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:lifeguard:observe-only")


def test_viewers_start_and_stop_nothing(cluster: Cluster, api_client: Client) -> None:
    run = queued(cluster)
    viewer = api_client("viewer")

    assert viewer.post(RUNS, asked(), format="json").status_code == 403
    assert viewer.post(f"{RUNS}{run.pk}/stop/").status_code == 403
    assert viewer.put(ACCESS, {"is_on": False}, format="json").status_code == 403
    assert viewer.get(f"{RUNS}{run.pk}/").json()["can_stop"] is False


def test_another_organisation_sees_no_run(cluster: Cluster) -> None:
    run = queued(cluster)
    stranger = script("admin", organisation="globex")

    assert stranger.get(f"{RUNS}{run.pk}/").status_code == 404
    assert stranger.post(f"{RUNS}{run.pk}/stop/").status_code == 404
    assert stranger.get(RUNS).json()["results"] == []
    assert stranger.get(RUNS, {"cluster": "orders"}).status_code == 404
    assert stranger.post(RUNS, asked(), format="json").status_code == 404
    assert stranger.get(ACCESS).status_code == 404


def test_one_that_is_queued_stops_at_once_and_is_stopped_once(cluster: Cluster, api_client: Client) -> None:
    run = queued(cluster)
    operator = api_client("operator")

    body = operator.post(f"{RUNS}{run.pk}/stop/").json()

    assert (body["state"], body["stop_reason"], body["can_stop"]) == ("stopped", "stopped by Operator", False)
    again = operator.post(f"{RUNS}{run.pk}/stop/")
    assert (again.status_code, again.json()["type"]) == (409, "urn:lifeguard:run-refused")


def test_the_list_has_pages(cluster: Cluster, api_client: Client) -> None:
    made = [queued(cluster).pk for _ in range(3)]
    viewer = api_client("viewer")

    first = viewer.get(RUNS, {"limit": 2}).json()
    second = viewer.get(first["next"]).json()

    assert [one["id"] for one in first["results"] + second["results"]] == made[::-1]
    assert second["next"] is None


def test_an_admin_allows_it_and_the_password_is_never_shown(cluster: Cluster, api_client: Client) -> None:
    BenchmarkAccess.objects.all().delete()
    admin = api_client("admin")

    lacking = admin.put(ACCESS, {"is_on": True, "database": "shop", "username": "app"}, format="json")
    assert (lacking.status_code, lacking.json()["errors"][0]["field"]) == (400, "password")
    given = {"is_on": True, "database": "shop", "username": "app", "password": SECRET, "most_lag_s": 5}
    answer = admin.put(ACCESS, given, format="json")

    body = answer.json()
    assert answer.status_code == 200, body
    assert body["access"] == {
        "is_on": True, "database": "shop", "username": "app", "most_clients": 32, "most_duration_s": 600,
        "most_lag_s": 5.0, "most_failed_share": None, "queue": "bench",
    }  # fmt: skip
    assert [one["key"] for one in body["topologies"]] == [
        "primary", "standby:1", "standby:2", "standbys", "pgpool:pgpool-1", "pgpool:pgpool-2", "pgpools",
        "commit:off", "commit:local", "commit:remote_write", "commit:on", "commit:remote_apply",
    ]  # fmt: skip
    [scale, *_] = body["workloads"][0]["described"]
    assert (scale["name"], scale["kind"], scale["least"], scale["default"]) == ("scale", "whole_number", 1, 10)
    kinds = {one["kind"] for workload in body["workloads"] for one in workload["described"]}
    assert kinds == {"whole_number", "yes_no", "choice", "scripts", "sql"}
    assert BenchmarkAccess.objects.get().password == SECRET
    entry = AuditEntry.objects.get(action="benchmarks.access.change")
    assert SECRET not in f"{body} {entry.before} {entry.after}"
    other = admin.put(ACCESS, {"username": "postgres"}, format="json")
    assert (other.status_code, other.json()["errors"][0]["field"]) == (400, "password")
    assert admin.put(ACCESS, {"most_failed_share": 0.05}, format="json").json()["access"]["most_failed_share"] == 0.05
    assert admin.put(ACCESS, {"most_failed_share": 5}, format="json").status_code == 400
    assert admin.put(ACCESS, {"queue": "poll"}, format="json").json()["errors"][0]["field"] == "queue"


def lost(cluster: Cluster, **changes: Any) -> BenchmarkRun:
    """Its worker has not renewed its lease in time."""
    now = timezone.now()
    return queued(cluster, state="running", lease_holder="dead", lease_expires_at=now - timedelta(seconds=1), **changes)


def test_a_run_whose_worker_died_is_queued_again_and_then_given_up(cluster: Cluster) -> None:
    run = lost(cluster, attempts=1)
    RunSample.objects.create(run=run, attempt=1, at_s=1, tps=100)

    assert run_rows.due_runs() == [(run.pk, "bench")]
    assert run_rows.claim(run.pk, holder="other", now=timezone.now()) is None
    run.refresh_from_db()
    assert (run.state, run.phase) == ("queued", "attempt 1 ended with its worker; it is begun anew")

    again = run_rows.claim(run.pk, holder="other", now=timezone.now())
    assert again is not None
    assert (again.state, again.attempts) == ("preparing", 2)
    BenchmarkRun.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    run_rows.claim(run.pk, holder="third", now=timezone.now())
    run.refresh_from_db()
    assert (run.state, run.is_partial) == ("failed", False)
    assert "died in each of 2 attempts" in run.error
    assert run.error.endswith("start the run again. " + LEFT)


LEFT = "Data that it was making may be there half; the next run of this workload makes it anew."


@pytest.mark.parametrize("measured_at", [None, NOW])
@pytest.mark.parametrize("state", ["queued", "preparing"])
def test_half_made_data_of_a_worker_that_died_is_told_where_the_run_is_stopped(
    cluster: Cluster, api_client: Client, state: str, measured_at: datetime | None
) -> None:
    run = lost(cluster, attempts=1, measured_at=measured_at)
    BenchmarkRun.objects.update(state=state)

    api_client("operator").post(f"{RUNS}{run.pk}/stop/")
    run_rows.claim(run.pk, holder="other", now=timezone.now())

    run.refresh_from_db()
    assert run.state == "stopped"
    assert run.stop_reason.startswith("stopped by ")
    assert run.stop_reason.endswith(f". {LEFT}") is (measured_at is None)


def test_one_that_somebody_wanted_stopped_is_not_begun_anew(cluster: Cluster) -> None:
    run = lost(cluster, attempts=1, is_stop_requested=True)
    RunSample.objects.create(run=run, attempt=1, at_s=1, tps=100)

    run_rows.claim(run.pk, holder="other", now=timezone.now())

    run.refresh_from_db()
    assert (run.state, run.is_partial) == ("stopped", True)


def test_one_run_of_a_cluster_is_under_way_at_a_time(cluster: Cluster) -> None:
    first, second = queued(cluster), queued(cluster)
    assert run_rows.due_runs() == [(first.pk, "bench")]

    assert run_rows.claim(first.pk, holder="one", now=timezone.now()) is not None

    assert run_rows.due_runs() == []
    assert run_rows.claim(second.pk, holder="two", now=timezone.now()) is None
    second.refresh_from_db()
    assert second.state == "queued"


def test_no_run_begins_during_a_rollout(cluster: Cluster) -> None:
    run = queued(cluster)
    revision = ConfigRevision.objects.create(cluster=cluster, number=1, origin="edit", weights={}, author_name="x")
    rollout = Rollout.objects.create(cluster=cluster, revision=revision, requested_by_name="x")

    assert run_rows.claim(run.pk, holder="one", now=timezone.now()) is None
    run.refresh_from_db()
    assert run.state == "queued"
    assert f"waits: Rollout {rollout.pk}" in run.phase

    Rollout.objects.update(state="verified")
    assert run_rows.claim(run.pk, holder="one", now=timezone.now()) is not None
