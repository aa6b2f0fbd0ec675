"""What a pgpool runs, as the poller and a rollout saw it: the newer of the two is kept."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import rollout_actions, rollout_rows
from apps.clusters.models import InstanceConfig
from apps.clusters.polling import file_watch
from apps.clusters.polling.readings import InstanceReading, PoolSettings, Tick
from apps.clusters.polling.running_values import RUNNING_IS_OLD, note_running
from apps.clusters.queries.drift import drift_answer
from tests.clusters.rollout_scene import NOW, Clock, Scene, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def alone(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setattr(rollout_actions, "READ_BACK_PATIENCE_S", 0.05)
    monkeypatch.setattr(rollout_rows, "LEASE", timedelta(hours=1))
    with scene(tmp_path, settings, pgpools=1) as found:
        yield found


def show(scene: Scene, *, at: datetime, asked_at: datetime | None = None) -> None:
    """As if the poller had stored what this pgpool runs now."""
    running = dict(scene.pgpools[0].values)
    settings = PoolSettings("4.3.5", 32, False, None, running=running, asked_at=asked_at or at)
    reading = InstanceReading(scene.instances[0].pk, "answering", settings=settings)
    note_running(Tick(at=at, number=1, instances=(reading,), backends=()))


def config(scene: Scene) -> InstanceConfig:
    return InstanceConfig.objects.get(instance=scene.instances[0])


def test_what_a_rollout_read_back_is_no_drift_though_the_poller_has_not_asked_since(alone: Scene) -> None:
    show(alone, at=NOW)
    before = dict(alone.pgpools[0].values)

    rollout = alone.advance(alone.request(), clock=Clock(now=NOW + timedelta(seconds=3)))
    assert alone.states(rollout) == ["verified"]
    file_watch.look(holder="watcher", clock=lambda: NOW + timedelta(minutes=1))

    drift = drift_answer(caller=alone.caller, cluster=alone.cluster)
    assert (drift["state"], drift["differences"]) == ("in_step", [])
    assert config(alone).running["backend_weight2"] != before["backend_weight2"]
    assert config(alone).running["delay_threshold"] == before["delay_threshold"]


def test_an_answer_to_an_older_question_does_not_bring_the_old_values_back(alone: Scene) -> None:
    show(alone, at=NOW)
    old = dict(alone.pgpools[0].values)
    alone.advance(alone.request(), clock=Clock(now=NOW + timedelta(seconds=3)))
    new = config(alone).running
    alone.pgpools[0].values = old

    show(alone, at=NOW + timedelta(seconds=4), asked_at=NOW + timedelta(seconds=1))
    assert config(alone).running == new

    show(alone, at=NOW + timedelta(minutes=1))
    assert config(alone).running == old


def test_values_that_were_not_shown_for_long_are_not_made_new_by_one_answer(alone: Scene) -> None:
    show(alone, at=NOW - RUNNING_IS_OLD * 2)

    alone.advance(alone.request(), clock=Clock(now=NOW))

    assert config(alone).running_at == NOW - RUNNING_IS_OLD * 2
