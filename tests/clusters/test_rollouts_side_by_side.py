"""What is due on several pgpools is done at the same time: a frozen one holds up nobody."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import rollout_actions, rollout_rows, rollouts
from apps.clusters.control.rollout_crew import Crew, DatabaseAsked
from apps.clusters.control.rollout_steps import Try
from apps.clusters.domain.rollout_plan import CheckBase, StepState, StepView
from apps.clusters.models import Rollout
from apps.clusters.outside import read_back
from apps.clusters.outside.delivery import LocalFile
from tests.clusters.rollout_scene import NOW, OLD_WEIGHTS, Clock, Scene, conf_text, scene

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def short_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout_actions, "READ_BACK_PATIENCE_S", 0.05)
    monkeypatch.setattr(read_back, "CONNECT_DEADLINE_S", 0.5)
    monkeypatch.setattr(rollout_actions, "RELOAD_DEADLINE_S", 0.5)
    monkeypatch.setattr(rollout_actions, "RESTORE_RELOAD_DEADLINE_S", 0.2)
    monkeypatch.setattr(rollout_rows, "LEASE", timedelta(hours=1))


@pytest.fixture
def four(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=4) as found:
        yield found


def test_every_base_is_checked_at_the_same_time(four: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each dry run waits for all others: one after the other none would ever end."""
    all_here = threading.Barrier(4)
    dry_run = LocalFile.dry_run

    def meet(self: LocalFile, text: str) -> Any:
        all_here.wait(timeout=20)
        return dry_run(self, text)

    monkeypatch.setattr(LocalFile, "dry_run", meet)

    assert four.advance(four.request()).state == "verified"


def test_the_way_back_of_the_healthy_ones_does_not_wait_for_a_frozen_one(
    four: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pgpool-4 answers its reload when all others are confirmed on their old files, and not before."""
    rollout = four.request()
    four.pgpools[3].mode = "forget"
    others_are_back = threading.Event()
    reload = LocalFile.reload

    def freeze(self: LocalFile, **facts: Any) -> Any:
        if self.path == four.confs[3] and self.path.read_text() == conf_text():
            assert others_are_back.wait(timeout=20)
        return reload(self, **facts)

    def look_around(look: int) -> None:
        if four.states(rollout)[:3] == ["restored"] * 3:
            four.pgpools[3].mode = "ok"
            others_are_back.set()

    monkeypatch.setattr(LocalFile, "reload", freeze)

    four.advance(rollout, clock=Clock(when_looked=look_around))

    assert rollout.state == "rolled_back"
    assert others_are_back.is_set()
    assert four.texts() == [conf_text()] * 4
    assert four.weights() == [OLD_WEIGHTS] * 4


def test_an_action_that_asks_the_database_is_refused(four: Scene) -> None:
    """In a thread it would do so outside the transaction, and keep a connection open."""
    four.request()
    step = Rollout.objects.get().steps.get(position=0)  # nothing of it is loaded

    with Crew() as crew:
        crew.send(Try(step, CheckBase(StepView(0, "pgpool-1", StepState.PENDING)), tried=0), held_until=0)
        with pytest.raises(DatabaseAsked):
            crew.wait(timeout_s=20)


def test_a_rollback_writes_all_at_once(four: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    first = four.advance(four.request())
    back = rollouts.request_rollback(caller=four.caller, rollout=first, now=NOW)
    all_here = threading.Barrier(4)
    write = LocalFile.write

    def meet(self: LocalFile, text: str, **facts: Any) -> Path:
        all_here.wait(timeout=20)
        return write(self, text, **facts)

    monkeypatch.setattr(LocalFile, "write", meet)

    assert four.advance(back, clock=Clock()).state == "verified"
    assert four.weights() == [OLD_WEIGHTS] * 4
