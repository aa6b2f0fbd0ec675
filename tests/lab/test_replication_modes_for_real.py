"""Runs under replication modes and levels of commit, against the real cluster."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.benchmarks.control import run_engine, run_replication
from apps.benchmarks.control.cluster_course import ClusterCourse
from apps.benchmarks.models import BenchmarkRun
from apps.clusters.models import Cluster
from deploy.lab import Lab, synchronous
from tests.clusters.callers_at_doors import script
from tests.lab.asked_runs import asked, carried_out

pytestmark = pytest.mark.django_db(transaction=True)

# Fails unless its sessions are read-only and of the level.
TELLING = (
    "SELECT 1 / (current_setting('synchronous_commit') = 'remote_write')::int"
    " / (current_setting('transaction_read_only') = 'on')::int;"
)


@pytest.fixture
def replicated(loadable: Lab) -> Iterator[Lab]:
    """The same, whose replication is as it was afterwards."""
    yield loadable
    synchronous.put_back(loadable.backends)


def asked_to_write(operator: APIClient, topology: str, **changes: Any) -> BenchmarkRun:
    whole = {"workload": "pgbench-tpcb-like", "topology": topology, "clients": 2, "duration_s": 1, **changes}
    return asked(operator, **whole)


def waiting_commits(lab: Lab) -> int:
    statement = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = %s"
    with lab.backends.connect(lab.backends.primary) as superuser:
        row = superuser.execute(statement, [lab.addresses["app"]["username"]]).fetchone()
    return int(row[0]) if row else 0


def test_levels_of_commit_are_measured_under_one_synchronous_standby(replicated: Lab) -> None:
    names = synchronous.first_of(replicated.backends)
    first, second = (backend.name for backend in replicated.backends.standbys)
    telling = {"scripts": [{"name": "tell", "sql": TELLING, "weight": 1}], "writes": False}
    operator = script("operator")
    runs = [asked_to_write(operator, "commit:off"), asked_to_write(operator, "commit:remote_apply")]
    runs.append(asked_to_write(operator, "commit:remote_write", workload="pgbench-scripts", parameters=telling))
    plain = asked_to_write(operator, "primary", workload="pgbench-select-only")
    synchronous.await_standbys(replicated.backends)

    with synchronous.waits_for(replicated.backends, names):
        for run in runs:
            carried_out(run)
    carried_out(plain)

    assert [(run.state, run.error) for run in (*runs, plain)] == [("done", "")] * 4
    kept = [run.environment["replication"] for run in runs]
    assert [one["synchronous_commit"] for one in kept] == ["off", "remote_apply", "remote_write"]
    assert {one["mode"] for one in kept} == {"1 synchronous, 1 potential"}
    assert {one["synchronous_standby_names"] for one in kept} == {names}
    states = {one["application_name"]: one["sync_state"] for one in kept[1]["standbys"]}
    assert states == {first: "sync", second: "potential"}
    found = {one["check"]: one["ok"] for one in runs[1].findings}
    assert (found["commit_level"], found["fsync_off"], "replication_changed" in found) == (True, False, False)
    assert plain.environment["replication"]["mode"] == "asynchronous"


def test_where_commits_would_wait_for_ever_a_run_says_so(
    replicated: Lab, monkeypatch: pytest.MonkeyPatch, wait_until: Callable[..., None]
) -> None:
    backends = replicated.backends
    monkeypatch.setattr(run_replication, "COMES_BACK_WITHIN_S", 0.0)
    monkeypatch.setattr(run_engine, "GRACE_S", 1.0)
    operator = script("operator")
    refused, hanging = asked_to_write(operator, "commit:on"), asked_to_write(operator, "commit:on")
    with synchronous.waits_for(backends, "nobody"):
        carried_out(refused)

    def lose_standbys(*cluster: Cluster, **told: float) -> ClusterCourse:
        """Just before the load begins."""
        synchronous.set_names(backends, "nobody")
        return ClusterCourse(*cluster, **told)

    monkeypatch.setattr(run_engine, "ClusterCourse", lose_standbys)
    carried_out(hanging)
    wait_until(lambda: waiting_commits(replicated) == 0, "no commit of the load waits any more")

    assert (refused.state, refused.outputs.count()) == ("failed", 0)
    assert "asks for 1, and none of these standbys is connected" in refused.error
    assert hanging.state == "failed"
    # The others may wait for rows that it has locked.
    assert "for a synchronous standby to confirm a commit (SyncRep)" in hanging.error
