"""Files edited by hand while a rollout is under way: seen as ever, but where it is just writing."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import rollout_holds
from apps.clusters.control.rollout_rows import RolloutRunning
from apps.clusters.models import InstanceConfig, Rollout
from apps.clusters.polling import file_watch
from apps.live import events
from tests.clusters.callers_at_doors import browser
from tests.clusters.drifting import Drifting, drifting_pair
from tests.clusters.rollout_scene import Clock

pytestmark = pytest.mark.django_db

UNGUARDED = {
    "replay_lag_s": None, "error_factor": None, "latency_factor": None, "lost": False, "shares": False, "aborted": None
}  # fmt: skip
HELD_FOR_A_DAY = {"strategy": "canary", "hold_s": 86_400, "guards": UNGUARDED}


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    with drifting_pair(tmp_path, settings, monkeypatch) as found:
        yield found


def held(pair: Drifting) -> Rollout:
    """pgpool-1 has the new weights, and pgpool-2 waits for a day."""
    pair.look()
    rollout = pair.scene.advance(pair.scene.request(plan=HELD_FOR_A_DAY), clock=Clock(now=pair.now))
    pair.now += timedelta(minutes=1)
    assert pair.scene.states(rollout) == ["verified", "pending"]
    return rollout


def test_in_a_hold_the_one_that_was_written_and_the_one_that_waits_are_looked_at(pair: Drifting) -> None:
    rollout = held(pair)
    assert [one["state"] for one in pair.answer()["instances"]] == ["looking", "in_step"]

    found = pair.look()

    assert (found["state"], pair.told()) == ("in_step", [])
    numbers = [one["revision"] for one in found["instances"]]
    assert numbers == [rollout.revision.number, 1]

    pair.edit("backend_weight2 = 3 ", "backend_weight2 = 8 ", number=1)
    pair.edit("delay_threshold = 1000", "delay_threshold = 5", number=2)
    pair.look()
    found = pair.look()

    assert [(one["instance"], one["verified"], one["file"]) for one in found["differences"]] == [
        ("pgpool-1", "3", "8"),
        ("pgpool-2", "1000", "5"),
    ]
    assert pair.told() == [
        "Edited by hand on pgpool-1: backend_weight2 3 → 8",
        "Edited by hand on pgpool-2: delay_threshold 1000 → 5",
    ]


def test_meanwhile_it_is_neither_adopted_nor_reverted_and_its_end_is_told(pair: Drifting) -> None:
    rollout = held(pair)
    pair.look()
    rollout_holds.pause(caller=pair.scene.caller, rollout=rollout, now=pair.now)
    pair.now += timedelta(days=20)
    pair.edit("delay_threshold = 1000", "delay_threshold = 5", number=1)

    found = pair.look()

    reason = f"Rollout {rollout.pk} is under way: wait for its end, or cancel it."
    assert (found["state"], found["can_adopt"], found["can_revert"]) == ("drifted", False, False)
    assert (found["instances"][0]["adopt_reason"], found["instances"][0]["revert_reason"]) == (reason, reason)
    page = browser("operator").get("/o/acme/clusters/orders/drift/").content.decode()
    assert reason in page
    assert "Adopt…" not in page
    assert "Revert…" not in page
    with pytest.raises(RolloutRunning):
        pair.revert("pgpool-1")
    with pytest.raises(RolloutRunning):
        pair.adopt("pgpool-1")

    pair.edit("delay_threshold = 5", "delay_threshold = 1000", number=1)
    pair.look()
    assert pair.told()[-1] == "pgpool-1 is as it was verified again"


def test_what_a_rollout_does_is_no_drift(pair: Drifting) -> None:
    rollout = held(pair)
    pair.look()
    Rollout.objects.filter(pk=rollout.pk).update(hold_ends_at=pair.now)

    pair.now += timedelta(seconds=5)
    pair.scene.advance(rollout, clock=Clock(now=pair.now))
    pair.now += timedelta(minutes=1)

    assert rollout.state == "verified"
    assert pair.answer()["state"] == "looking"
    assert (pair.look()["state"], pair.told()) == ("in_step", [])


@pytest.mark.parametrize(
    "step", [{"is_touched": True}, {"attempts": 1}, {"state": "written"}, {"state": "reloaded"}, {"state": "absent"}]
)
def test_the_one_that_is_being_written_is_left_alone(pair: Drifting, step: dict[str, Any]) -> None:
    rollout = held(pair)
    rollout.steps.filter(instance_name="pgpool-2").update(**step)
    looked_at = InstanceConfig.objects.get(instance__name="pgpool-2").looked_at
    pair.edit("delay_threshold = 1000", "delay_threshold = 5", number=2)

    found = pair.look()

    assert InstanceConfig.objects.get(instance__name="pgpool-2").looked_at == looked_at
    assert [one["state"] for one in found["instances"]] == ["in_step", "looking"]
    assert found["sentence"] == "pgpool-2 is being rolled out to, and looked at afterwards."
    assert "at work there" in found["instances"][1]["revert_reason"]
    assert pair.told() == []


def test_one_that_is_about_to_get_its_old_file_back_is_left_alone(pair: Drifting) -> None:
    rollout = held(pair)
    Rollout.objects.filter(pk=rollout.pk).update(is_cancel_requested=True)

    assert [one["state"] for one in pair.look()["instances"]] == ["looking", "in_step"]


def test_a_look_that_a_step_overtook_is_thrown_away(pair: Drifting) -> None:
    """The file was read before the step began, and is compared once it has."""
    rollout = held(pair)
    pair.look()
    pair.edit("delay_threshold = 1000", "delay_threshold = 5", number=2)
    pair.now += timedelta(seconds=30)
    asked = 0

    def clock() -> datetime:
        nonlocal asked
        asked += 1
        if asked == 2:  # the first was before anything was read
            rollout.steps.filter(instance_name="pgpool-2").update(is_touched=True)
        return pair.now

    assert file_watch.look(holder="watcher", clock=clock) == 2

    assert pair.told() == []
    config = InstanceConfig.objects.get(instance__name="pgpool-2")
    assert (config.state, config.lease_holder) == ("in_step", "")
    assert InstanceConfig.objects.get(instance__name="pgpool-1").looked_at == pair.now


def test_the_look_that_follows_a_rollout_reaches_the_pages_though_nothing_differs(
    pair: Drifting, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.look()
    pair.now += timedelta(seconds=5)
    pair.scene.advance(pair.scene.request(), clock=Clock(now=pair.now))
    assert pair.answer()["state"] == "looking"
    told: list[str] = []
    monkeypatch.setattr(events, "announce", lambda topic, kind, **_: told.append(topic))

    assert pair.look()["state"] == "in_step"

    assert told == [f"cluster.{pair.scene.cluster.pk}"] * 2
    assert pair.look()["state"] == "in_step"
    assert len(told) == 2
