"""The switch that stops all writes: what it keeps from happening, who may use it, and what goes on all the same."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from apps.accounts.models import AuditEntry, Organisation
from apps.clusters.control import rollout_holds, rollouts, writes, writes_switch
from apps.clusters.models import ClusterEvent, Rollout, WritesSwitch
from tests.clusters.callers_at_doors import browser, member, script
from tests.clusters.rollout_scene import NEW_WEIGHTS, NOW, Clock, Scene, conf_text

pytestmark = pytest.mark.django_db

REST = "/api/v1/writes-allowed/"


@contextmanager
def another_worker_writes(owner: int) -> Iterator[psycopg.Connection[Any]]:
    """A session of its own, as another process has it, amid an action of this organisation."""
    facts = connection.get_connection_params()
    wanted = {name: facts[name] for name in ("dbname", "user", "password", "host", "port") if facts.get(name)}
    with psycopg.connect(**wanted, autocommit=True) as session:
        session.execute("SELECT pg_advisory_lock_shared(%s, %s)", [writes.LOCK_CLASS, writes.lock_key(owner)])
        yield session


def test_a_rollout_under_way_waits_and_goes_on_afterwards(pair: Scene) -> None:
    rollout = pair.request()
    writes_switch.stop(caller=pair.caller, reason="storage", now=NOW)

    pair.advance(rollout)
    assert (rollout.state, pair.texts()) == ("pending", [conf_text()] * 2)
    assert list(rollout.steps.values_list("attempts", "is_touched").distinct()) == [(0, False)]

    writes_switch.allow(caller=member("admin"), reason="", now=NOW)
    assert pair.advance(rollout).state == "verified"


def test_what_is_begun_is_read_back_and_nothing_more_is_written(pair: Scene) -> None:
    def stop_after_the_first_reload(look: int) -> None:
        if rollout.steps.filter(state="reloaded").exists():
            writes_switch.stop(caller=pair.caller, reason="", now=NOW)

    rollout = pair.request()
    pair.advance(rollout, clock=Clock(when_looked=stop_after_the_first_reload))

    assert (rollout.state, pair.states(rollout)) == ("running", ["verified", "pending"])
    assert pair.texts()[1] == conf_text()
    viewer, address = script("viewer"), f"/api/v1/rollouts/{rollout.pk}/"
    body = viewer.get(address).json()
    assert body["sentence"] == "Waiting. All writes were stopped by Ann. It goes on when they are allowed again."
    assert not any(step["is_current"] for step in body["steps"])

    rollout_holds.pause(caller=pair.caller, rollout=rollout, now=NOW)
    paused = viewer.get(address).json()["sentence"]
    assert paused.endswith(" It is paused as well: resume it when they are allowed again.")
    rollouts.cancel(caller=pair.caller, rollout=rollout, now=NOW)
    cancelled = viewer.get(address).json()["sentence"]
    assert cancelled.endswith(" Touched pgpools get their old file back when they are allowed again.")


def test_an_old_file_is_put_back_only_when_writes_are_allowed(pair: Scene) -> None:
    rollout = pair.request()
    pair.confs[1].write_text("listen_addresses = '*'\n")
    writes_switch.stop(caller=pair.caller, reason="", now=NOW)
    Rollout.objects.filter(pk=rollout.pk).update(state="running", is_halting=True)
    rollout.steps.filter(position=0).update(state="written", is_touched=True)
    rollout.refresh_from_db()

    assert pair.advance(rollout).state == "running"
    assert pair.states(rollout)[0] == "written"


@pytest.mark.parametrize("scope", ["organisation", "installation"])
def test_new_changes_are_refused_by_rest_and_on_the_page(pair: Scene, scope: str) -> None:
    organisation = pair.cluster.organisation if scope == "organisation" else None
    writes_switch.stop_by_command(organisation=organisation, reason="night shift", now=NOW)

    refused = script("operator").put("/api/v1/clusters/orders/weights/", {"weights": NEW_WEIGHTS})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:lifeguard:writes-stopped")
    assert "night shift" in refused.json()["detail"]
    page = browser("admin").post("/o/acme/clusters/orders/weights/", {"weight_0": 0, "weight_1": 1, "weight_2": 3})
    assert page.status_code == 422
    assert "night shift" in page.content.decode()
    assert not Rollout.objects.exists()


def test_a_rollback_is_refused_and_a_cancel_is_noted(pair: Scene) -> None:
    done = pair.advance(pair.request())
    waiting = pair.request({"0": 0, "1": 1, "2": 1})
    writes_switch.stop(caller=pair.caller, reason="", now=NOW)
    caller = script("operator")

    assert caller.post(f"/api/v1/rollouts/{waiting.pk}/cancel/").status_code == 202
    Rollout.objects.filter(pk=waiting.pk).update(state="cancelled")
    refused = caller.post(f"/api/v1/rollouts/{done.pk}/rollback/")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:lifeguard:writes-stopped")


def test_another_organisation_writes_on(pair: Scene) -> None:
    other = Organisation.objects.create(slug="rival", name="Rival")
    writes_switch.stop_by_command(organisation=other, reason="", now=NOW)

    assert pair.advance(pair.request()).state == "verified"


def test_stopping_says_how_many_writes_are_still_finishing(pair: Scene) -> None:
    organisation = pair.cluster.organisation_id

    with another_worker_writes(organisation):
        left = writes_switch.stop(caller=pair.caller, reason="", now=NOW, patience_s=0.05)
        assert left == 1
        assert WritesSwitch.objects.get().is_stopped
    assert writes_switch.still_finishing(organisation, patience_s=5) == 0


def test_the_installation_waits_for_writes_of_every_organisation(pair: Scene) -> None:
    with another_worker_writes(writes.INSTALLATION):
        assert writes_switch.stop_by_command(organisation=None, reason="", now=NOW, patience_s=0.05) == 1


def test_a_worker_that_was_killed_holds_nothing_up(pair: Scene) -> None:
    organisation = pair.cluster.organisation_id

    with another_worker_writes(organisation) as session, connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [session.info.backend_pid])
        assert writes_switch.still_finishing(organisation, patience_s=5) == 0


def test_it_is_used_and_read_by_rest(pair: Scene) -> None:
    operator, admin = script("operator"), script("admin")

    stopped = operator.put(REST, {"allowed": False, "reason": "storage"}).json()
    assert (stopped["allowed"], stopped["reason"], stopped["by"], stopped["finishing"]) == (
        False, "storage", "Operator", 0,
    )  # fmt: skip
    again = admin.put(REST, {"allowed": False, "reason": "mine"}).json()
    assert (again["by"], again["reason"]) == ("Operator", "storage")  # who came first is kept
    assert operator.put(REST, {"allowed": True}).status_code == 403
    assert admin.put(REST, {"allowed": True, "reason": "done"}).json()["allowed"] is True
    assert script("viewer").get(REST).json()["organisation"]["by"] == "Admin"
    actions = AuditEntry.objects.filter(action__startswith="writes").order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["writes.stopped", "writes.allowed"]
    assert ClusterEvent.objects.filter(kind="writes").count() == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "allowed"),
        ({"allowed": "no"}, "allowed"),
        ({"allowed": None}, "allowed"),
        ({"allowed": 10**400}, "allowed"),
        ({"allowed": {"a": []}}, "allowed"),
        ({"allowed": False, "reason": "x" * 301}, "reason"),
        ({"allowed": False, "reason": ["x"]}, "reason"),
        ({"allowed": False, "why": "x"}, "why"),
    ],
)
def test_odd_input_stops_nothing_and_names_the_field(pair: Scene, body: dict[str, Any], field: str) -> None:
    answer = script("admin").put(REST, body, format="json")

    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert not WritesSwitch.objects.exists()


def test_the_page_stops_and_every_page_says_so(pair: Scene) -> None:
    operator, admin = browser("operator"), browser("admin")

    assert operator.post("/o/acme/writes/stop/", {"reason": "x" * 301}).status_code == 422
    assert operator.post("/o/acme/writes/stop/", {"reason": "night shift"}).status_code == 303
    for address in ("/o/acme/", "/o/acme/clusters/orders/", "/o/acme/writes/", "/o/acme/settings/tokens/"):
        shown = operator.get(address).content.decode()
        assert "Writes are stopped: nothing is written to any pgpool." in shown, address
        assert "night shift" in shown
    assert operator.post("/o/acme/writes/allow/").status_code == 403
    assert admin.post("/o/acme/writes/allow/").status_code == 303
    assert "Writes are stopped" not in admin.get("/o/acme/").content.decode()
    assert browser("viewer").post("/o/acme/writes/stop/").status_code == 403


def test_the_command_stops_everybody_and_an_admin_cannot_undo_it(pair: Scene) -> None:
    said = StringIO()
    call_command("writes", "stop", reason="incident 7", stdout=said)
    call_command("writes", "show", organisation="acme", stdout=said)
    assert "No write is under way any more." in said.getvalue()
    assert "Writes of Acme are allowed." in said.getvalue()

    answer = script("admin").put(REST, {"allowed": True}).json()
    assert (answer["allowed"], answer["installation"]["reason"]) == (False, "incident 7")
    assert "All writes of this installation were stopped" in browser("viewer").get("/o/acme/writes/").content.decode()

    call_command("writes", "allow", stdout=said)
    assert script("operator").get(REST).json()["allowed"] is True
    with pytest.raises(CommandError, match="no organisation nowhere"):
        call_command("writes", "show", organisation="nowhere")
