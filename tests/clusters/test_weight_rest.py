"""Weights and rollouts by REST: one request per permission and per outcome."""

import pytest

from apps.clusters.models import ConfigRevision, InstanceLatest, Rollout
from tests.clusters.callers_at_doors import script
from tests.clusters.rollout_scene import NEW_WEIGHTS, NOW, SECRET, Scene
from tests.clusters.seen_cluster import poll

pytestmark = pytest.mark.django_db

REST = "/api/v1/clusters/orders/weights/"
EITHER_PREVIEW = pytest.mark.parametrize(
    ("address", "wanted"),
    [("weights", {"weights": NEW_WEIGHTS}), ("parameters", {"parameters": {"delay_threshold": "5"}})],
)


def test_put_answers_202_with_the_rollout(pair: Scene) -> None:
    answer = script("operator").put(REST, {"weights": NEW_WEIGHTS, "note": "more for pg3"})

    rollout = Rollout.objects.get()
    assert answer.status_code == 202
    body = answer.json()
    assert (body["id"], body["state"], body["converged"], body["note"]) == (
        rollout.pk,
        "pending",
        False,
        "more for pg3",
    )
    assert [(step["instance"], step["state"]) for step in body["steps"]] == [
        ("pgpool-1", "pending"),
        ("pgpool-2", "pending"),
    ]
    assert SECRET not in answer.content.decode()


@pytest.mark.parametrize(("role", "scope"), [("viewer", "write"), ("operator", "read")])
def test_who_may_not_write_is_refused(pair: Scene, role: str, scope: str) -> None:
    answer = script(role, scope=scope).put(REST, {"weights": NEW_WEIGHTS})

    assert (answer.status_code, answer.headers["Content-Type"]) == (403, "application/problem+json")
    assert not Rollout.objects.exists()


def test_a_cluster_of_another_organisation_is_404_by_rest(pair: Scene) -> None:
    rollout = pair.request()
    stranger = script("admin", organisation="rival")

    assert stranger.put(REST, {"weights": NEW_WEIGHTS}).status_code == 404
    assert stranger.get(f"/api/v1/rollouts/{rollout.pk}/").status_code == 404
    assert stranger.post(f"/api/v1/rollouts/{rollout.pk}/rollback/").status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"weights": {"0": 0, "1": -1, "2": 1}}, "weights.1"),
        ({"weights": {"0": 0, "1": "1", "2": 1}}, "weights.1"),
        ({"weights": {"0": 0, "1": True, "2": 1}}, "weights.1"),
        ({"weights": {"0": 0, "1": 0, "2": 0}}, "weights"),
        ({"weights": {"0": 0, "1": 1}}, "weights.2"),
        ({"weights": {"0": 1e8, "1": 0, "2": 0.1}}, "weights.2"),
        (
            {"per_instance": {"pgpool-1": NEW_WEIGHTS, "pgpool-2": {"0": 1e8, "1": 0, "2": 0.1}}},
            "per_instance.pgpool-2.2",
        ),
        ({"weights": {"0": 0, "1": 1, "2": 1, "3": 1}}, "weights.3"),
        ({"weights": [0, 1, 1]}, "weights"),
        ({"per_instance": {"pgpool-9": NEW_WEIGHTS}}, "per_instance.pgpool-9"),
        ({"weights": NEW_WEIGHTS, "per_instance": {}}, "weights"),
        ({"weights": NEW_WEIGHTS, "base": "guess"}, "base"),
        ({"weights": NEW_WEIGHTS, "wieghts": 1}, "wieghts"),
        ({}, "weights"),
    ],
)
def test_bad_weights_are_refused_by_field(pair: Scene, body: dict[str, object], field: str) -> None:
    answer = script("operator").put(REST, body)

    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert not ConfigRevision.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"weights": {"0": 0, "1": 0, "2": 0}}, "weights"),
        ({"per_instance": {"pgpool-1": NEW_WEIGHTS, "pgpool-2": {"0": 0, "1": 0, "2": 0}}}, "per_instance.pgpool-2"),
    ],
)
def test_all_weights_0_are_refused_in_words(pair: Scene, body: dict[str, object], field: str) -> None:
    answer = script("operator").put(REST, body)

    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"field": field, "reason": "all are 0, but at least one backend needs more"}]


