"""A step that waits for somebody else: no try is counted, nothing halts, and it goes on when it can."""

from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import rollout_actions, rollouts
from apps.clusters.domain.not_yet import NotYet
from apps.clusters.models import Rollout, RolloutLog
from apps.clusters.outside.delivery import LocalFile
from apps.clusters.queries.rollouts import rollout_answer
from tests.clusters.rollout_scene import NOW, Clock, Scene, conf_text

pytestmark = pytest.mark.django_db

REASON = "Waiting for somebody to write the file."


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout_actions, "READ_BACK_PATIENCE_S", 0.05)


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A delivery that waits for others, as long as the list is empty: a file on this machine waits for nobody."""
    found: list[str] = []
    write = LocalFile.write

    def wait(self: LocalFile, text: str, **facts: Any) -> Path:
        if not found:
            raise NotYet(REASON, retry_s=30)
        return write(self, text, **facts)

    monkeypatch.setattr(LocalFile, "write", wait)
    return found


def test_a_step_that_waits_counts_no_try_and_says_what_it_waits_for(pair: Scene, hands: list[str]) -> None:
    rollout = pair.request()
    clock = Clock()

    for _ in range(20):  # more often than any action is tried
        pair.advance(rollout, clock=clock)
        clock.sleep(30)

    step = rollout.steps.get(position=0)
    assert (rollout.state, step.state, step.attempts) == ("running", "pending", 0)
    assert (step.waiting_for, step.error) == (REASON, "")
    assert RolloutLog.objects.filter(rollout=rollout, text=REASON).count() == 1
    answer = rollout_answer(rollout=rollout, caller=pair.caller, now=NOW)
    assert answer["sentence"] == "Rolling out: 0 of 2 pgpools verified; pgpool-1 waits."
    assert (answer["steps"][0]["waiting_for"], answer["steps"][0]["waiting_since"]) == (REASON, step.waiting_since)


def test_a_step_that_waited_goes_on(pair: Scene, hands: list[str]) -> None:
    rollout = pair.request()
    clock = Clock()
    pair.advance(rollout, clock=clock)
    hands.append("done")
    clock.sleep(30)

    pair.advance(rollout, clock=clock)

    assert rollout.state == "verified"
    assert set(rollout.steps.values_list("waiting_for", "waiting_since")) == {("", None)}


def test_a_rollout_that_waits_can_be_cancelled(pair: Scene, hands: list[str]) -> None:
    rollout = pair.request()
    clock = Clock()
    pair.advance(rollout, clock=clock)

    rollouts.cancel(caller=pair.caller, rollout=rollout, now=NOW)
    clock.sleep(30)
    pair.advance(rollout, clock=clock)

    assert Rollout.objects.get(pk=rollout.pk).state == "rolled_back"
    assert pair.texts() == [conf_text()] * 2
