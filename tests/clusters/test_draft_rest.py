"""A draft by REST: gathered change by change, never another one than was looked at, rolled out once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import AuditEntry
from apps.clusters.models import ConfigDraft, Rollout
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import NEW_WEIGHTS, SECRET, Scene, conf_text, scene

pytestmark = pytest.mark.django_db

REST = "/api/v1/clusters/orders/draft/"


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=2) as found:
        found.cluster.instances.update(version="4.3.5")
        yield found


@pytest.fixture
def asker(acme: Scene) -> APIClient:
    return script("operator")


def changed(asker: APIClient, body: Any, status: int = 200, **headers: str) -> Any:
    answer = asker.patch(REST, body, format="json", headers=headers)
    assert answer.status_code == status, answer.content
    return answer.json()


def test_changes_are_gathered_previewed_and_rolled_out_by_a_plan(acme: Scene, asker: APIClient) -> None:
    assert asker.get(REST).json()["version"] == "0"
    changed(asker, {"parameters": {"delay_threshold": 5000, "sr_check_password": "new-secret"}})
    changed(asker, {"per_instance": {"pgpool-2": {"max_pool": "8"}}, "weights": NEW_WEIGHTS})

    answer = asker.get(REST)
    body = answer.json()
    assert answer["ETag"] == f'"{body["version"]}"'
    assert (body["count"], body["weights"]) == (4, {"0": 0, "1": 1, "2": 3})
    lines = {(one["parameter"], one["instance"]): one for one in body["changes"]}
    assert lines["delay_threshold", None]["value"] == "5000"
    assert lines["sr_check_password", None]["value"] == "*****"
    assert [each["pgpool"] for each in lines["max_pool", "pgpool-2"]["now"]] == ["pgpool-2"]
    assert all(one["changed_by"] == "Operator (token script)" for one in body["changes"])
    assert not {"new-secret", SECRET} & set(answer.content.decode().split('"'))

    preview = asker.post(f"{REST}preview/", {}, format="json").json()
    assert preview["ok"]
    assert [each["changed_lines"] for each in preview["instances"]] == [3, 4]
    assert acme.texts() == [conf_text()] * 2

    plan = {"strategy": "canary", "canary": "pgpool-2", "hold_s": 60, "guards": {"replay_lag_s": 5}}
    rollout = asker.post(f"{REST}rollout/", {"note": "together", "plan": plan}, format="json")
    assert rollout.status_code == 202
    assert [step["instance"] for step in rollout.json()["steps"]] == ["pgpool-2", "pgpool-1"]
    assert rollout.json()["plan"]["guards"]["replay_lag_s"] == 5
    assert AuditEntry.objects.filter(action="parameters.requested").count() == 1
    assert asker.get(REST).json()["count"] == 0
    again = asker.post(f"{REST}rollout/", {"note": "together"}, format="json")
    assert (again.status_code, again.json()["type"]) == (409, "urn:lifeguard:draft-empty")
    assert asker.post(f"{REST}preview/", {}, format="json").status_code == 409
    assert Rollout.objects.count() == 1


def test_the_same_change_again_changes_nothing(asker: APIClient) -> None:
    body = {"parameters": {"max_pool": "8"}, "weights": NEW_WEIGHTS, "drop": [{"parameter": "delay_threshold"}]}

    assert changed(asker, body) == changed(asker, body)

    body = {"drop": [{"parameter": "max_pool", "instance": None}], "weights": None}
    assert changed(asker, body)["count"] == 0
    assert changed(asker, body)["version"] == "0"
    assert [asker.delete(REST).status_code for _ in range(2)] == [204, 204]


def test_nobody_changes_another_draft_than_they_looked_at(acme: Scene, asker: APIClient) -> None:
    seen = changed(asker, {"parameters": {"max_pool": "8"}}, **{"If-Match": '"0"'})["version"]
    now = changed(asker, {"parameters": {"max_pool": "9"}}, **{"If-Match": f'W/"{seen}", "x"'})["version"]

    told = changed(asker, {"parameters": {"max_pool": "7"}}, 412, **{"If-Match": f'"{seen}"'})
    assert (told["type"], told["version"]) == ("urn:lifeguard:draft-changed", now)
    for answer in (
        asker.delete(REST, headers={"If-Match": f'"{seen}"'}),
        asker.post(f"{REST}rollout/", {}, format="json", headers={"If-Match": f'"{seen}"'}),
    ):
        assert answer.status_code == 412
    assert asker.get(REST).json()["changes"][0]["value"] == "9"
    assert not Rollout.objects.exists()

    # Begun anew, a draft never has a version that one before it had.
    asker.delete(REST, headers={"If-Match": f'"{now}"'})
    assert changed(asker, {"parameters": {"max_pool": "9"}})["version"] not in {seen, now}


def test_what_came_in_since_is_told_until_it_was_looked_at(acme: Scene, asker: APIClient) -> None:
    changed(asker, {"parameters": {"max_pool": "8"}, "weights": {"0": 1, "1": 1, "2": 1}})
    rollout = acme.advance(acme.request(note="more for pg3"))

    body = asker.get(REST).json()

    # The files as they were found are a revision of their own, before the one that was asked for.
    assert [one["state"] for one in body["newer"]] == ["verified", None]
    assert body["newer"][0] | {"created_at": ""} == {
        "revision": rollout.revision.number, "author": "Ann", "note": "more for pg3", "created_at": "",
        "state": "verified", "changed": ["weights"], "also_drafted": ["weights"],
    }  # fmt: skip
    assert changed(asker, {"base_revision": 1}, 400)["errors"][0]["field"] == "base_revision"
    settled = changed(asker, {"base_revision": rollout.revision.number, "weights": None})
    assert (settled["newer"], settled["count"], settled["base_revision"]) == ([], 1, rollout.revision.number)


def test_the_page_tells_what_came_in_and_rolls_out_only_what_it_showed(acme: Scene, asker: APIClient) -> None:
    person = browser("admin")
    draft = "/o/acme/clusters/orders/draft/"
    person.post(f"{draft}weights/", {"weight_0": "20", "weight_1": "40", "weight_2": "40"})
    acme.advance(acme.request())

    page = person.get(draft).content.decode()
    assert "Your draft changes weights as well and would undo that." in page
    assert 'id="parameter-weights"' in page
    person.post(f"{draft}looked-at/", {"revision": "1"})
    assert "The configuration changed since" in person.get(draft).content.decode()
    person.post(f"{draft}looked-at/", {"revision": "2"})
    page = person.get(draft).content.decode()
    assert "The configuration changed since" not in page

    seen = ConfigDraft.objects.get()
    person.post(f"{draft}parameter/", {"name": "max_pool", "value": "9"})
    plan = {"plan_strategy": "one_by_one", "plan_hold_s": "60", "plan_replay_lag_s": "soon"}
    refused = person.post(f"{draft}roll-out/", {"version": f"{seen.pk}.{seen.version}"})
    assert (refused.status_code, "in another window" in refused.content.decode()) == (409, True)
    refused = person.post(f"{draft}roll-out/", plan)
    assert (refused.status_code, "or empty for off" in refused.content.decode()) == (422, True)
    assert Rollout.objects.count() == 1
    plan |= {"plan_replay_lag_s": "7", "version": f"{seen.pk}.{seen.version + 1}"}
    assert person.post(f"{draft}roll-out/", plan).status_code == 303
    assert (
        Rollout.objects.latest("pk").plan["guards"] | {"replay_lag_s": 7.0, "shares": False}
        == (Rollout.objects.latest("pk").plan["guards"])
    )


OWN = {"pgpool-1": {"0": 0, "1": 9, "2": 1}, "pgpool-2": {"0": 0, "1": 1, "2": 9}}


def test_weights_of_each_pgpool_go_out_with_parameters_as_one_revision(acme: Scene, asker: APIClient) -> None:
    changed(asker, {"parameters": {"max_pool": "8"}, "weights_per_instance": OWN})

    body = asker.get(REST).json()
    assert (body["count"], body["weights"]) == (3, None)
    assert {one["instance"]: one["weights"] for one in body["own_weights"]} == OWN
    assert body["own_weights"][0]["text"] == "pg1 0 %, pg2 90 %, pg3 10 %"
    assert body["own_weights"][0]["changed_by"] == "Operator (token script)"
    assert [one["parameter"] for one in body["changes"]] == ["max_pool"]
    assert asker.post(f"{REST}preview/", {}, format="json").json()["ok"]

    rollout = asker.post(f"{REST}rollout/", {}, format="json").json()
    acme.advance(Rollout.objects.get())

    revision = Rollout.objects.get(pk=rollout["id"]).revision
    assert (revision.weights, revision.parameter_names) == (OWN, ["max_pool"])
    assert acme.weights() == [{0: 0, 1: 9, 2: 1}, {0: 0, 1: 1, 2: 9}]
    assert Rollout.objects.get().state == "verified"


def test_weights_of_one_pgpool_leave_the_others_alone_or_go_before_those_for_all(acme: Scene, asker: APIClient) -> None:
    changed(asker, {"weights_per_instance": {"pgpool-2": OWN["pgpool-2"]}})
    preview = asker.post(f"{REST}preview/", {}, format="json").json()
    assert [each["changed_lines"] for each in preview["instances"]] == [0, 1]

    changed(asker, {"weights": NEW_WEIGHTS})
    asker.post(f"{REST}rollout/", {}, format="json")

    assert Rollout.objects.get().revision.weights == {"pgpool-1": NEW_WEIGHTS, "pgpool-2": OWN["pgpool-2"]}


def test_weights_of_single_pgpools_are_let_go_one_by_one_or_all(asker: APIClient) -> None:
    seen = changed(asker, {"weights": NEW_WEIGHTS, "weights_per_instance": OWN})
    assert changed(asker, {"weights_per_instance": OWN})["version"] == seen["version"]

    one = changed(asker, {"weights_per_instance": {"pgpool-1": None}})
    assert [each["instance"] for each in one["own_weights"]] == ["pgpool-2"]
    dropped = changed(asker, {"drop": [{"parameter": "weights", "instance": "pgpool-2"}]})
    assert (dropped["own_weights"], dropped["weights"]) == ([], NEW_WEIGHTS)
    changed(asker, {"weights_per_instance": OWN})
    assert changed(asker, {"weights_per_instance": None})["own_weights"] == []
    assert changed(asker, {"weights": None})["count"] == 0


def test_weights_beside_parameters_may_differ_per_pgpool_without_a_draft(acme: Scene, asker: APIClient) -> None:
    address = "/api/v1/clusters/orders/parameters/"
    body = {"parameters": {"max_pool": "8"}, "weights_per_instance": {"pgpool-1": OWN["pgpool-1"]}}

    assert asker.post(f"{address}preview/", body, format="json").json()["ok"]
    assert asker.put(address, body, format="json").status_code == 202

    old = {"0": 0, "1": 1, "2": 1}
    assert Rollout.objects.get().revision.weights == {"pgpool-1": OWN["pgpool-1"], "pgpool-2": old}
    empty = asker.put(address, {"weights_per_instance": {}}, format="json")
    assert (empty.status_code, empty.json()["errors"][0]["field"]) == (400, "parameters.parameters")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([1], "body"),
        ({"parameter": {}}, "parameter"),
        ({"parameters": [1]}, "parameters.parameters"),
        ({"parameters": {"a": [1]}}, "parameters.a"),
        ({"parameters": {"": "1"}}, "parameters."),
        ({"parameters": {"x" * 101: "1"}}, "parameters.'" + "x" * 60 + "'…"),
        ({"parameters": {"a": "x" * 200_001}}, "parameters.parameters"),
        ({"parameters": {"backend_weight1": "2"}}, "parameters.backend_weight1"),
        ({"per_instance": {"pgpool-9": {}}}, "parameters.pgpool-9"),
        ({"weights": {"0": 1}}, "weights.1"),
        ({"weights": {"0": 0, "1": 0, "2": 0}}, "weights"),
        ({"weights_per_instance": [1]}, "weights_per_instance"),
        ({"weights_per_instance": {"pgpool-9": NEW_WEIGHTS}}, "weights_per_instance.pgpool-9"),
        ({"weights_per_instance": {"pgpool-1": {"0": 1}}}, "weights_per_instance.pgpool-1.1"),
        ({"weights_per_instance": {"pgpool-1": {"0": 0, "1": 0, "2": 0}}}, "weights_per_instance.pgpool-1"),
        ({"drop": [{"instance": "pgpool-1"}]}, "drop.0.parameter"),
        ({"base_revision": -1}, "base_revision"),
        ({"base_revision": 7}, "base_revision"),
    ],
)
def test_odd_changes_are_refused_by_their_field(asker: APIClient, body: Any, field: str) -> None:
    assert changed(asker, body, 400)["errors"][0]["field"] == field
    assert not ConfigDraft.objects.exists()


def test_drafts_are_for_operators_and_everybody_has_their_own(acme: Scene, asker: APIClient) -> None:
    changed(asker, {"parameters": {"max_pool": "8"}})

    assert script("admin").get(REST).json()["count"] == 0
    viewer, stranger = script("viewer"), script("operator", organisation="rival")
    for door, suffix in (("get", ""), ("patch", ""), ("delete", ""), ("post", "preview/"), ("post", "rollout/")):
        assert getattr(viewer, door)(f"{REST}{suffix}").status_code == 403
        assert getattr(stranger, door)(f"{REST}{suffix}").status_code == 404
    assert asker.get(REST).json()["count"] == 1
