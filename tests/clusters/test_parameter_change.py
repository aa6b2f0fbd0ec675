"""Parameters by REST: validated against the whole files, rolled out with weights, read back, taken back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.models import BackendLatest, ConfigRevision, Rollout
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import NEW_WEIGHTS, NOW, SECRET, Scene, conf_text, scene

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_patience")]

REST = "/api/v1/clusters/orders/parameters/"


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=2) as found:
        found.cluster.instances.update(version="4.3.5")
        yield found


def test_parameters_and_weights_are_rolled_out_together(acme: Scene) -> None:
    asked = {
        "parameters": {"delay_threshold": 5000, "client_idle_limit": None, "num_init_children": "64"},
        "per_instance": {"pgpool-2": {"delay_threshold": "7000"}},
        "weights": NEW_WEIGHTS,
        "note": "larger",
    }
    for pgpool in acme.pgpools:
        pgpool.kept_on_reload = {"num_init_children"}

    answer = script("operator").put(REST, asked)

    assert answer.status_code == 202
    audit = browser("admin").get("/o/acme/settings/audit/").content.decode()
    assert f"/o/acme/rollouts/{answer.json()['id']}/#receipts" in audit
    rollout = acme.advance(Rollout.objects.get(pk=answer.json()["id"]))
    assert rollout.state == "verified"
    assert rollout.revision.parameters == {
        name: ["client_idle_limit", "delay_threshold", "num_init_children"] for name in ("pgpool-1", "pgpool-2")
    }
    added = "client_idle_limit = 0\nnum_init_children = 64\n"
    whole = conf_text(weights=("0", "1", "3"))
    assert acme.texts() == [
        whole.replace("delay_threshold = 1000", "delay_threshold = 5000") + added,
        whole.replace("delay_threshold = 1000", "delay_threshold = 7000") + added,
    ]
    states = {one["name"]: one["state"] for one in rollout.steps.first().receipt["read_back"]["parameters"]}
    assert states["client_idle_limit"] == states["delay_threshold"] == "live"
    assert states["num_init_children"] == "pending_restart"


def test_more_children_than_a_backend_takes_sessions_are_refused(acme: Scene) -> None:
    BackendLatest.objects.bulk_create(
        BackendLatest(backend=backend, polled_at=NOW, connection_limit=97) for backend in acme.cluster.backends.all()
    )

    answer = script("operator").put(REST, {"parameters": {"num_init_children": "98"}})

    assert answer.status_code == 400
    assert "97" in answer.json()["detail"]
    assert acme.texts() == [conf_text()] * 2


def test_what_stands_there_already_is_read_back_all_the_same(acme: Scene) -> None:
    answer = script("operator").put(REST, {"parameters": {"delay_threshold": "1000"}})

    rollout = acme.advance(Rollout.objects.get(pk=answer.json()["id"]))
    assert acme.texts() == [conf_text()] * 2
    names = [one["name"] for one in rollout.steps.first().receipt["read_back"]["parameters"]]
    assert names[0] == "delay_threshold"


def test_a_rejected_value_is_taken_back_with_nothing_left_out(acme: Scene) -> None:
    acme.pgpools[1].kept_on_reload = {"delay_threshold"}
    asked = {"parameters": {"delay_threshold": 5000, "client_idle_limit": 60}}

    operator = script("operator")
    rollout = acme.advance(Rollout.objects.get(pk=operator.put(REST, asked).json()["id"]))

    assert rollout.state == "rolled_back"
    assert "delay_threshold is 1000, not 5000" in rollout.halt_reason
    # The line that was new stays with its default: some children would keep 60 if it went.
    assert acme.texts() == [conf_text() + "client_idle_limit = 0\n"] * 2
    assert operator.put(REST, {"parameters": {"client_idle_limit": 0}}).status_code == 202


@pytest.mark.parametrize(
    ("asked", "field", "reason"),
    [
        ({}, "parameters", "nothing to change"),
        ({"parameters": {}}, "parameters", "nothing to change"),
        ({"parameters": [1]}, "parameters", "object"),
        ({"parameters": {"delay_treshold": "5"}}, "delay_treshold", "delay_threshold"),
        ({"parameters": {"delay_threshold": "abc"}}, "delay_threshold", "no figure"),
        ({"parameters": {"delay_threshold": -1}}, "delay_threshold", "range"),
        ({"parameters": {"delay_threshold": 10**4000}}, "delay_threshold", ""),
        ({"parameters": {"delay_threshold": [[[1]]]}}, "delay_threshold", "no text and no figure"),
        ({"parameters": {"log_line_prefix": "a'b"}}, "log_line_prefix", "quote"),
        ({"parameters": {"port": "1"}}, "port", "registration"),
        ({"parameters": {"failover_command": "rm"}}, "failover_command", "admin"),
        ({"parameters": {"backend_weight1": "3"}}, "backend_weight1", "weights"),
        ({"parameters": {"sr_check_password": f"{SECRET}\n"}}, "sr_check_password", "sign"),
        ({"per_instance": {"pgpool-9": {"max_pool": "4"}}}, "pgpool-9", "pgpool-1, pgpool-2"),
        ({"per_instance": {"pgpool-1": 7}}, "", "object"),
        ({"per_instance": 7}, "per_instance", "object"),
        ({"parameters": {"max_pool": "4"}, "weights": {"0": 0, "1": 0, "2": 0}}, "weights", "all are 0, but"),
        ({"parameters": {"max_pool": "4"}, "base": "none"}, "base", "valid choice"),
        ({"parameters": {"max_pool": "4"}, "wheights": {}}, "wheights", "no field"),
    ],
)
def test_what_cannot_be_rolled_out_is_refused_by_name_and_stores_nothing(
    acme: Scene, asked: dict[str, object], field: str, reason: str
) -> None:
    answer = script("operator").put(REST, asked)

    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")
    told = str(answer.json()["errors"])
    assert field in told
    assert reason in told
    assert SECRET not in answer.content.decode()
    assert not ConfigRevision.objects.exists()
    assert acme.texts() == [conf_text()] * 2


def test_the_preview_says_what_would_change_and_what_brings_it_in(acme: Scene) -> None:
    asked = {"parameters": {"delay_threshold": "5000", "max_pool": 8, "sr_check_password": "new-secret"}}

    operator = script("operator")
    answer = operator.post(f"{REST}preview/", asked)

    body = answer.json()
    assert (answer.status_code, body["ok"]) == (200, True)
    assert body["effects"] == {"delay_threshold": "reload", "max_pool": "restart", "sr_check_password": "reload"}
    assert ("max_pool", "note", None) in {
        (one["parameter"], one["severity"], one["instance"]) for one in body["findings"]
    }
    assert [one["changed_lines"] for one in body["instances"]] == [3, 3]
    assert "new-secret" not in answer.content.decode()
    assert not Rollout.objects.exists()
    assert not operator.post(f"{REST}preview/", {"parameters": {"max_pool": "x"}}).json()["ok"]


def test_who_may_not_write_is_refused(acme: Scene) -> None:
    assert script("viewer").put(REST, {"parameters": {"max_pool": 8}}).status_code == 403
    assert script("admin", organisation="rival").put(REST, {"parameters": {"max_pool": 8}}).status_code == 404
    assert script("admin").put(REST, {"parameters": {"failover_command": "/bin/true"}}).status_code == 202
