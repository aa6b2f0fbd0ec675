"""Adopting and reverting by a plan, and what becomes of an edit that cannot be adopted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import drift_changes, revisions, rollouts, weight_change
from apps.clusters.models import ClusterEvent, InstanceLatest, Rollout
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.drift_plan_scene import (
    ASK,
    OWE,
    PAGE,
    REST,
    WAS,
    adopted,
    asked,
    both_edited,
    carried_out,
    edited,
    host_gone,
    reverted,
)
from tests.clusters.drifting import Drifting
from tests.clusters.rollout_scene import NOW, Clock, conf_text
from tests.clusters.seen_cluster import poll
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    with both_edited(tmp_path, settings, monkeypatch) as found:
        yield found


@pytest.mark.parametrize("mode", ["forget", pytest.param("hang", marks=pytest.mark.waits)])
def test_a_pgpool_that_does_not_follow_keeps_its_edit_and_the_other_is_adopted(pair: Drifting, mode: Any) -> None:
    pair.scene.pgpools[1].mode = mode

    rollout = adopted(pair)

    assert rollout.state == "failed"
    assert pair.scene.states(rollout) == ["verified", "failed"]
    assert pair.scene.texts() == [edited(1), edited(2)]
    assert not list(pair.scene.confs[1].parent.glob("pgpool-2.conf.*"))
    pair.scene.pgpools[1].mode = "ok"
    found = pair.look()
    assert [each["state"] for each in found["instances"]] == ["in_step", "drifted"]
    title = ClusterEvent.objects.filter(kind="rollout").latest("pk").title
    assert title == "revision 2 was not adopted on pgpool-2; what was edited there is left as it is"
    assert adopted(pair).state == "verified"
    assert pair.look()["state"] == "in_step"


def test_the_page_of_an_adoption_says_that_it_wrote_nothing(pair: Drifting) -> None:
    rollout = adopted(pair)
    page = text_of(browser("viewer").get(f"/o/acme/rollouts/{rollout.pk}/"))

    assert not rollout.steps.exclude(written_at=None).exists()
    assert page.count("Left as found") == 2
    assert "What was edited by hand Against the files that were verified before." in page
    assert "What it wrote" not in page


def test_an_edit_that_was_not_adopted_is_no_known_file(pair: Drifting) -> None:
    pair.scene.pgpools[1].mode = "forget"
    adopted(pair)

    with pytest.raises(weight_change.BaseChanged, match="pgpool-2"):
        pair.scene.request()


def test_rolling_a_failed_adoption_back_takes_no_other_edit_away(pair: Drifting) -> None:
    pair.scene.pgpools[1].mode = "forget"
    rollout = adopted(pair)

    page = browser("operator").get(f"/o/acme/rollouts/{rollout.pk}/rollback/").content.decode()
    assert '<option value="pgpool-1">' in page
    assert '<option value="pgpool-2">' not in page
    rollback = rollouts.request_rollback(caller=pair.scene.caller, rollout=rollout, now=pair.now)

    assert carried_out(pair, rollback).state == "verified"
    assert pair.scene.texts() == [conf_text(), edited(2)]


def test_cancelling_leaves_every_edit_as_it_is(pair: Drifting) -> None:
    rollout = drift_changes.request_adoption(**asked(pair))

    def cancel(look: int) -> None:
        if rollout.steps.filter(state="verified").exists() and not Rollout.objects.get().is_cancel_requested:
            rollouts.cancel(caller=pair.scene.caller, rollout=rollout, now=pair.now)

    pair.scene.advance(rollout, clock=Clock(now=pair.now, when_looked=cancel))

    assert (rollout.state, pair.scene.states(rollout)) == ("failed", ["verified", "skipped"])
    told = script("viewer").get(f"/api/v1/rollouts/{rollout.pk}/").json()["sentence"]
    assert told == "Cancelled after 1 of 2 pgpools was verified."
    assert pair.scene.texts() == [edited(1), edited(2)]


def test_one_cancelled_before_anything_is_verified_has_touched_nothing(pair: Drifting) -> None:
    rollout = drift_changes.request_adoption(**asked(pair))

    def cancel(look: int) -> None:
        # What is begun goes to its end, so that the reload comes between this and a verification.
        if rollout.steps.filter(state="written").exists() and not Rollout.objects.get().is_cancel_requested:
            rollouts.cancel(caller=pair.scene.caller, rollout=rollout, now=pair.now)

    pair.scene.advance(rollout, clock=Clock(now=pair.now, when_looked=cancel))

    assert rollout.state == "cancelled"
    assert pair.scene.texts() == [edited(1), edited(2)]
    assert not rollout.steps.filter(state__in=["pending", "written", "reloaded"]).exists()


@pytest.mark.parametrize("story", [adopted, reverted])
def test_unless_told_nothing_is_done_without_a_pgpool_whose_file_cannot_be_read(pair: Drifting, story: Any) -> None:
    host_gone(pair)

    with pytest.raises(revisions.ConfigUnusable, match="pgpool-2"):
        story(pair)

    assert not Rollout.objects.exists()
    assert pair.scene.confs[0].read_text() == edited(1)


@pytest.mark.parametrize("verb", ["adopt", "revert"])
def test_page_and_rest_offer_what_is_left_where_a_host_is_gone(pair: Drifting, verb: str) -> None:
    host_gone(pair)
    silent = {"polled_at": pair.now, "state": "unreachable", "state_since": pair.now}
    InstanceLatest.objects.update_or_create(instance=pair.scene.instances[1], defaults=silent)
    pair.look()
    operator, said = browser("operator"), "pgpool-2 cannot be reached, and takes part only by a plan that lets it owe"

    told = script("admin").get(REST).json()
    assert (told[f"can_{verb}"], told[f"{verb}_reason"], told["unreached"][: len(said)]) == (True, "", said)
    assert [each[f"can_{verb}"] for each in told["instances"]] == [True, False]
    page = operator.get(PAGE)
    assert (f'href="{PAGE}{verb}/"' in page.content.decode(), said in text_of(page)) == (True, True)
    form = operator.get(f"{PAGE}{verb}/")
    assert ('<option value="owe" selected>' in form.content.decode(), said in text_of(form)) == (True, True)
    assert operator.post(f"{PAGE}{verb}/", {"plan_strategy": "one_by_one", "plan_absent": "refuse"}).status_code == 303
    assert not Rollout.objects.exists()

    posted = {"plan_strategy": "one_by_one", "plan_absent": "owe"}
    answer = operator.post(f"{PAGE}{verb}/", posted)

    rollout = Rollout.objects.get()
    assert answer["Location"] == f"/o/acme/rollouts/{rollout.pk}/"
    assert carried_out(pair, rollout).state == "verified"
    assert pair.scene.states(rollout) == ["verified", "owed"]


@pytest.mark.parametrize("verb", ["adopt", "revert"])
def test_rest_takes_a_plan(pair: Drifting, verb: str) -> None:
    operator, address = script("operator"), f"{REST}{verb}/"

    refused = operator.post(address, {"plan": {"canary": "pgpool-1"}}, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "plan.canary")
    alone = {"instances": ["pgpool-1"], "plan": {"strategy": "canary", "canary": "pgpool-2"}}
    assert operator.post(address, alone, format="json").status_code == 400
    plan = {"strategy": "canary", "canary": "pgpool-2", "hold_s": 60, **ASK}
    answer = operator.post(address, {"plan": plan}, format="json")

    assert answer.status_code == 202, answer.content
    kept = answer.json()["plan"]
    assert {name: kept[name] for name in plan} == plan
    assert [step["instance"] for step in answer.json()["steps"]] == ["pgpool-2", "pgpool-1"]


@pytest.mark.parametrize("verb", ["adopt", "revert"])
def test_the_page_takes_a_plan(pair: Drifting, verb: str) -> None:
    operator, address = browser("operator"), f"{PAGE}{verb}/"

    page = text_of(operator.get(address))
    assert "A pgpool that cannot be reached" in page
    assert "one that fails, or refuses it, stops no other" in page
    assert "bad pauses it" in page
    assert "Nothing is rolled out without it" not in page
    refused = operator.post(address, {"plan_strategy": "canary", "plan_hold_s": "soon"})
    assert refused.status_code == 422
    assert "a whole number of seconds" in text_of(refused)
    assert not Rollout.objects.exists()
    assert operator.post(address, {"plan_strategy": "all_at_once", "plan_absent": "ask"}).status_code == 303
    plan = Rollout.objects.get().plan
    assert (plan["strategy"], plan["absent"], plan["on_return"]) == ("all_at_once", "owe", "ask")


@pytest.mark.parametrize("verb", ["adopt", "revert"])
def test_a_pgpool_that_is_no_part_of_it_is_refused_as_the_first(pair: Drifting, verb: str) -> None:
    pair.edit("delay_threshold = 1", WAS, number=1, reload=False)
    pair.look()
    plan = {"strategy": "canary", "canary": "pgpool-1"}

    refused = script("admin").post(f"{REST}{verb}/", {"plan": plan}, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "plan.canary")
    assert "pgpool-2" in refused.content.decode()
    form = {"plan_strategy": "canary", "plan_canary": "pgpool-1", "plan_hold_s": "77"}
    page = browser("operator").post(f"{PAGE}{verb}/", form)
    assert page.status_code == 422
    assert "is not part of it; there are pgpool-2." in text_of(page)
    assert 'value="77"' in page.content.decode()
    assert not Rollout.objects.exists()


def test_the_page_of_one_pgpool_offers_that_one_as_the_first_only(pair: Drifting) -> None:
    page = browser("operator").get(f"{PAGE}revert/?instance=pgpool-2").content.decode()

    assert '<option value="pgpool-2">' in page
    assert '<option value="pgpool-1">' not in page


def test_an_adoption_that_is_cancelled_in_its_last_hold_has_adopted_all(pair: Drifting) -> None:
    poll(pair.scene.cluster, seen_at=pair.now, since=pair.now)
    plan = {"strategy": "all_at_once", "hold_s": 600, "hold_last": True, "guards": {"aborted": None}}
    rollout = adopted(pair, plan)
    assert (rollout.state, pair.scene.states(rollout)) == ("running", ["verified", "verified"])

    rollouts.cancel(caller=pair.scene.caller, rollout=rollout, now=pair.now)
    carried_out(pair, rollout)

    assert (rollout.state, rollout.halt_reason) == ("verified", "")
    assert pair.scene.texts() == [edited(1), edited(2)]
    title = ClusterEvent.objects.filter(kind="rollout").latest("pk").title
    assert title == "revision 2 verified on pgpool-1, pgpool-2; the request to cancel came too late"
    assert pair.look()["state"] == "in_step"


@pytest.mark.parametrize("verb", ["adopt", "revert"])
def test_the_page_says_what_becomes_of_a_pgpool_that_turns_lifeguard_away(pair: Drifting, verb: str) -> None:
    seen = {"polled_at": pair.now, "state": "refused", "state_since": NOW, "reason": "the password was not accepted"}
    InstanceLatest.objects.update_or_create(instance=pair.scene.instances[1], defaults=seen)
    pair.scene.pgpools[1].mode = "wrong_password"
    operator, address = browser("operator"), f"{PAGE}{verb}/"

    page = text_of(operator.get(address))
    of_the_other = text_of(operator.get(f"{address}?instance=pgpool-1"))

    sentence = "pgpool-2 lets Lifeguard open no session since 2026-03-01 12:00 UTC: the password was not accepted."
    way = "It is there, so it cannot owe it: nothing can be read back from it, so it fails there, and the others go on."
    assert f"{sentence} {way}" in page
    assert "unless the plan says under" not in page
    assert "How to roll out" in of_the_other
    assert sentence not in of_the_other
    rollout = (adopted if verb == "adopt" else reverted)(pair, OWE)
    assert (rollout.state, pair.scene.states(rollout)) == ("failed", ["verified", "failed"])
