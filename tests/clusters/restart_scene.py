"""Two pgpools that wait for a restart, and a worker that looks whenever a test says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from apps.clusters.control import restart_steps, restarts
from apps.clusters.models import PendingRestart, RestartStep, RollingRestart
from controlplane.environment import RestartCommand
from tests.clusters.rollout_scene import NOW, Clock, Scene, scene

# The fake restarts when it is connected to next.
COMMAND = ("/bin/sh", "-c", 'echo restarting; touch "$0.restart"', "{path}")


@contextmanager
def restarting(directory: Path, settings: Any) -> Iterator[Scene]:
    """Two pgpools whose files say max_pool = 8, and which use 4 until they are restarted."""
    settings.RESTART_COMMANDS = [RestartCommand("acme", "fake", COMMAND)]
    with scene(directory, settings, pgpools=2) as found:
        found.cluster.instances.update(restart_command="fake")
        for pgpool, conf, instance in zip(found.pgpools, found.confs, found.instances, strict=True):
            conf.write_text(f"{conf.read_text()}max_pool = 8\n")
            pgpool.values["max_pool"] = "4"
            pgpool.kept_on_reload = {"max_pool"}
            PendingRestart.objects.create(instance=instance, name="max_pool", wanted="8", running="4", since=NOW)
        yield found


def request(acme: Scene, *names: str) -> RollingRestart:
    return restarts.request(caller=acme.caller, cluster=acme.cluster, names=names or None, note="max_pool", now=NOW)


def advance(
    restart: RollingRestart, *, now: datetime = NOW, holder: str = "worker", step_s: float = 0
) -> RollingRestart:
    """step_s: how far the clock goes with every look at it, where something is waited for in vain."""
    clock = Clock(now=now, step_s=step_s)
    restart_steps.advance(restart_id=restart.pk, holder=holder, clock=clock, sleep=clock.sleep)
    restart.refresh_from_db()
    return restart


def until_it_ends(restart: RollingRestart, clock: Clock, *, ticks: int = 200) -> RollingRestart:
    """With a tick of beat every two seconds."""
    for _ in range(ticks):
        restart_steps.advance(restart_id=restart.pk, holder="worker", clock=clock, sleep=clock.sleep)
        restart.refresh_from_db()
        if restart.state != RollingRestart.State.RUNNING:
            break
        clock.sleep(2)
    return restart


def ordered(restart: RollingRestart, acme: Scene, **more: Any) -> None:
    """pgpool-1 was told to restart, and then all workers were killed."""
    ready = restart_steps.restart_checks.prepare(acme.cluster, acme.instances[0])
    row = {"state": "ordered", "attempts": 1, "ordered_at": NOW, "answered_at": NOW, "before": ready.before}
    restart.steps.filter(position=0).update(**row, receipt={"checked": ready.checked}, **more)


def steps(restart: RollingRestart) -> list[RestartStep]:
    return list(restart.steps.order_by("position"))


def states(restart: RollingRestart) -> list[str]:
    return [step.state for step in steps(restart)]


def counts(acme: Scene) -> list[int]:
    return [pgpool.restart_count for pgpool in acme.pgpools]


def allow(settings: Any, script: str) -> None:
    settings.RESTART_COMMANDS = [RestartCommand(None, "fake", ("/bin/sh", "-c", script, "{path}"))]
