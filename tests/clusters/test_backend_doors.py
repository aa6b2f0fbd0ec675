"""One backend by page and by REST: what is seen, what is refused and why, and who may do what."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.clusters.control import writes_switch
from apps.clusters.models import BackendOperation
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import NOW, Scene, scene
from tests.clusters.seen_cluster import poll
from tests.clusters.test_backend_operations import advance, drained, request
from tests.fake_show import FakeClient

pytestmark = pytest.mark.django_db

PAGE = "/o/acme/clusters/orders/backends/2/"
REST = "/api/v1/clusters/orders/backends/2/"


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=2) as found:
        poll(found.cluster, seen_at=NOW)
        yield found


def test_a_drain_by_rest_is_answered_with_its_operation(acme: Scene) -> None:
    answer = script("operator").post(f"{REST}drain/", {"reason": "new disk", "wait_limit_s": 60})

    body = answer.json()
    assert (answer.status_code, body["state"], body["wait_limit_s"]) == (202, "weighing", 60)
    assert body["sentence"] == f"Draining pg3: rollout #{body['rollout']} takes its weight to 0."
    assert [step["state"] for step in body["steps"]] == ["pending", "pending"]
    seen = script("viewer").get(REST).json()
    assert (seen["operation"]["id"], seen["operation"]["can_cancel"]) == (body["id"], False)
    assert seen["busy"] == "Drain of pg3 is under way in this cluster."


def test_a_dry_run_says_what_it_would_do(acme: Scene) -> None:
    acme.pgpools[0].clients = [FakeClient(1)]

    answer = script("operator").post(f"{REST}detach/", {"dry_run": True})

    assert (answer.status_code, answer.json()["refusals"]) == (200, [])
    assert answer.json()["risks"][0].startswith("1 session at pgpool-1 and pgpool-2 may read from pg3 now")
    assert not BackendOperation.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"wait_limit_s": -1}, "wait_limit_s"),
        ({"wait_limit_s": "9" * 5000}, "wait_limit_s"),
        ({"wait_limit_s": 1.5}, "wait_limit_s"),
        ({"reason": "\0"}, "reason"),
        ({"reason": ["x"]}, "reason"),
        ({"dry_run": "perhaps"}, "dry_run"),
        ({"force": True}, "force"),
    ],
)
def test_odd_bodies_are_refused_by_field(acme: Scene, body: dict[str, Any], field: str) -> None:
    answer = script("operator").post(f"{REST}drain/", body)

    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert not BackendOperation.objects.exists()


def test_a_refusal_by_rest_names_every_reason(acme: Scene) -> None:
    answer = script("operator").post("/api/v1/clusters/orders/backends/0/detach/", {})

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:lifeguard:operation-refused")
    assert answer.json()["refusals"][0].startswith("pg1 is the primary")


def test_a_viewer_changes_nothing(acme: Scene) -> None:
    for_pages = browser("viewer")

    for address in (f"{PAGE}detach/", "/o/acme/clusters/orders/operations/1/go-on/"):
        assert for_pages.post(address).status_code == 403
    reader = script("operator", scope="read")
    for address in (f"{REST}detach/", "/api/v1/clusters/orders/operations/1/cancel/"):
        assert reader.post(address, {}).status_code == 403
    assert not BackendOperation.objects.exists()


def test_an_operation_of_another_organisation_is_not_there(acme: Scene) -> None:
    operation = request(acme, "detach")
    rival = script("admin", organisation="rival")

    assert rival.get(REST).status_code == 404
    assert rival.post(f"/api/v1/clusters/orders/operations/{operation.pk}/cancel/").status_code == 404
    assert browser("operator", "rival").get("/o/rival/clusters/orders/backends/2/").status_code == 404


def test_the_page_shows_how_every_pgpool_sees_it_and_offers_what_can_be_done(acme: Scene) -> None:
    poll(acme.cluster, seen_at=timezone.now())

    for_operator = browser("operator").get(PAGE).content.decode()
    for_viewer = browser("viewer").get(PAGE).content.decode()

    assert "pg3 is up at every pgpool." in for_operator
    assert ">Drain</a>" in for_operator
    assert ">Attach</a>" not in for_operator
    assert ">Drain</a>" not in for_viewer
    assert "Nothing yet." in for_viewer


def test_a_backend_that_no_pgpool_tells_of_now_is_not_said_to_be_up(acme: Scene) -> None:
    page = browser("viewer").get(PAGE).content.decode()

    assert "No pgpool tells of pg3 now." in page
    assert "pg3 is up" not in page
    assert 'class="st ok">up' not in page
    assert script("operator").get(REST).json()["is_seen"] is False


def test_a_cluster_that_is_only_observed_offers_no_operation(acme: Scene) -> None:
    acme.cluster.instances.filter(name="pgpool-1").update(
        delivery_kind="observe", delivery_path="", delivery_target=None
    )

    page = browser("operator").get(PAGE).content.decode()

    assert "attaches and detaches nothing" in page
    assert ">Drain</a>" not in page


def test_the_risk_is_said_before_and_nothing_is_done_by_looking(acme: Scene) -> None:
    shown = browser("operator").get(f"{PAGE}detach/").content.decode()

    assert "Detach pg3 at once?" in shown
    assert "pgpool closes those that do, at once" in shown
    assert not BackendOperation.objects.exists()


def test_a_page_that_refuses_says_why_and_has_no_button(acme: Scene) -> None:
    address = "/o/acme/clusters/orders/backends/0/detach/"
    client = browser("operator")

    assert "pg1 is the primary" in client.get(address).content.decode()
    posted = client.post(address, {"reason": ""})
    assert posted.status_code == 409
    assert "pg1 is the primary" in posted.content.decode()
    assert 'type="submit">Detach' not in posted.content.decode()


def take_weight_from_pg2(acme: Scene) -> str:
    for conf in acme.confs:
        conf.write_text(conf.read_text().replace("backend_weight1 = 1", "backend_weight1 = 0"))
    return "No other backend has a weight at pgpool-1"


def edit_by_hand(acme: Scene) -> str:
    acme.edit_by_hand()
    return "The pgpool.conf of pgpool-2 was changed outside Lifeguard."


def begin_a_rollout(acme: Scene) -> str:
    return f"Rollout {acme.request().pk} of this cluster is still running."


def hide_a_file(acme: Scene) -> str:
    acme.confs[1].unlink()
    return "pgpool-2: "


@pytest.mark.parametrize("stands_in_the_way", [take_weight_from_pg2, edit_by_hand, begin_a_rollout, hide_a_file])
def test_a_drain_that_would_be_refused_is_not_offered(acme: Scene, stands_in_the_way: Callable[[Scene], str]) -> None:
    said = stands_in_the_way(acme)
    operator = browser("operator")

    page = operator.get(f"{PAGE}drain/").content.decode()
    dry_run = script("admin").post(f"{REST}drain/", {"dry_run": True})

    assert said in page
    assert "pg3 cannot be drained now." in page
    assert 'type="submit">Drain' not in page
    [refusal] = dry_run.json()["refusals"]
    assert (dry_run.status_code, refusal.startswith(said)) == (200, True)
    assert operator.post(f"{PAGE}drain/", {"wait_minutes": "30"}).status_code == 409
    assert not BackendOperation.objects.exists()


def test_an_operation_is_not_offered_while_another_one_is_under_way(acme: Scene) -> None:
    request(acme, "detach")

    page = browser("operator").get("/o/acme/clusters/orders/backends/1/detach/").content.decode()

    assert "Detach of pg3 is under way" in page
    assert 'type="submit">Detach' not in page


def test_a_field_that_is_wrong_is_marked(acme: Scene) -> None:
    answer = browser("operator").post(f"{PAGE}drain/", {"reason": "x", "wait_minutes": "1441"})

    assert answer.status_code == 422
    assert "less than or equal to 1440" in answer.content.decode()


def test_a_drain_that_waits_is_shown_with_its_sessions_and_can_be_ended(acme: Scene) -> None:
    acme.pgpools[0].clients = [FakeClient(1), FakeClient(2)]
    operation = advance(drained(acme))
    client = browser("operator")

    shown = client.get(f"{PAGE}now/").content.decode()
    assert "Draining pg3: 2 sessions from before may still use pg3." in shown
    assert "Detach anyway" in shown
    ended = client.post(f"/o/acme/clusters/orders/operations/{operation.pk}/cancel/")
    assert (ended.status_code, ended["Location"]) == (303, PAGE)
    assert "gives the weights back." in client.get(PAGE).content.decode()


def test_nothing_is_offered_while_writes_are_stopped(acme: Scene) -> None:
    operator = browser("operator")
    assert "Detach at once" in operator.get(PAGE).content.decode()
    writes_switch.stop(caller=acme.caller, reason="storage", now=NOW)

    page = operator.get(PAGE).content.decode()

    assert "Writes are stopped, so nothing is attached or detached." in page
    assert ("Detach at once" in page, f"{PAGE}drain/" in page) == (False, False)
