"""Two pgpools edited by hand, one of which may be away, and what is done about it by a plan."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import debt_settlement, drift_changes, presence
from apps.clusters.models import InstanceLatest, PgpoolInstance, Rollout
from tests.clusters.drifting import Drifting, drifting_pair
from tests.clusters.rollout_scene import Clock, conf_text

REST = "/api/v1/clusters/orders/drift/"
PAGE = "/o/acme/clusters/orders/drift/"
OWE = {"absent": "owe"}
ASK = {**OWE, "on_return": "ask"}
WAS = "delay_threshold = 1000"


def edited(number: int) -> str:
    return conf_text().replace(WAS, f"delay_threshold = {number}")


@contextmanager
def both_edited(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    """Both files were edited by hand since they were found first, and reloaded by nobody."""
    monkeypatch.setattr(presence, "DEADLINE_S", 1.0)
    with drifting_pair(tmp_path, settings, monkeypatch) as found:
        found.look()
        for number in (1, 2):
            found.edit(WAS, f"delay_threshold = {number}", number=number, reload=False)
        found.look()
        yield found


def away(pair: Drifting) -> None:
    """Nobody listens at pgpool-2, as where it is stopped."""
    PgpoolInstance.objects.filter(pk=pair.scene.instances[1].pk).update(port=1, pcp_port=1)


def host_gone(pair: Drifting) -> None:
    away(pair)
    pair.scene.confs[1].rename(pair.scene.confs[1].with_suffix(".gone"))


def back(pair: Drifting) -> None:
    pgpool, instance, conf = pair.scene.pgpools[1], pair.scene.instances[1], pair.scene.confs[1]
    if not conf.exists():
        conf.with_suffix(".gone").rename(conf)
    PgpoolInstance.objects.filter(pk=instance.pk).update(port=pgpool.port, pcp_port=pgpool.pcp_port)
    pair.now += timedelta(minutes=1)
    seen = {"polled_at": pair.now, "answered_at": pair.now, "state": "answering", "state_since": pair.now}
    InstanceLatest.objects.update_or_create(instance=instance, defaults=seen)


def asked(pair: Drifting, **more: Any) -> dict[str, Any]:
    return {"caller": pair.scene.caller, "cluster": pair.scene.cluster, "now": pair.now, **more}


def adopted(pair: Drifting, plan: object = None, *names: str) -> Rollout:
    return carried_out(pair, drift_changes.request_adoption(**asked(pair, plan=plan, names=names)))


def reverted(pair: Drifting, plan: object = None, *names: str) -> Rollout:
    return carried_out(pair, drift_changes.request_reversion(**asked(pair, plan=plan, names=names)))


def carried_out(pair: Drifting, rollout: Rollout) -> Rollout:
    pair.now += timedelta(seconds=5)
    return pair.scene.advance(rollout, clock=Clock(now=pair.now))


def settled(pair: Drifting) -> Rollout:
    debt_settlement.settle_returned(now=pair.now)
    return carried_out(pair, pair.scene.cluster.rollouts.latest("pk"))
