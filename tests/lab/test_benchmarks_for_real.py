"""Benchmark runs against the real cluster, by a real pgbench."""

import contextlib
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from psycopg import sql

from apps.benchmarks.control import comparison_rows, run_engine, run_folder, run_rows
from apps.benchmarks.domain.counters_check import FEWEST
from apps.benchmarks.models import BenchmarkAccess, BenchmarkRun, RunSample
from apps.clusters.models import BackendLatest, Cluster, InstanceLatest
from deploy.lab import Lab
from tests.clusters.callers_at_doors import script
from tests.lab.asked_runs import COMPARISONS, RUNS, asked, carried_out

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_makes_its_data_measures_and_says_what_it_was_measured_under(loadable: Lab) -> None:
    run = carried_out(asked(script("operator"), clients=2, warm_up_s=1))

    assert (run.state, run.error) == ("done", "")
    body = script("viewer").get(f"{RUNS}{run.pk}/").json()
    latency = body["latency_ms"]
    assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"]
    assert body["tps"] > 0
    assert body["transactions"] > 0
    assert body["failed"] == 0
    assert ["SELECT abalance" in one["text"] for one in body["statements"]].count(True) == 1
    assert [sample["at_s"] for sample in body["samples"]][:1] == [1.0]
    assert [one["name"] for one in body["outputs"]] == ["preparation", "warm-up", loadable.backends.primary.name]
    assert all(one["exit_code"] == 0 for one in body["outputs"])
    environment = body["environment"]
    assert environment["postgresql"].split(".")[0] == loadable.binaries.postgres_version.split(".")[0]
    assert environment["client"]["program"].startswith("pgbench (PostgreSQL)")
    assert len(environment["placement"]["localhost"]) == 7
    checks = {one["check"]: one["ok"] for one in body["findings"]}
    counted = [one["sentence"] for one in body["findings"] if one["check"] == "counters_disagree"]
    assert (checks["co_located"], checks["too_short"], "littles_law" in checks) == (False, False, True)
    # Of a machine that is too slow nothing is said.
    assert len(counted) == (body["transactions"] >= FEWEST)
    assert not any(" the rest " in one for one in counted)
    assert loadable.addresses["app"]["password"] not in str(body)


def test_clients_are_spread_over_all_pgpools_and_the_tables_are_used_again(loadable: Lab) -> None:
    operator = script("operator")
    first = carried_out(asked(operator))
    run = asked(operator, topology="pgpools", clients=3)
    left = Path(tempfile.mkdtemp(prefix=run_folder.prefix_of(run)))  # by an attempt whose worker was killed
    run = carried_out(run)

    assert not left.exists()
    assert (first.state, run.state, run.error) == ("done", "done", "")
    assert sorted(run.result["tps_by_server"]) == ["pgpool-1", "pgpool-2", "pgpool-3"]
    assert run.tps == pytest.approx(sum(run.result["tps_by_server"].values()))
    assert "preparation" not in set(run.outputs.values_list("name", flat=True))


def test_writes_are_measured_through_a_pgpool_held_down_by_a_throttle_on_new_tables(loadable: Lab) -> None:
    operator = script("operator")
    carried_out(asked(operator))
    parameters = {"scale": 1, "reseed": True, "reconnect": True, "throttle_per_s": 20}
    run = carried_out(asked(operator, workload="pgbench-tpcb-like", topology="pgpool:pgpool-2", parameters=parameters))

    assert (run.state, run.error) == ("done", "")
    assert run.outputs.filter(name="preparation").exists()
    assert set(run.result["own"]["pgpool-2"]) == {"average_connection_ms", "schedule_lag_ms", "schedule_lag_max_ms"}
    assert run.result["latency_ms"]["p99"] > 0
    checks = {one["check"] for one in run.findings}
    assert checks & {"throttle_bound", "throttle_unsure"}  # so few starts differ by chance
    assert "littles_law" not in checks
    texts = [one["text"] for one in run.result["statements"]]
    assert any("UPDATE pgbench_accounts" in text for text in texts)


def scripts(*texts: str, **parameters: Any) -> dict[str, Any]:
    """A wish for own scripts, each named by its position and of a weight of it, at a pgpool."""
    given = [{"name": str(number), "sql": text, "weight": number} for number, text in enumerate(texts, start=1)]
    return {
        "workload": "pgbench-scripts", "topology": "pgpool:pgpool-1", "parameters": {"scripts": given, **parameters}
    }  # fmt: skip


