"""Two pgpools of which one goes away, owes what it missed, and returns."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import debt_settlement, presence, rollout_actions, rollout_rows
from apps.clusters.models import ClusterEvent, InstanceLatest, PgpoolInstance, RevisionDebt, Rollout
from tests.clusters.rollout_scene import NEW_WEIGHTS, NOW, Scene, conf_text, scene

OLD_TEXT = conf_text()
WANTED = {0: 0.0, 1: 1.0, 2: 3.0}
NEW_TEXT = conf_text(weights=("0", "1", "3"))
OWE = {"strategy": "all_at_once", "absent": "owe"}
ASK = {**OWE, "on_return": "ask"}
LATER = NOW + timedelta(minutes=10)


@contextmanager
def owing(directory: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A fake answers at once or never; and no lease ends but by the test."""
    monkeypatch.setattr(rollout_actions, "READ_BACK_PATIENCE_S", 0.05)
    monkeypatch.setattr(rollout_rows, "LEASE", timedelta(hours=1))
    monkeypatch.setattr(presence, "DEADLINE_S", 1.0)
    with scene(directory, settings, pgpools=2) as found:
        yield found


def away(acme: Scene, number: int = 1) -> None:
    """Nobody listens there, as where a pgpool is stopped."""
    PgpoolInstance.objects.filter(pk=acme.instances[number].pk).update(port=1 + number, pcp_port=1)


def back(acme: Scene, number: int = 1) -> None:
    """It answers, and the poller has seen it."""
    pgpool, instance = acme.pgpools[number], acme.instances[number]
    pgpool.mode = "ok"
    PgpoolInstance.objects.filter(pk=instance.pk).update(port=pgpool.port, pcp_port=pgpool.pcp_port)
    seen = {"polled_at": LATER, "answered_at": LATER, "state": "answering", "state_since": LATER}
    InstanceLatest.objects.update_or_create(instance=instance, defaults=seen)


def host_gone(acme: Scene) -> Path:
    """The file of pgpool-2 cannot be read either."""
    away(acme)
    return acme.confs[1].rename(acme.confs[1].with_suffix(".gone"))


def owed(acme: Scene, weights: object = NEW_WEIGHTS, *, plan: object = OWE) -> Rollout:
    """A rollout that went to pgpool-1, while pgpool-2 was away."""
    away(acme)
    return acme.advance(acme.request(weights, plan=plan))


def settled(acme: Scene, *, now: datetime = LATER) -> Rollout:
    debt_settlement.settle_returned(now=now)
    return acme.advance(acme.cluster.rollouts.latest("pk"))


def debt_of(rollout: Rollout) -> RevisionDebt:
    return RevisionDebt.objects.get(step__rollout=rollout)


def titles() -> list[str]:
    return list(ClusterEvent.objects.order_by("pk").values_list("title", flat=True))