@EITHER_PREVIEW
def test_a_preview_names_who_did_not_answer(pair: Scene, address: str, wanted: dict[str, object]) -> None:
    operator, preview = script("operator"), f"/api/v1/clusters/orders/{address}/preview/"
    poll(pair.cluster)
    assert operator.post(preview, wanted, content_type="application/json").json()["unanswered"] == []

    InstanceLatest.objects.filter(instance__name="pgpool-2").update(state="unreachable", state_since=NOW, reason="")
    told = operator.post(preview, wanted, content_type="application/json")

    assert told.json()["unanswered"] == ["pgpool-2 does not answer since 2026-03-01 12:00 UTC."]
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(state="refused", reason="no entry in pool_hba.conf")
    refused = operator.post(preview, wanted, content_type="application/json")
    [sentence] = refused.json()["unanswered"]
    assert sentence == (
        "pgpool-2 lets Lifeguard open no session since 2026-03-01 12:00 UTC: no entry in pool_hba.conf. "
        "It is there, so it cannot owe the change: nothing is rolled out before that is mended."
    )


@EITHER_PREVIEW
def test_a_preview_refuses_the_plan_that_the_change_would(pair: Scene, address: str, wanted: dict[str, object]) -> None:
    operator, preview = script("operator"), f"/api/v1/clusters/orders/{address}/preview/"

    refused = operator.post(preview, {**wanted, "plan": {"hold_s": -1}}, content_type="application/json")
    taken = operator.post(preview, {**wanted, "plan": {"strategy": "all_at_once"}}, content_type="application/json")

    assert [each["field"] for each in refused.json()["errors"]] == ["plan.hold_s"]
    assert taken.status_code == 200
    assert address == "parameters" or "files change, all at once;" in taken.json()["summary"]


@pytest.mark.parametrize("figure", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_what_is_no_finite_number_is_refused(pair: Scene, figure: str) -> None:
    body = f'{{"weights": {{"0": 0, "1": 1, "2": {figure}}}}}'

    answer = script("operator").put(REST, body, content_type="application/json")

    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")
    assert not ConfigRevision.objects.exists()


@pytest.mark.parametrize("body", [[], ["weights"], "weights", 3])
def test_a_body_that_is_no_object_is_told_what_it_must_be(pair: Scene, body: object) -> None:
    answer = script("operator").put(REST, body)

    [error] = answer.json()["errors"]
    assert (answer.status_code, error["field"]) == (400, "body")
    assert error["reason"] == "must be a JSON object, {…}, with these fields: weights, per_instance, note, base, plan"


def test_a_file_edited_by_hand_is_a_conflict_that_lists_the_difference(pair: Scene) -> None:
    pair.edit_by_hand()

    answer = script("operator").put(REST, {"weights": NEW_WEIGHTS})

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:lifeguard:base-changed")
    assert answer.json()["differences"] == [
        {"instance": "pgpool-2", "name": "delay_threshold", "before": "1000", "after": "5"}
    ]


def test_a_second_request_is_a_conflict_that_names_the_first(pair: Scene) -> None:
    running = pair.request()

    answer = script("operator").put(REST, {"weights": NEW_WEIGHTS})

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:lifeguard:rollout-running")
    assert answer.json()["rollout"] == running.pk


def test_bad_weights_are_refused_by_field_while_a_rollout_is_running_too(pair: Scene) -> None:
    pair.request()

    answer = script("operator").put(REST, {"weights": NEW_WEIGHTS | {"2": -1}})

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "weights.2")


def test_rolling_back_what_was_verified_is_a_rollout_of_its_own(pair: Scene) -> None:
    done = pair.advance(pair.request())
    assert done.state == "verified"

    answer = script("operator").post(f"/api/v1/rollouts/{done.pk}/rollback/")

    assert answer.status_code == 202
    assert answer.json()["rollback_of"] == done.pk
    assert answer.json()["weights_after"]["pgpool-1"] == {"0": 0, "1": 1, "2": 1}


def test_what_has_ended_cannot_be_cancelled(pair: Scene) -> None:
    done = pair.advance(pair.request())

    answer = script("operator").post(f"/api/v1/rollouts/{done.pk}/cancel/")

    assert (answer.status_code, answer.json()["type"]) == (409, "urn:lifeguard:rollout-refused")


def test_the_lists_hold_no_secret(pair: Scene) -> None:
    pair.request()
    viewer = script("viewer", scope="read")

    for path in ("weights/", "revisions/", "rollouts/"):
        answer = viewer.get(f"/api/v1/clusters/orders/{path}")
        assert answer.status_code == 200
        assert SECRET not in answer.content.decode()
