"""Rollouts that go by a plan: a canary first, all at once, holds in between; paused and resumed at any moment."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import AuditEntry
from apps.clusters.control import rollout_holds, rollout_rows, rollouts
from apps.clusters.models import ClusterEvent, RevisionFile
from apps.clusters.outside.delivery import LocalFile
from apps.clusters.queries.rollouts import rollout_answer
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import NOW, OLD_WEIGHTS, Clock, Scene, scene

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_patience")]

# Nothing is polled here: there is nothing that a guard could see.
UNGUARDED = {
    "replay_lag_s": None, "error_factor": None, "latency_factor": None, "lost": False, "shares": False, "aborted": None
}  # fmt: skip
CANARY = {"strategy": "canary", "canary": "pgpool-2", "hold_s": 60, "guards": UNGUARDED}
WANTED = {0: 0.0, 1: 1.0, 2: 3.0}


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=3) as found:
        yield found


def test_the_others_follow_the_canary_after_its_hold(acme: Scene) -> None:
    rollout, clock = acme.request(plan=CANARY), Clock()

    acme.advance(rollout, clock=clock)

    held = rollout_answer(rollout=rollout, caller=acme.caller, now=clock.now)
    assert (held["state"], held["sentence"]) == ("running", "Watching before the next follow: 1 of 3 pgpools verified.")
    assert held["plan_text"] == "pgpool-2 alone first, after 1 min of watching the others at once."
    assert [step["instance"] for step in held["steps"]] == ["pgpool-2", "pgpool-1", "pgpool-3"]
    assert acme.weights() == [OLD_WEIGHTS, WANTED, OLD_WEIGHTS]
    assert rollout.hold_ends_at is not None

    acme.advance(rollout, clock=clock)
    assert acme.states(rollout) == ["verified", "pending", "pending"]

    clock.sleep(60)
    acme.advance(rollout, clock=clock)

    assert rollout.state == "verified"
    assert acme.weights() == [WANTED] * 3


def test_all_at_once_writes_all_at_once(acme: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    all_here = threading.Barrier(3)
    write = LocalFile.write

    def meet(self: LocalFile, text: str, **facts: Any) -> Any:
        all_here.wait(timeout=20)
        return write(self, text, **facts)

    monkeypatch.setattr(LocalFile, "write", meet)

    assert acme.advance(acme.request(plan={"strategy": "all_at_once"})).state == "verified"
    assert acme.weights() == [WANTED] * 3


def test_a_hold_is_cancelled_at_once(acme: Scene) -> None:
    rollout, clock = acme.request(plan=CANARY), Clock()
    acme.advance(rollout, clock=clock)

    rollouts.cancel(caller=acme.caller, rollout=rollout, now=NOW)
    acme.advance(rollout, clock=clock)

    assert rollout.state == "rolled_back"
    assert acme.weights() == [OLD_WEIGHTS] * 3


def test_what_is_paused_begins_nothing_until_it_is_resumed(acme: Scene) -> None:
    rollout, clock = acme.request(), Clock()

    def pause(look: int) -> None:
        if acme.states(rollout)[0] == "verified" and rollout.state == "pending":
            rollout.refresh_from_db()
            rollout_holds.pause(caller=acme.caller, rollout=rollout, now=clock.now)

    clock.when_looked = pause
    acme.advance(rollout, clock=clock)
    clock.when_looked = lambda look: None
    stood = acme.states(rollout)
    acme.advance(rollout, clock=clock)

    told = rollout_answer(rollout=rollout, caller=acme.caller, now=NOW)
    assert (rollout.state, acme.states(rollout)) == ("paused", stood)
    assert acme.weights()[2] == OLD_WEIGHTS
    assert told["sentence"] == "Paused by Ann: 1 of 3 pgpools verified."
    assert (told["can_pause"], told["can_resume"], told["can_cancel"]) == (False, True, True)
    with pytest.raises(rollout_rows.RolloutRunning):
        acme.request({"0": 1, "1": 1, "2": 1})

    rollout_holds.resume(caller=acme.caller, rollout=rollout, now=clock.now)
    acme.advance(rollout, clock=clock)

    assert (rollout.state, rollout.paused_at) == ("verified", None)
    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))[-2:] == [
        "rollout.paused",
        "rollout.resumed",
    ]
    assert ClusterEvent.objects.filter(title__endswith="paused by Ann").exists()


def test_a_hold_lasts_longer_by_the_pause(acme: Scene) -> None:
    rollout, clock = acme.request(plan=CANARY), Clock()
    acme.advance(rollout, clock=clock)
    ends_at = rollout.hold_ends_at
    assert ends_at is not None

    rollout_holds.pause(caller=acme.caller, rollout=rollout, now=clock.now)
    rollout_holds.resume(caller=acme.caller, rollout=rollout, now=clock.now + timedelta(seconds=40))

    rollout.refresh_from_db()
    assert rollout.hold_ends_at == ends_at + timedelta(seconds=40)


def test_a_paused_rollout_can_be_cancelled(acme: Scene) -> None:
    rollout = acme.request(plan=CANARY)
    acme.advance(rollout)
    rollout_holds.pause(caller=acme.caller, rollout=rollout, now=NOW)

    rollouts.cancel(caller=acme.caller, rollout=rollout, now=NOW)
    acme.advance(rollout)

    assert rollout.state == "rolled_back"


def test_what_cannot_be_paused_or_resumed_says_so(acme: Scene) -> None:
    rollout = acme.request()
    with pytest.raises(rollout_holds.PauseRefused, match="is not paused: it is pending"):
        rollout_holds.resume(caller=acme.caller, rollout=rollout, now=NOW)
    rollout_holds.pause(caller=acme.caller, rollout=rollout, now=NOW)
    with pytest.raises(rollout_holds.PauseRefused, match="is paused already"):
        rollout_holds.pause(caller=acme.caller, rollout=rollout, now=NOW)
    rollout_holds.resume(caller=acme.caller, rollout=rollout, now=NOW)
    acme.advance(rollout)
    with pytest.raises(rollout_holds.PauseRefused, match="has ended already: it is verified"):
        rollout_holds.pause(caller=acme.caller, rollout=rollout, now=NOW)


def test_a_script_plans_pauses_and_resumes(acme: Scene) -> None:
    asker = script("operator")
    address = "/api/v1/clusters/orders/weights/"
    weights = {"0": 0, "1": 1, "2": 3}

    refused = asker.put(address, {"weights": weights, "plan": {"strategy": "canary", "canary": "x"}}, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "plan.canary")
    assert not RevisionFile.objects.exists()

    asked = asker.put(address, {"weights": weights, "plan": CANARY}, format="json")
    assert asked.status_code == 202
    assert asked.json()["plan"] == {
        **CANARY,
        "rest": "all_at_once",
        "hold_last": False,
        "absent": "refuse",
        "on_return": None,
    }
    rollout = f"/api/v1/rollouts/{asked.json()['id']}/"
    assert script("viewer").post(f"{rollout}pause/").status_code == 403
    paused = asker.post(f"{rollout}pause/")
    assert (paused.status_code, paused.json()["state"]) == (202, "paused")
    assert asker.post(f"{rollout}pause/").status_code == 409
    assert asker.post(f"{rollout}resume/").json()["state"] == "pending"


def test_the_page_plans_pauses_and_resumes(acme: Scene) -> None:
    visitor = browser("operator")
    weights = "/o/acme/clusters/orders/weights/"
    form = {"weight_0": "0", "weight_1": "25", "weight_2": "75", "plan_strategy": "canary", "plan_rest": "one_by_one"}

    refused = visitor.post(weights, {**form, "plan_hold_s": "soon"})
    assert refused.status_code == 422
    field = refused.content.decode().partition('id="id_plan_hold_s"')[2].partition("</div>")[0]
    assert "&#x27;soon&#x27; is not a whole number of seconds between 0 and" in field

    visitor.post(weights, {**form, "plan_hold_s": "30"})
    rollout = acme.cluster.rollouts.get()
    assert rollout.plan["guards"]["replay_lag_s"] == 60.0
    assert (rollout.plan["strategy"], rollout.plan["rest"], rollout.plan["hold_s"]) == ("canary", "one_by_one", 30)
    page = f"/o/acme/rollouts/{rollout.pk}/"
    assert "Pause rollout" in visitor.get(page).content.decode()
    visitor.post(f"{page}pause/")
    shown = visitor.get(page).content.decode()
    assert "no other rollout of this cluster can begin until it is resumed or cancelled" in shown
    assert "Resume rollout" in shown
    visitor.post(f"{page}resume/")
    assert acme.cluster.rollouts.get().state == "pending"


def test_parameters_go_by_a_plan_too(acme: Scene) -> None:
    asker, address = script("operator"), "/api/v1/clusters/orders/parameters/"
    parameters = {"delay_threshold": "5000"}

    refused = asker.put(address, {"parameters": parameters, "plan": {"hold_s": "soon"}}, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "plan.hold_s")
    assert not acme.cluster.rollouts.exists()

    asked = asker.put(address, {"parameters": parameters, "plan": {"strategy": "all_at_once"}}, format="json")
    assert (asked.status_code, asked.json()["plan_text"]) == (202, "All pgpools at once.")
