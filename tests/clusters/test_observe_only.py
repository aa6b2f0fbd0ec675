"""A cluster or an organisation that is observe only: nothing is delivered, nothing can be written, and pages say so."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import AuditEntry
from apps.clusters.models import BackendOperation, Cluster, RollingRestart, Rollout
from apps.clusters.registry.instance_changes import change_instance
from apps.clusters.registry.registration import DeliveryWanted, RegistrationRefused, register
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.registration_scene import pgpools_running
from tests.clusters.rollout_scene import NEW_WEIGHTS, Scene

pytestmark = pytest.mark.django_db

REST = "/api/v1/clusters/orders/observe-only/"


def test_a_cluster_forgets_its_deliveries_once_that_is_confirmed(pair: Scene) -> None:
    admin = script("admin")

    for confirm in ({}, {"confirm": ""}, {"confirm": "billing"}):
        refused = admin.put(REST, {"observe_only": True, **confirm})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "confirm")
    assert not Cluster.objects.get().is_observe_only
    assert admin.put(REST, {"observe_only": "yes"}).status_code == 400

    answer = admin.put(REST, {"observe_only": True, "confirm": "orders"})
    assert answer.json() == {
        "observe_only": True,
        "organisation": False,
        "sentence": "Orders is observe only: Lifeguard watches it and never writes to its pgpools.",
    }
    assert {each.delivery_kind for each in pair.instances} == {"observe"}
    entry = AuditEntry.objects.latest("pk")
    assert (entry.action, entry.after["observe_only"]) == ("cluster.change", True)  # type: ignore[index]  # was written
    assert admin.put(REST, {"observe_only": False}).json()["observe_only"] is False
    assert {each.delivery_kind for each in pair.instances} == {"observe"}


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_admins_change_it(pair: Scene, role: str) -> None:
    assert script(role).put(REST, {"observe_only": True, "confirm": "orders"}).status_code == 403
    assert script("admin", scope="read").put(REST, {"observe_only": True, "confirm": "orders"}).status_code == 403


@pytest.mark.parametrize("whose", ["cluster", "organisation"])
def test_every_door_refuses_a_change(pair: Scene, whose: str) -> None:
    done = pair.advance(pair.request())
    address, slug = (REST, "orders") if whose == "cluster" else ("/api/v1/observe-only/", "acme")
    assert script("admin").put(address, {"observe_only": True, "confirm": slug}).status_code == 200
    before, operator = pair.texts(), script("operator")

    for refused in (
        operator.put("/api/v1/clusters/orders/weights/", {"weights": NEW_WEIGHTS}),
        operator.post(f"/api/v1/rollouts/{done.pk}/rollback/"),
    ):
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:lifeguard:observe-only")
        assert "observe only" in refused.json()["detail"]
    assert Rollout.objects.count() == 1
    assert pair.texts() == before


def test_the_pages_say_why_nothing_can_be_changed(pair: Scene) -> None:
    admin = browser("admin")

    wrong = admin.post("/o/acme/clusters/orders/settings/observe/", {"observe-confirm": "no"})
    assert (wrong.status_code, "This is not orders: nothing was changed." in wrong.content.decode()) == (422, True)
    assert admin.post("/o/acme/clusters/orders/settings/observe/", {"observe-confirm": "orders"}).status_code == 303
    assert "Orders is observe only" in admin.get("/o/acme/clusters/orders/weights/").content.decode()
    settings_page = admin.get("/o/acme/clusters/orders/settings/").content.decode()
    assert "Make changes possible again" in settings_page
    assert "How its pgpool.conf is delivered" not in settings_page
    assert admin.post("/o/acme/clusters/orders/settings/observe/", {"do": "change"}).status_code == 303

    assert admin.post("/o/acme/writes/observe/", {"observe-confirm": "no"}).status_code == 422
    assert admin.post("/o/acme/writes/observe/", {"observe-confirm": "acme"}).status_code == 303
    assert "How its pgpool.conf is delivered" not in admin.get("/o/acme/clusters/register/").content.decode()
    assert admin.post("/o/acme/writes/observe/", {"do": "change"}).status_code == 303


def test_pages_of_what_is_observed_offer_nothing_that_cannot_be_done(pair: Scene) -> None:
    assert script("admin").put(REST, {"observe_only": True, "confirm": "orders"}).status_code == 200
    operator = browser("operator")

    draft = operator.get("/o/acme/clusters/orders/draft/").content.decode()
    assert "nothing can be drafted here" in draft
    assert "Add to the draft" not in draft
    assert "every 30 s" not in operator.get("/o/acme/clusters/orders/drift/").content.decode()


def a_rollout(pair: Scene) -> str:
    return f"Rollout {pair.request().pk} in orders"


def a_restart(pair: Scene) -> str:
    return f"Restart {RollingRestart.objects.create(cluster=pair.cluster).pk} of pgpools in orders"


def a_drain(pair: Scene) -> str:
    operation = BackendOperation(cluster=pair.cluster, node_id=1, backend_name="pg2", kind="drain", state="waiting")
    operation.save()
    return "The drain of pg2 in orders"


@pytest.mark.parametrize("begin", [a_rollout, a_restart, a_drain])
def test_what_is_under_way_stands_against_it(pair: Scene, begin: Callable[[Scene], str]) -> None:
    what = begin(pair)
    admin = script("admin")

    for address, slug in ((REST, "orders"), ("/api/v1/observe-only/", "acme")):
        refused = admin.put(address, {"observe_only": True, "confirm": slug})
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:lifeguard:registry-conflict")
        assert refused.json()["detail"] == f"{what} is under way: wait for its end, or cancel it."
    cluster = Cluster.objects.select_related("organisation").get()
    assert (cluster.is_observe_only, cluster.organisation.is_observe_only) == (False, False)


@pytest.mark.parametrize("ended", ["done", "failed", "cancelled"])
def test_what_has_ended_does_not(pair: Scene, ended: str) -> None:
    a_restart(pair)
    a_drain(pair)
    RollingRestart.objects.update(state=ended)
    BackendOperation.objects.update(state=ended)

    assert script("admin").put(REST, {"observe_only": True, "confirm": "orders"}).status_code == 200


@pytest.mark.parametrize("whose", ["cluster", "organisation"])
def test_no_delivery_is_taken_when_it_is_registered(
    tmp_path: Path, settings: Any, caller: Callable[..., Any], whose: str
) -> None:
    admin = caller("admin")
    admin.organisation.is_observe_only = whose == "organisation"
    admin.organisation.save()
    with pgpools_running(tmp_path, settings, count=1) as found:
        wanted = found.wanted(is_observe_only=whose == "cluster")
        with pytest.raises(RegistrationRefused, match=r"pgpools.0.delivery.kind: .* is observe only"):
            register(caller=admin, wanted=wanted, now=timezone.now())
        plain = tuple(replace(each, delivery=DeliveryWanted("observe")) for each in wanted.pgpools)
        cluster = register(caller=admin, wanted=replace(wanted, pgpools=plain), now=timezone.now())

        delivery = {"kind": "local", "path": str(found.pgpools[0].conf)}
        with pytest.raises(RegistrationRefused, match=r"delivery.kind: .* is observe only"):
            change_instance(
                caller=admin, instance=cluster.instances.get(), changes={"delivery": delivery}, now=timezone.now()
            )
    assert (cluster.is_observe_only, cluster.instances.get().delivery_kind) == (whose == "cluster", "observe")
