"""What pgpools owe, on pages and by REST."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.clusters.control import rollout_actions
from apps.clusters.models import RevisionDebt, Rollout
from apps.clusters.queries.debts import debts_answer
from apps.fleet.queries import fleet
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import Scene, scene
from tests.clusters.seen_cluster import poll

pytestmark = pytest.mark.django_db

ORDERS = "/api/v1/clusters/orders/"
PAGES = "/o/acme/clusters/orders/"


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """pgpool-2 owes revision 2, is back, and somebody is to be asked."""
    monkeypatch.setattr(rollout_actions, "READ_BACK_PATIENCE_S", 0.05)
    with scene(tmp_path, settings, pgpools=2) as found:
        rollout = found.advance(found.request(plan={"absent": "owe", "on_return": "ask"}))
        step = rollout.steps.get(position=1)
        rollout.steps.filter(pk=step.pk).update(state="owed")
        RevisionDebt.objects.create(instance=found.instances[1], step=step, on_return="ask", owed_at=rollout.created_at)
        poll(found.cluster, seen_at=timezone.now())
        yield found


def test_rest_tells_who_owes_what(acme: Scene) -> None:
    viewer = script("viewer", scope="read")

    [debt] = viewer.get(f"{ORDERS}debts/").json()["open"]
    assert (debt["instance"], debt["revision"], debt["is_back"], debt["can_give"]) == ("pgpool-2", 2, True, True)
    assert viewer.get(ORDERS).json()["debts"] == [debt["sentence"]]
    step = viewer.get(f"/api/v1/rollouts/{debt['rollout']}/").json()["steps"][1]
    assert (step["state"], step["debt"]) == ("owed", debt)


def test_the_pages_show_who_owes_what(acme: Scene) -> None:
    operator, said = browser("operator"), "pgpool-2 is back and owes revision 2: give it, or let it go."
    rollout = Rollout.objects.get()

    overview = operator.get(PAGES).content.decode()
    assert said in overview
    assert "Give it to pgpool-2" in overview
    assert "owes a revision" in overview
    assert "Owes it" in operator.get(f"/o/acme/rollouts/{rollout.pk}/").content.decode()
    drift = operator.get(f"{PAGES}drift/").content.decode()
    assert said in drift
    assert "Give it to pgpool-2" in drift
    [row] = fleet(organisation=acme.cluster.organisation, now=timezone.now())["rows"]
    assert (row["word"], row["reason"][: len(said)]) == ("Owes a revision", said)
    assert "Let it go" not in browser("viewer").get(PAGES).content.decode()


@pytest.mark.parametrize("what", ["give", "forgive"])
def test_only_operators_decide(acme: Scene, what: str) -> None:
    pk = RevisionDebt.objects.get().pk

    assert script("viewer", scope="write").post(f"{ORDERS}debts/{pk}/{what}/").status_code == 403
    page = Client()
    page.force_login(User.objects.get(email="viewer@acme.example"))
    assert page.post(f"{PAGES}debts/{pk}/{what}/").status_code == 403
    assert script("operator", organisation="other").post(f"{ORDERS}debts/{pk}/{what}/").status_code == 404
    assert RevisionDebt.objects.get().state == "open"


def test_rest_gives_it_once(acme: Scene) -> None:
    operator, address = script("operator"), f"{ORDERS}debts/{RevisionDebt.objects.get().pk}/give/"

    given = operator.post(address)

    assert given.status_code == 202
    assert [step["instance"] for step in given.json()["steps"]] == ["pgpool-2"]
    assert operator.post(address).json()["type"].endswith("rollout-running")
    [debt] = operator.get(f"{ORDERS}debts/").json()["open"]
    assert debt["given_by"] == given.json()["id"]
    assert operator.post(address.replace("give", "forgive")).status_code == 409


def test_the_page_gives_it_and_goes_to_the_rollout(acme: Scene) -> None:
    answer = browser("operator").post(f"{PAGES}debts/{RevisionDebt.objects.get().pk}/give/")

    assert (answer.status_code, answer["Location"]) == (303, f"/o/acme/rollouts/{Rollout.objects.latest('pk').pk}/")


def test_a_debt_that_was_let_go_cannot_be_given(acme: Scene) -> None:
    operator, pk = script("operator"), RevisionDebt.objects.get().pk

    answer = operator.post(f"{ORDERS}debts/{pk}/forgive/").json()
    assert (answer["open"], answer["closed"][0]["closed_by"]) == ([], "Operator")
    refused = operator.post(f"{ORDERS}debts/{pk}/give/")
    assert refused.status_code == 409
    assert "let go" in refused.json()["detail"]


def test_the_form_asks_what_becomes_of_a_pgpool_that_is_away(acme: Scene) -> None:
    operator = browser("operator")
    given = {"weight_0": "0", "weight_1": "50", "weight_2": "50", "plan_strategy": "all_at_once", "plan_absent": "ask"}

    assert "A pgpool that cannot be reached" in operator.get(f"{PAGES}weights/").content.decode()
    assert operator.post(f"{PAGES}weights/", given).status_code == 303
    plan = Rollout.objects.latest("pk").plan
    assert (plan["absent"], plan["on_return"]) == ("owe", "ask")


def test_a_wrong_choice_is_named(acme: Scene) -> None:
    operator = script("operator")
    plans = {"plan.absent": {"absent": "skip"}, "plan.on_return": {"on_return": "ask"}}

    for field, plan in plans.items():
        answer = operator.put(f"{ORDERS}weights/", {"weights": {"0": 0, "1": 1, "2": 1}, "plan": plan})
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == field


def test_closed_debts_are_history(acme: Scene) -> None:
    RevisionDebt.objects.update(state="superseded", closed_at=timezone.now())

    answer = debts_answer(cluster=acme.cluster)
    assert (answer["open"], answer["closed"][0]["sentence"]) == (
        [],
        "pgpool-2 owed revision 2; a newer one stands in its place.",
    )
