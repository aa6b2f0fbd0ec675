"""The live connection test: every step of every target, in words, and nothing stored."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import Organisation
from apps.clusters.models import Cluster, PgpoolInstance
from apps.clusters.registry import connection_test
from apps.clusters.registry.connection_test import ConnectionReport, ReportStep
from apps.clusters.registry.registration import BackendWanted, DeliveryWanted
from tests.clusters.registration_scene import Scene, pgpools_running

pytestmark = [pytest.mark.django_db, pytest.mark.waits]


@pytest.fixture
def scene(tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with pgpools_running(tmp_path, settings) as running:
        yield running


@pytest.fixture
def report_of(organisation: Organisation, scene: Scene) -> Callable[..., ConnectionReport]:
    def report(**changes: Any) -> ConnectionReport:
        report = connection_test.test_connection(scene.wanted(**changes), organisation=organisation)
        assert not Cluster.objects.exists()
        return report

    return report


def step_of(report: ConnectionReport, target: str, name: str) -> ReportStep:
    [step] = [step for step in report["steps"] if step["target"].startswith(target) and step["step"] == name]
    return step


def test_every_step_of_every_pgpool_is_told(report_of: Callable[..., ConnectionReport]) -> None:
    report = report_of()

    assert report["is_ok"]
    for pgpool in ("pgpool-1", "pgpool-2"):
        told = [(step["step"], step["state"]) for step in report["steps"] if step["target"].startswith(pgpool)]
        assert told == [
            ("resolve", "ok"),
            ("tcp", "ok"),
            ("tls", "warning"),  # no certificate was verified
            ("authenticate", "ok"),
            ("privilege", "ok"),
            ("show", "ok"),
            ("pcp", "ok"),
            ("numbering", "ok"),
            ("delivery", "ok"),
        ]


def test_what_pgpool_shows_is_discovered(report_of: Callable[..., ConnectionReport]) -> None:
    discovered = report_of(backends=(BackendWanted(2, host="pg3.example", az="us-east-1c"),))["discovered"]

    assert discovered is not None
    assert (discovered["version"], discovered["num_init_children"]) == ("4.3.5", 8)
    assert (discovered["delay_threshold"], discovered["statement_level"]) == (2097152, False)
    assert [backend["role"] for backend in discovered["backends"]] == ["primary", "standby", "standby"]
    assert discovered["backends"][2] == {
        "node_id": 2,
        "hostname": "pg3.example",
        "port": 25434,
        "role": "standby",
        "status": "up",
        "weight": pytest.approx(1 / 3, abs=1e-6),  # SHOW prints six decimals
        "application_name": "pg3",
        "az": "us-east-1c",
    }


def test_a_backend_out_of_reach_is_a_warning_with_its_mending(report_of: Callable[..., ConnectionReport]) -> None:
    report = report_of(backends=(BackendWanted(1, host="no-such-host.invalid"),))

    step = step_of(report, "backend 1", "resolve")
    assert step["state"] == "warning"
    assert "getent hosts no-such-host.invalid" in step["fix"]
    assert report["is_ok"]


def test_a_missing_privilege_is_a_warning_with_its_grant(
    scene: Scene, report_of: Callable[..., ConnectionReport]
) -> None:
    scene.pgpools[0].has_monitor = False

    report = report_of()

    step = step_of(report, "pgpool-1", "privilege")
    assert (step["state"], step["fix"]) == ("warning", "GRANT pg_monitor TO lifeguard;")
    assert report["is_ok"]


def test_a_pgpool_that_hangs_stops_no_other_target(scene: Scene, report_of: Callable[..., ConnectionReport]) -> None:
    scene.pgpools[0].mode = "hang_sql"

    report = report_of()

    assert not report["is_ok"]
    assert step_of(report, "pgpool-1", "tls")["state"] == "failed"
    assert step_of(report, "pgpool-1", "pcp")["state"] == "ok"
    assert step_of(report, "pgpool-2", "show")["state"] == "ok"
    assert report["discovered"] is not None


def test_nothing_is_discovered_where_nobody_answers(scene: Scene, report_of: Callable[..., ConnectionReport]) -> None:
    for pgpool in scene.pgpools:
        pgpool.mode = "refuse"

    report = report_of()

    assert (report["is_ok"], report["discovered"]) == (False, None)


def test_observe_only_is_told_as_such(scene: Scene, report_of: Callable[..., ConnectionReport]) -> None:
    report = report_of(pgpools=(scene.pgpool(0, delivery=DeliveryWanted("observe")),))

    assert "never read or written" in step_of(report, "pgpool-1", "delivery")["text"]


def test_a_report_holds_no_password(report_of: Callable[..., ConnectionReport]) -> None:
    assert "hunter2" not in str(report_of(password="hunter2"))


def test_a_pgpool_that_another_cluster_of_the_organisation_watches_is_a_warning(
    scene: Scene, organisation: Organisation, other_organisation: Organisation
) -> None:
    for number, owner in enumerate([organisation, other_organisation]):
        cluster = Cluster.objects.create(organisation=owner, slug="orders", name="Orders", username="l", password="p")
        fake = scene.pgpools[number]
        PgpoolInstance.objects.create(cluster=cluster, name="watched", host=fake.host, port=fake.port)

    report = connection_test.test_connection(scene.wanted(name="Bills"), organisation=organisation)

    [shared] = [step for step in report["steps"] if step["step"] == "shared"]
    assert (report["is_ok"], shared["state"]) == (True, "warning")
    assert shared["target"].startswith("pgpool-1")
    assert shared["text"].startswith("also watched in Orders:")
