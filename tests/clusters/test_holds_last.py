"""The hold after the last pgpools: watched as the others are, before the rollout counts as verified."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.clusters.control import rollout_holds, rollouts
from apps.clusters.models import BackendLatest, InstanceLatest, NodeLatest, PgpoolInstance, Rollout
from apps.clusters.queries.rollouts import rollout_answer
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import OLD_WEIGHTS, Clock, Scene, scene
from tests.clusters.seen_cluster import poll

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_patience")]

WANTED = {0: 0.0, 1: 1.0, 2: 3.0}
GUARDS = {"latency_factor": None, "shares": False, "aborted": None}
PLAN = {"strategy": "all_at_once", "hold_s": 60, "hold_last": True, "guards": GUARDS}


def held(pair: Scene, clock: Clock, plan: dict[str, Any] = PLAN) -> Rollout:
    """All pgpools have the new file, everything is as it should be, and it does not count as verified yet."""
    poll(pair.cluster, seen_at=clock.now, since=clock.now - timedelta(hours=1))
    NodeLatest.objects.update(error_count=0, select_count=1000)
    rollout = pair.advance(pair.request(plan=plan), clock=clock)
    assert (rollout.state, set(pair.states(rollout))) == ("running", {"verified"})
    return rollout


def goes_by(pair: Scene, clock: Clock, rollout: Rollout, seconds: float) -> None:
    """Polled to its end, with nothing that changes."""
    clock.sleep(seconds)
    InstanceLatest.objects.update(polled_at=clock.now)
    BackendLatest.objects.update(polled_at=clock.now)
    pair.advance(rollout, clock=clock)


def test_all_are_watched_before_it_counts_as_verified(pair: Scene) -> None:
    clock = Clock()
    rollout = held(pair, clock)

    told = rollout_answer(rollout=rollout, caller=pair.caller, now=clock.now)
    assert told["sentence"] == "Watching before it counts as verified: 2 of 2 pgpools verified."
    assert told["plan_text"] == ("All pgpools at once. It counts as verified after 1 min of watching all of them.")
    assert (told["is_last_hold"], told["plan"]["hold_last"], told["guards"]["text"]) == (True, True, "")
    page = browser("operator").get(f"/o/acme/rollouts/{rollout.pk}/").content.decode()
    assert "It counts as verified at " in page
    assert "The next pgpools follow" not in page

    goes_by(pair, clock, rollout, 30)
    assert rollout.state == "running"
    goes_by(pair, clock, rollout, 31)

    assert rollout.state == "verified"
    lines = list(rollout.log.order_by("pk").values_list("text", flat=True))
    assert "Watching for 60 s with pgpool-1, pgpool-2 on the new file before it counts as verified." in lines
    assert "The hold is over; all pgpools are on the new file." in lines


def test_a_canary_is_held_twice(pair: Scene) -> None:
    clock = Clock()
    poll(pair.cluster, seen_at=clock.now, since=clock.now - timedelta(hours=1))
    NodeLatest.objects.update(error_count=0, select_count=1000)
    rollout = pair.advance(pair.request(plan={**PLAN, "strategy": "canary"}), clock=clock)
    assert not rollout_answer(rollout=rollout, caller=pair.caller, now=clock.now)["is_last_hold"]

    goes_by(pair, clock, rollout, 61)
    assert (rollout.state, pair.states(rollout)) == ("running", ["verified", "verified"])
    goes_by(pair, clock, rollout, 61)

    assert rollout.state == "verified"
    assert rollout.log.filter(text__startswith="Watching for 60 s").count() == 2


def test_what_is_bad_after_the_last_ones_puts_all_old_files_back(pair: Scene) -> None:
    clock = Clock()
    rollout = held(pair, clock)
    NodeLatest.objects.filter(instance__name="pgpool-2", node_id=1).update(error_count=30, select_count=1100)

    goes_by(pair, clock, rollout, 10)

    assert rollout.state == "rolled_back"
    assert rollout.halt_reason == (
        "Bad by the guard on errors per read: 30 errors beside 100 reads at pgpool-2, usual were 0.1 for 100 reads, "
        "at most 3 times as many are allowed."
    )
    assert pair.weights() == [OLD_WEIGHTS] * 2


def test_a_cluster_of_one_pgpool_is_watched(tmp_path: Path, settings: Any) -> None:
    with scene(tmp_path, settings, pgpools=1) as alone:
        clock = Clock()
        rollout = held(alone, clock, {**PLAN, "strategy": "one_by_one"})
        NodeLatest.objects.filter(node_id=1).update(error_count=30, select_count=1100)

        goes_by(alone, clock, rollout, 10)

        assert (rollout.state, alone.weights()) == ("rolled_back", [OLD_WEIGHTS])
        PgpoolInstance.objects.update(version="4.3.5")
        unwatched = rollout_answer(
            rollout=alone.request(plan={"hold_s": 60, "guards": GUARDS}), caller=alone.caller, now=clock.now
        )
        assert unwatched["guards"]["text"] == "No guard looks: nothing follows the first ones, and hold_last is off."


def test_too_little_pauses_it_and_a_person_lets_it_count_as_verified(pair: Scene) -> None:
    clock = Clock()
    rollout = held(pair, clock)
    clock.sleep(61)
    pair.advance(rollout, clock=clock)  # nobody has polled since
    assert (rollout.state, set(pair.states(rollout))) == ("paused", {"verified"})
    pair.advance(rollout, clock=clock)
    assert rollout.state == "paused"
    page = browser("operator").get(f"/o/acme/rollouts/{rollout.pk}/").content.decode()
    assert "It counts as verified at once." in page

    rollout_holds.resume(caller=pair.caller, rollout=rollout, now=clock.now)
    pair.advance(rollout, clock=clock)

    assert (rollout.state, pair.weights()) == ("verified", [WANTED] * 2)


@pytest.mark.parametrize("is_paused", [False, True])
def test_it_is_cancelled_to_the_end_and_every_old_file_comes_back(pair: Scene, is_paused: bool) -> None:
    clock = Clock()
    rollout = held(pair, clock)
    if is_paused:
        clock.sleep(61)
        pair.advance(rollout, clock=clock)
        assert rollout.state == "paused"

    rollouts.cancel(caller=pair.caller, rollout=rollout, now=clock.now)
    pair.advance(rollout, clock=clock)

    assert (rollout.state, pair.weights()) == ("rolled_back", [OLD_WEIGHTS] * 2)


def test_a_way_back_is_paused_by_what_is_bad_and_never_undone(pair: Scene) -> None:
    clock = Clock()
    first = pair.advance(pair.request(), clock=clock)
    poll(pair.cluster, seen_at=clock.now, since=clock.now - timedelta(hours=1))
    NodeLatest.objects.update(error_count=0, select_count=1000)
    back = rollouts.request_rollback(caller=pair.caller, rollout=first, plan=PLAN, now=clock.now)
    pair.advance(back, clock=clock)
    assert set(pair.states(back)) == {"verified"}
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(state="unreachable", state_since=clock.now)

    goes_by(pair, clock, back, 10)

    assert (back.state, back.is_halting) == ("paused", False)
    assert back.pause_reason == "What was seen since is bad by the guard on what is lost: pgpool-2 was lost since."
    assert pair.weights() == [OLD_WEIGHTS] * 2


def test_scripts_that_do_not_ask_for_it_go_on_as_before(pair: Scene) -> None:
    asker, address = script("operator"), "/api/v1/clusters/orders/weights/"
    sent = {"weights": {"0": 0, "1": 1, "2": 3}}

    for plan, field in (({"hold_last": True}, "hold_last"), ({"strategy": "all_at_once", "hold_s": 60}, "hold_s")):
        refused = asker.put(address, {**sent, "plan": plan}, format="json")
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, f"plan.{field}")
    asked = asker.put(address, {**sent, "plan": {"hold_s": 60, "guards": GUARDS}}, format="json")

    assert asked.json()["plan"]["hold_last"] is False
    assert asked.json()["guards"]["text"] == "After the last ones no guard looks: hold_last is off."


def test_the_page_asks_for_it_and_offers_it_ticked(pair: Scene) -> None:
    poll(pair.cluster, seen_at=timezone.now())
    visitor, page = browser("operator"), "/o/acme/clusters/orders/weights/"
    field = visitor.get(page).content.decode().partition('name="plan_hold_last"')[2].partition(">")[0]
    assert "checked" in field

    form = {"weight_0": "0", "weight_1": "25", "weight_2": "75", "plan_strategy": "all_at_once"}
    visitor.post(page, {**form, "plan_hold_s": "30", "plan_hold_last": "on"})

    plan = pair.cluster.rollouts.get().plan
    assert (plan["strategy"], plan["hold_s"], plan["hold_last"]) == ("all_at_once", 30, True)