def test_own_scripts_are_told_apart_and_do_what_they_say(loadable: Lab) -> None:
    operator = script("operator")
    reading = "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;"
    wish = scripts(reading, "SELECT 1; SELECT current_setting('default_transaction_read_only');", scale=1, writes=False)

    run = carried_out(asked(operator, **wish))

    assert (run.state, run.error) == ("done", "")
    first, second = run.result["scripts"]
    assert [len(first["statements"]), len(second["statements"])] == [2, 2]
    assert first["transactions"] + second["transactions"] == run.result["transactions"]
    assert 0 < second["latency_ms"]["p50"] <= second["latency_ms"]["p99"]
    writing = carried_out(asked(operator, **scripts("DELETE FROM pgbench_history;", writes=False)))
    assert writing.state == "failed"
    assert "a workload that only reads" in writing.error


def test_own_scripts_that_cannot_be_run_are_refused_before_anything_is_prepared(loadable: Lab) -> None:
    operator = script("operator")

    unread = carried_out(asked(operator, **scripts("SELECT 1;", "\\set x 1 +", scale=1)))
    role = sql.Identifier(loadable.addresses["app"]["username"])
    with loadable.backends.connect(loadable.backends.primary) as superuser:
        superuser.execute(sql.SQL("GRANT pg_read_server_files TO {}").format(role))
        try:
            reaching = carried_out(asked(operator, **scripts("SELECT 1;", scale=1)))
        finally:
            superuser.execute(sql.SQL("REVOKE pg_read_server_files FROM {}").format(role))

    assert (unread.state, unread.outputs.count()) == ("failed", 0)
    assert "parameters.scripts.1.sql: " in unread.error
    assert "Line 1 of script 2 cannot be read: syntax error" in unread.error
    assert (reaching.state, reaching.outputs.count()) == ("failed", 0)
    assert "may run programs on a server's host" in reaching.error


# One of two clients: its transactions are to be tried again (40001), or it is given up.
CONFLICTS = "DO $$BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = 'serialization_failure'; END$$;"
ONE_OF_TWO = "\\if :client_id = 0\n{}\n\\else\nSELECT pg_sleep(0.01);\n\\endif"


def test_errors_end_a_run_or_are_told_with_it(loadable: Lab) -> None:
    operator = script("operator")
    given_up = carried_out(asked(operator, clients=2, **scripts(ONE_OF_TWO.format("SELECT 1 / 0;"))))
    BenchmarkAccess.objects.update(most_failed_share=0.2)
    stopped = carried_out(asked(operator, clients=2, duration_s=300, **scripts(ONE_OF_TWO.format(CONFLICTS))))

    assert (given_up.state, given_up.error, given_up.is_partial) == ("done", "", True)
    assert given_up.result["transactions"] > 0
    [finding] = [one for one in given_up.findings if one["check"] == "clients_gave_up"]
    assert finding["ok"] is False
    assert "pgpool-1: 1 of 2 clients gave up before the end." in finding["sentence"]
    assert "division by zero" in finding["sentence"]
    assert (stopped.state, stopped.is_partial) == ("stopped", True)
    assert "during a run at most 0.2 of all may" in stopped.stop_reason


def test_sysbench_measures_and_uses_its_tables_again(loadable: Lab) -> None:
    operator = script("operator")
    wish = {"clients": 2, "parameters": {"tables": 2, "table_size": 1000}}

    writing = carried_out(asked(operator, workload="sysbench-read-write", topology="pgpool:pgpool-1", **wish))
    reading = carried_out(asked(operator, workload="sysbench-point-select", topology="standbys", warm_up_s=1, **wish))

    assert (writing.state, writing.error, reading.state, reading.error) == ("done", "", "done", "")
    for run in (writing, reading):
        latency = run.result["latency_ms"]
        assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"]
        assert run.samples.filter(at_s=1).get().tps > 0
        assert run.environment["client"]["program"].startswith("sysbench 1.")
    names = [list(run.outputs.order_by("pk").values_list("name", flat=True)) for run in (writing, reading)]
    assert names[0] == ["preparation", "preparation", "pgpool-1"]
    assert names[1][:2] == ["warm-up", "warm-up"]
    assert len(reading.result["tps_by_server"]) == 2


