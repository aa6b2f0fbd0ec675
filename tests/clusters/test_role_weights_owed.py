"""Weights by role where a pgpool is away: nothing without it, or it owes them, as the cluster says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from apps.clusters.control import presence, role_weights, rollout_actions
from apps.clusters.models import InstanceLatest, PgpoolInstance, RevisionDebt, RoleProposal, RoleWeights, Rollout
from tests.clusters.callers_at_doors import browser, member, script
from tests.clusters.rollout_scene import Scene, scene
from tests.clusters.seen_cluster import poll
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

REST = "/api/v1/clusters/orders/role-weights/"
PAGE = "/o/acme/clusters/orders/role-weights/"
WISH = {"primary_share": 0, "applies_itself": True, "pause_s": 0}


@pytest.fixture
def orders(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """pg1 is the primary and takes reads, which is not wanted; pgpool-2 does not answer."""
    monkeypatch.setattr(rollout_actions, "READ_BACK_PATIENCE_S", 0.05)
    monkeypatch.setattr(presence, "DEADLINE_S", 1.0)
    with scene(tmp_path, settings, pgpools=2) as found:
        poll(found.cluster, seen_at=timezone.now())
        PgpoolInstance.objects.filter(pk=found.instances[1].pk).update(port=1, pcp_port=1)
        InstanceLatest.objects.filter(instance=found.instances[1]).update(state="unreachable")
        yield found


def want(orders: Scene, **more: Any) -> None:
    now = timezone.now()
    role_weights.keep(caller=member("admin"), cluster=orders.cluster, now=now, **{**WISH, **more})


def promoted(orders: Scene) -> None:
    """What is proposed by that, with pg1 as the new primary."""
    RoleProposal.objects.create(cluster=orders.cluster, at=timezone.now(), primary_node_id=0, previous_node_id=1)


@pytest.mark.parametrize("state", ["unreachable", "hanging"])
def test_unless_told_nothing_is_begun_before_every_pgpool_answers(orders: Scene, state: str) -> None:
    InstanceLatest.objects.filter(instance=orders.instances[1]).update(state=state)
    want(orders)
    promoted(orders)

    role_weights.apply_by_itself(now=timezone.now())

    proposal = RoleProposal.objects.get()
    assert (proposal.state, proposal.needs_person) == ("open", False)
    assert proposal.reason.startswith("pgpool-2 does not answer, and nothing is rolled out without every pgpool")
    assert not Rollout.objects.exists()
    InstanceLatest.objects.update(state="answering")
    role_weights.apply_by_itself(now=timezone.now())
    assert Rollout.objects.get().plan["absent"] == "refuse"


@pytest.mark.parametrize("absent", ["refuse", "owe"])
def test_one_that_turns_lifeguard_away_is_waited_for_since_it_can_owe_nothing(orders: Scene, absent: str) -> None:
    InstanceLatest.objects.filter(instance=orders.instances[1]).update(state="refused")
    want(orders, absent=absent)
    promoted(orders)

    role_weights.apply_by_itself(now=timezone.now())

    proposal = RoleProposal.objects.get()
    assert (proposal.state, proposal.needs_person) == ("open", False)
    assert proposal.reason == (
        "pgpool-2 lets Lifeguard open no session, and nothing is rolled out without every pgpool: it goes on when all "
        "answer."
    )
    assert not Rollout.objects.exists()


@pytest.mark.parametrize(("said", "kept"), [("", "give"), ("give", "give"), ("ask", "ask")])
def test_where_it_is_said_so_the_one_that_is_away_owes_them(orders: Scene, said: str, kept: str) -> None:
    want(orders, absent="owe", on_return=said)
    promoted(orders)

    role_weights.apply_by_itself(now=timezone.now())

    rollout = orders.advance(Rollout.objects.get())
    assert (rollout.state, orders.states(rollout)) == ("verified", ["verified", "owed"])
    assert RevisionDebt.objects.get().on_return == kept
    assert RoleProposal.objects.get().state == "applied"


def test_the_click_goes_by_it_too_unless_a_plan_says_otherwise(orders: Scene) -> None:
    want(orders, absent="owe", on_return="ask")
    operator = script("operator")

    def kept(**body: Any) -> tuple[str, str, str | None]:
        plan = operator.post(f"{REST}apply/", body, format="json").json()["plan"]
        Rollout.objects.update(state="cancelled")
        return plan["strategy"], plan["absent"], plan["on_return"]

    assert kept() == ("one_by_one", "owe", "ask")
    assert kept(plan={"strategy": "all_at_once"}) == ("all_at_once", "owe", "ask")
    assert kept(plan={"on_return": "give"}) == ("one_by_one", "owe", "give")
    assert kept(plan={"absent": "refuse"}) == ("one_by_one", "refuse", None)
    refused = operator.post(f"{REST}apply/", {"plan": "all_at_once"}, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "plan")


def test_rest_keeps_and_tells_it(orders: Scene) -> None:
    operator = script("operator")
    wish = {"primary_share": 0.2, "absent": "owe", "on_return": "ask"}

    kept = operator.put(REST, wish, format="json").json()
    assert (kept["absent"], kept["on_return"]) == ("owe", "ask")
    kept = operator.put(REST, {"primary_share": 0.2}, format="json").json()
    assert (kept["absent"], kept["on_return"]) == ("refuse", None)
    for field, refused in {"on_return": {"on_return": "ask"}, "absent": {"absent": "skip"}}.items():
        answer = operator.put(REST, {"primary_share": 0.2, **refused}, format="json")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)
    with pytest.raises(IntegrityError):
        RoleWeights.objects.update(on_return="ask")


def test_the_page_keeps_and_shows_it(orders: Scene) -> None:
    operator = browser("operator")

    assert operator.post(PAGE, {"primary_percent": "20", "absent": "ask"}).status_code == 303
    kept = RoleWeights.objects.get()
    assert (kept.absent, kept.on_return) == ("owe", "ask")
    assert '<option value="ask" selected>' in operator.get(PAGE).content.decode()


def test_the_page_rolls_out_by_a_plan(orders: Scene) -> None:
    want(orders, primary_share=0.2, absent="owe", on_return="ask")
    operator = browser("operator")

    page = operator.get(PAGE)
    assert "How to roll out" in text_of(page)
    refused = operator.post(f"{PAGE}apply/", {"plan_strategy": "one_by_one", "plan_hold_s": "soon"})
    assert (refused.status_code, Rollout.objects.count()) == (422, 0)
    assert operator.post(f"{PAGE}apply/", {"plan_strategy": "all_at_once", "plan_absent": "owe"}).status_code == 303
    plan = Rollout.objects.get().plan
    assert (plan["strategy"], plan["absent"], plan["on_return"]) == ("all_at_once", "owe", None)
