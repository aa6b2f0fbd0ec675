"""A cluster whose files are edited by hand, looked at whenever a test says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import drift_changes, rollout_actions, rollout_rows
from apps.clusters.models import ClusterEvent, InstanceConfig, Rollout
from apps.clusters.polling import file_watch
from apps.clusters.queries.drift import DriftAnswer, drift_answer
from tests.clusters.rollout_scene import NOW, Clock, Scene, scene


class Drifting:
    """A scene whose pgpools are looked at whenever the test says so, half a minute after the look before."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.now = NOW

    def look(self) -> DriftAnswer:
        self.now += timedelta(seconds=30)
        for instance, pgpool in zip(self.scene.instances, self.scene.pgpools, strict=True):
            running = {"running": dict(pgpool.values), "running_at": self.now}
            InstanceConfig.objects.update_or_create(instance=instance, defaults=running)
        file_watch.look(holder="watcher", clock=lambda: self.now, deadline_s=5)
        return self.answer()

    def answer(self) -> DriftAnswer:
        return drift_answer(caller=self.scene.caller, cluster=self.scene.cluster)

    def edit(self, old: str, new: str, *, number: int = 2, reload: bool = True) -> None:
        conf = self.scene.confs[number - 1]
        conf.write_text(conf.read_text().replace(old, new))
        if reload:
            self.scene.pgpools[number - 1].reload()

    def told(self) -> list[str]:
        events = ClusterEvent.objects.filter(kind=ClusterEvent.Kind.DRIFT)
        return list(events.order_by("pk").values_list("title", flat=True))

    def adopt(self, *names: str) -> Rollout:
        return self._carried_out(drift_changes.request_adoption(**self._asked(names)))

    def revert(self, *names: str) -> Rollout:
        return self._carried_out(drift_changes.request_reversion(**self._asked(names)))

    def _asked(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {"caller": self.scene.caller, "cluster": self.scene.cluster, "names": names, "now": self.now}

    def _carried_out(self, rollout: Rollout) -> Rollout:
        self.now += timedelta(seconds=5)
        return self.scene.advance(rollout, clock=Clock(now=self.now))


@contextmanager
def drifting_pair(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    """Two pgpools that are fakes, with real files; nobody waits long for values that do not come."""
    monkeypatch.setattr(rollout_actions, "READ_BACK_PATIENCE_S", 0.05)
    monkeypatch.setattr(rollout_rows, "LEASE", timedelta(hours=1))
    with scene(tmp_path, settings, pgpools=2) as found:
        yield Drifting(found)