def test_one_under_way_is_stopped_and_what_it_measured_is_kept(loadable: Lab, wait_until: Callable[..., None]) -> None:
    operator = script("operator")
    run = asked(operator, duration_s=300)

    def carry_out() -> None:
        try:
            run_engine.carry_out(run_id=run.pk, holder="test", clock=timezone.now)
        finally:
            connection.close()

    worker = threading.Thread(target=carry_out)
    worker.start()
    wait_until(lambda: RunSample.objects.filter(run=run).exists(), "something is measured")
    assert len(programs_of(run)) == 1
    polled(run.cluster)
    seen = RunSample.objects.filter(run=run).count()
    wait_until(lambda: RunSample.objects.filter(run=run).count() > seen + 1, "it looks at what was polled")
    assert operator.post(f"{RUNS}{run.pk}/stop/").status_code == 202
    worker.join(timeout=60)

    assert not worker.is_alive()
    run.refresh_from_db()
    assert (run.state, run.stop_reason, run.is_partial) == ("stopped", "stopped by Operator", True)
    load = run.outputs.get(name=loadable.backends.primary.name)
    assert load.exit_code is not None
    assert load.exit_code < 0
    [point] = run.environment["course"]
    assert point["at_s"] > 0
    assert list(point["replay_lag_s"].values()) == [1.5]
    assert programs_of(run) == []


def polled(cluster: Cluster) -> None:
    """As if Lifeguard had polled it just now."""
    now = timezone.now()
    for instance in cluster.instances.all():
        InstanceLatest.objects.update_or_create(
            instance=instance, defaults={"polled_at": now, "state": "answering", "state_since": now}
        )
    standby = cluster.backends.exclude(node_id=cluster.primary_node_id).order_by("node_id")[0]
    BackendLatest.objects.update_or_create(
        backend=standby, defaults={"polled_at": now, "is_in_recovery": True, "replay_lag_s": 1.5}
    )


def programs_of(run: BenchmarkRun) -> list[str]:
    """Those that work in the folder of the run."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):  # one that has ended, or belongs to somebody else
            found.append(str(link.readlink()))
    return [place for place in found if f"/{run_folder.prefix_of(run)}" in place]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"database": "nowhere"}, 'database "nowhere" does not exist'),
        ({"password": "wrong"}, "password authentication failed"),
    ],
)
def test_what_keeps_a_run_from_beginning_is_named(loadable: Lab, changes: dict[str, str], words: str) -> None:
    access = BenchmarkAccess.objects.get()
    for name, value in changes.items():
        setattr(access, name, value)
    access.save()

    run = carried_out(asked(script("operator")))

    assert (run.state, run.is_partial) == ("failed", False)
    assert words in run.error
    assert loadable.backends.primary.name in run.error


def test_a_server_that_is_gone_fails_the_run_with_its_name(loadable: Lab) -> None:
    operator = script("operator")
    carried_out(asked(operator))
    run = asked(operator, topology="pgpool:pgpool-3")
    run.cluster.instances.filter(name="pgpool-3").update(port=1)

    run = carried_out(run)

    assert run.state == "failed"
    assert run.error.startswith("pgpool-3: ")


def test_a_comparison_measures_its_arms_by_turns_and_says_how_they_differ(loadable: Lab) -> None:
    operator = script("operator")
    wish = {
        "cluster": "orders", "repetitions": 2, "arms": [{"topology": "primary"}, {"topology": "pgpool"}],
        "common": {"workload": "pgbench-select-only", "clients": 1, "duration_s": 1, "parameters": {"scale": 1}},
    }  # fmt: skip
    pk = operator.post(COMPARISONS, wish, format="json").json()["id"]

    while due := run_rows.due_runs():
        carried_out(BenchmarkRun.objects.get(pk=due[0][0]))
        comparison_rows.advance(pk, now=timezone.now())

    body = operator.get(f"{COMPARISONS}{pk}/").json()
    assert (body["state"], body["runs_done"], body["blocks_whole"]) == ("done", 6, 2)
    for arm in body["arms_compared"]:
        assert [run["counts"] for run in arm["runs"]] == [False, True, True]
        assert arm["figures"]["p99_ms"]["middle"] >= arm["figures"]["p50_ms"]["middle"] > 0
    against = body["arms_compared"][1]["against_baseline"]
    assert against["tps"]["low"] < against["tps"]["difference_percent"] < against["tps"]["high"]
    assert {one["check"] for one in body["findings"]} >= {"co_located", "too_short"}
