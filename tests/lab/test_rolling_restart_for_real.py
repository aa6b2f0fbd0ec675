"""A parameter that only a restart brings in: rolled out, waiting, then every pgpool of the lab restarted in turn."""

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from apps.clusters.control import restart_steps, restarts, rollouts
from apps.clusters.control.parameter_change import Wish, request_change
from apps.clusters.models import PendingRestart
from controlplane.environment import RestartCommand
from deploy.lab import Lab
from tests.lab.registered import register_lab

pytestmark = pytest.mark.django_db


def max_pool(lab: Lab) -> list[str]:
    found = []
    for pgpool in lab.plan.pgpools:
        with lab.pgpools.connect(pgpool) as connection:
            row = connection.execute("PGPOOL SHOW max_pool").fetchone()
        assert row is not None
        found.append(row[0])
    return found


@pytest.fixture
def lab_put_back(restored_lab: Lab, first_files: dict[Path, str]) -> Iterator[Lab]:
    """What only a restart brings in is taken back by one: repairing the lab starts what is stopped."""
    yield restored_lab
    for pgpool in restored_lab.plan.pgpools:
        restored_lab.account.file(Path(pgpool.conf), first_files[Path(pgpool.conf)])
        restored_lab.stop(pgpool.name)


def test_a_parameter_that_waits_for_a_restart_is_live_after_a_rolling_one(
    lab_put_back: Lab, settings: Any, wait_until: Callable[..., None]
) -> None:
    lab = lab_put_back
    cluster, caller = register_lab(lab, settings)
    repository = str(Path(__file__).parents[2])
    # As the demo does it.
    restart_one = (sys.executable, "-m", "deploy.lab", "restart", "--root", str(lab.root), "{path}")
    command = ("/usr/bin/env", f"PYTHONPATH={repository}", *restart_one)
    settings.RESTART_COMMANDS = [RestartCommand(None, "lab", command)]
    cluster.instances.update(restart_command="lab")
    before = max_pool(lab)
    wish = Wish({"max_pool": "3"})
    rollout = request_change(caller=caller, cluster=cluster, wish=wish, now=timezone.now())
    rollouts.advance(rollout_id=rollout.pk, holder="test", clock=timezone.now)
    rollout.refresh_from_db()
    assert rollout.state == "verified", rollout.halt_reason
    assert (max_pool(lab), PendingRestart.objects.count()) == (before, 3)
    assert "3" not in before
    client = lab.pgpools.connect(lab.plan.pgpools[1], user="app", database="shop")

    restart = restarts.request(caller=caller, cluster=cluster, now=timezone.now())
    assert "Restarting pgpool-2 cuts its 1 client session." in restart.risks

    def has_ended() -> bool:
        """As with every tick of beat: a pgpool that takes long is left to a later one."""
        restart_steps.advance(restart_id=restart.pk, holder="test", clock=timezone.now)
        restart.refresh_from_db()
        return restart.finished_at is not None

    wait_until(has_ended, "the restart has ended", within_s=300)
    assert restart.state == "done", restart.outcome
    assert max_pool(lab) == ["3"] * 3
    assert not PendingRestart.objects.exists()
    steps = list(restart.steps.order_by("position"))
    for step in steps:
        old, new = step.receipt["checked"]["generation"], step.receipt["generation"]
        assert not set(old["children"]) & set(new["children"])
        assert old["began"] != new["began"]
        assert step.receipt["out_of_service_s"] > 0
        [read] = [one for one in step.receipt["read_back"]["parameters"] if one["name"] == "max_pool"]
        assert (read["state"], read["seen"]) == ("live", ["3"] * 3)
    # Never two at once: each serves again before the next one is told to restart.
    assert all(one.serves_at <= then.ordered_at for one, then in itertools.pairwise(steps))
    with pytest.raises(psycopg.OperationalError):
        client.execute("SELECT 1")
