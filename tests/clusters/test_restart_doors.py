"""Rolling restarts by page and by REST, and how a pgpool is restarted as part of its registration."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.clusters.models import PendingRestart, PgpoolInstance, RollingRestart
from apps.clusters.registry.registry_export import export_yaml
from controlplane.environment import RestartCommand
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.restart_scene import COMMAND, advance, allow, request
from tests.clusters.rollout_scene import NOW, Scene, scene
from tests.fake_show import FakeClient

pytestmark = pytest.mark.django_db

PAGE = "/o/acme/clusters/orders/restarts/"
REST = "/api/v1/clusters/orders/restarts/"


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    """Two pgpools, of which the second waits for a restart."""
    settings.RESTART_COMMANDS = [RestartCommand(None, "fake", COMMAND), RestartCommand("rival", "theirs", COMMAND)]
    with scene(tmp_path, settings, pgpools=2) as found:
        found.cluster.instances.update(restart_command="fake")
        waiting = found.instances[1]
        found.confs[1].write_text(f"{found.confs[1].read_text()}max_pool = 8\n")
        PendingRestart.objects.create(instance=waiting, name="max_pool", wanted="8", running="4", since=NOW)
        yield found


def test_by_rest_those_that_wait_are_restarted_unless_told(acme: Scene) -> None:
    operator = script("operator")

    asked = operator.post(REST, {"dry_run": True})
    assert (asked.status_code, asked.json()["order"], asked.json()["refusals"]) == (200, ["pgpool-2"], [])
    assert "No client is connected to pgpool-2 just now." in asked.json()["risks"]
    assert not RollingRestart.objects.exists()

    answer = operator.post(REST, {"note": "max_pool"})
    body = answer.json()
    assert (answer.status_code, body["state"], body["can_cancel"]) == (202, "running", True)
    assert [(step["instance"], step["way"], step["parameters"]) for step in body["steps"]] == [
        ("pgpool-2", "command", ["max_pool"])
    ]
    advance(RollingRestart.objects.get())
    seen = script("viewer").get(f"{REST}{body['id']}/").json()
    assert (seen["state"], seen["sentence"], seen["can_cancel"]) == (
        "done",
        "pgpool-2 was restarted and uses its file.",
        False,
    )
    assert seen["steps"][0]["out_of_service_s"] is not None
    assert [each["id"] for each in operator.get(REST).json()["restarts"]] == [body["id"]]
    assert operator.get(REST).json()["waiting"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"instances": []}, "instances"),
        ({"instances": ["pgpool-9"]}, "instances"),
        ({"instances": "pgpool-1"}, "instances"),
        ({"instances": [{}]}, "instances.0"),
        ({"note": "\0"}, "note"),
        ({"note": "x" * 501}, "note"),
        ({"command": "rm"}, "command"),
    ],
)
def test_odd_bodies_are_refused_by_field(acme: Scene, body: dict[str, Any], field: str) -> None:
    answer = script("operator").post(REST, body)

    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert not RollingRestart.objects.exists()


def test_a_refusal_by_rest_names_every_reason(acme: Scene) -> None:
    acme.pgpools[0].mode = "refuse"

    answer = script("operator").post(REST, {})

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:lifeguard:restart-refused")
    assert answer.json()["refusals"][0].startswith("pgpool-1 does not answer")


def test_a_viewer_and_another_organisation_restart_nothing(acme: Scene) -> None:
    restart = request(acme)
    for_pages, reader, rival = (
        browser("viewer"),
        script("operator", scope="read"),
        script("admin", organisation="rival"),
    )

    for address in (f"{PAGE}start/", f"{PAGE}{restart.pk}/cancel/"):
        assert for_pages.post(address).status_code == 403
    for address in (REST, f"{REST}{restart.pk}/cancel/"):
        assert reader.post(address, {}).status_code == 403
        assert rival.post(address, {}).status_code == 404
    assert rival.get(f"{REST}{restart.pk}/").status_code == 404
    assert RollingRestart.objects.get().state == "running"


def test_what_a_command_printed_is_for_operators(acme: Scene, settings: Any) -> None:
    allow(settings, "echo secret-host: no such unit; exit 5")
    restart = advance(request(acme))

    def shown(role: str) -> str:
        for_rest, for_pages = script(role), Client()
        for_pages.force_login(User.objects.get(email=f"{role}@acme.example"))
        texts = [for_rest.get(address).content for address in (REST, f"{REST}{restart.pk}/")]
        return b" ".join([*texts, for_pages.get(f"{PAGE}now/").content]).decode()

    assert shown("operator").count("secret-host: no such unit") == 3
    viewer = shown("viewer")
    assert "it ended with code 5" in viewer
    assert "secret-host" not in viewer


def test_the_page_says_what_waits_and_the_risk_before(acme: Scene) -> None:
    acme.pgpools[1].clients = [FakeClient(1)]
    operator = browser("operator")

    shown = operator.get(PAGE).content.decode()
    assert "pgpool-2 waits for a restart." in shown
    assert "Restart one after another…" in shown
    assert "Restart one after another…" not in browser("viewer").get(PAGE).content.decode()
    asked = operator.get(f"{PAGE}start/").content.decode()
    assert "Restart pgpool-2?" in asked
    assert "The other pgpools serve meanwhile." in asked
    assert not RollingRestart.objects.exists()

    posted = operator.post(f"{PAGE}start/", {"instances": ["pgpool-2"], "note": "max_pool"})
    assert (posted.status_code, posted["Location"]) == (303, PAGE)
    running = operator.get(f"{PAGE}now/").content.decode()
    assert "Looking whether pgpool-2 may be restarted now." in running
    assert "None yet." in running
    advance(RollingRestart.objects.get())
    done = operator.get(f"{PAGE}now/").content.decode()
    assert "No pgpool waits for a restart." in done
    assert "By the command fake" in done
    assert '<span class="mono">max_pool</span> is 8' in done


def test_a_page_that_refuses_says_why(acme: Scene) -> None:
    operator = browser("operator")
    nothing = operator.post(f"{PAGE}start/", {"instances": []})
    assert (nothing.status_code, "Choose at least one pgpool." in nothing.content.decode()) == (422, True)

    acme.pgpools[0].mode = "refuse"
    refused = operator.post(f"{PAGE}start/", {"instances": ["pgpool-2"]})
    assert refused.status_code == 409
    assert "pgpool-1 does not answer" in refused.content.decode()
    asked = operator.get(f"{PAGE}start/").content.decode()
    assert "No pgpool can be restarted now." in asked
    assert 'type="submit">Restart' not in asked


def test_who_only_looks_is_led_to_what_waits(acme: Scene) -> None:
    overview = "/o/acme/clusters/orders/"

    assert "Restart one after another…" in browser("operator").get(overview).content.decode()
    seen = browser("viewer").get(overview).content.decode()
    assert "See what waits for a restart" in seen
    assert "Restart one after another…" not in seen


@pytest.mark.parametrize("whose", ["cluster", "organisation"])
def test_where_nothing_is_written_no_restart_is_offered_and_no_pgpool_asked(acme: Scene, whose: str) -> None:
    observed = acme.cluster if whose == "cluster" else acme.cluster.organisation
    observed.is_observe_only = True
    observed.save()
    acme.pgpools[0].mode = "refuse"
    operator = browser("operator")

    shown = operator.get(PAGE).content.decode()
    assert "pgpool-2 waits for a restart." in shown
    assert f"{observed.name} is observe only" in shown
    assert f"{PAGE}start/" not in shown
    asked = script("admin").post(REST, {"dry_run": True}).json()
    assert [reason.split(":")[0] for reason in asked["refusals"]] == [f"{observed.name} is observe only"]


def observe(acme: Scene, *names: str) -> None:
    none: dict[str, Any] = {"delivery_kind": "observe", "delivery_path": "", "delivery_target": None}
    acme.cluster.instances.filter(name__in=names).update(**none, restart_command="")


def test_where_every_pgpool_is_observed_no_restart_is_offered_and_none_is_asked(acme: Scene) -> None:
    observe(acme, "pgpool-1", "pgpool-2")
    acme.pgpools[0].mode = "refuse"
    why = "pgpool-1 and pgpool-2: registered as observe only, so Lifeguard never restarts them."
    operator, by_rest = browser("operator"), script("admin")

    shown = operator.get(PAGE).content.decode()
    assert why in shown
    assert f"{PAGE}start/" not in shown
    for answer in (operator.get(f"{PAGE}start/"), operator.post(f"{PAGE}start/", {"instances": ["pgpool-2"]})):
        assert why in answer.content.decode()
        assert 'type="submit">Restart' not in answer.content.decode()

    assert by_rest.get(REST).json()["busy"].startswith(why)
    for body in ({}, {"instances": ["pgpool-1"]}):
        refused = by_rest.post(REST, body)
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:lifeguard:restart-refused")
        assert [each.startswith(why) for each in refused.json()["refusals"]] == [True]
        assert by_rest.post(REST, {**body, "dry_run": True}).json()["refusals"] == refused.json()["refusals"]
    PendingRestart.objects.all().delete()
    assert by_rest.post(REST, {}).json()["refusals"][0].startswith(why)
    assert not RollingRestart.objects.exists()


def test_beside_a_pgpool_that_is_observed_the_others_are_offered(acme: Scene) -> None:
    observe(acme, "pgpool-2")
    operator = browser("operator")

    assert f"{PAGE}start/" in operator.get(PAGE).content.decode()
    asked = operator.get(f"{PAGE}start/").content.decode()

    assert "Restart pgpool-1?" in asked
    assert 'value="pgpool-2"' not in asked


def test_a_restart_under_way_can_be_cancelled_on_its_page(acme: Scene) -> None:
    acme.cluster.instances.update(restart_command="")
    restart = advance(request(acme))
    operator = browser("operator")

    assert "Restart pgpool-2 now: Lifeguard waits until it sees it." in operator.get(PAGE).content.decode()
    assert operator.post(f"{PAGE}{restart.pk}/cancel/").status_code == 303
    assert "Cancelled by Operator" in operator.get(PAGE).content.decode()


def test_the_way_of_restarting_belongs_to_the_delivery(acme: Scene) -> None:
    admin = script("admin")
    delivery = {"kind": "local", "path": str(acme.confs[0])}

    def change(**given: Any) -> Any:
        pgpools = [{"name": "pgpool-1", "delivery": {**delivery, **given}}]
        return admin.patch("/api/v1/clusters/orders/", {"pgpools": pgpools})

    for name, said in (
        ("theirs", "'theirs' is no restart command that this installation allows; there are fake"),
        ("touch /tmp/x", "is no restart command that this installation allows"),
        ("script", "must be the name of a command that the installation allows"),
    ):
        refused = change(restart=name)
        assert refused.status_code == 400
        [error] = refused.json()["errors"]
        assert error["field"] == "pgpools.0.delivery.restart"
        assert said in error["reason"]
    assert PgpoolInstance.objects.get(name="pgpool-1").restart_command == "fake"
    assert "restart: fake" in export_yaml(acme.cluster.organisation)

    assert change().status_code == 200  # the whole delivery is given: left out is by hand
    assert PgpoolInstance.objects.get(name="pgpool-1").restart_command == ""
    assert change(restart="fake").status_code == 200
    shown = {
        each["name"]: each["delivery"]["restart"] for each in admin.get("/api/v1/clusters/orders/").json()["pgpools"]
    }
    assert shown == {"pgpool-1": "fake", "pgpool-2": "fake"}
    manual = admin.patch(
        "/api/v1/clusters/orders/",
        {"pgpools": [{"name": "pgpool-1", "delivery": {"kind": "manual", "text": "x", "restart": "fake"}}]},
    )
    assert "must be left out for manual" in manual.json()["errors"][0]["reason"]


def test_the_settings_page_offers_what_the_installation_allows(acme: Scene) -> None:
    shown = browser("admin").get("/o/acme/clusters/orders/settings/").content.decode()

    assert '<option value="fake" selected>Local: by the command fake</option>' in shown
    assert "theirs" not in shown


def test_the_page_of_restarts_is_reached_while_nothing_waits(acme: Scene) -> None:
    PendingRestart.objects.all().delete()

    shown = browser("viewer").get("/o/acme/clusters/orders/configuration/").content.decode()

    assert f'href="{PAGE}"' in shown
