"""A Celery worker killed with SIGKILL in the middle of a rollout: the next one completes it from the rows."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone

from apps.clusters.control import rollouts, weight_change
from apps.clusters.models import Rollout
from deploy.lab import Lab
from tests.lab.registered import delivery_directory, register_lab

# Rows must be committed for the worker, a process of its own, to see them.
pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[2]
Wait = Callable[..., None]


def worker_environment(lab: Lab) -> dict[str, str]:
    """Of the tests' own database, not of the one that stands beside it."""
    database = connection.settings_dict
    host, port, user, password = (database[name] for name in ("HOST", "PORT", "USER", "PASSWORD"))
    return {
        **os.environ,
        "LIFEGUARD_DATABASE_URL": f"postgresql://{user}:{password}@{host}:{port}/{database['NAME']}",
        "LIFEGUARD_LOCAL_DELIVERY_DIRS": str(delivery_directory(lab)),
        "PYTHONWARNINGS": "default",
    }


@contextmanager
def worker(lab: Lab, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of the rollout queue in a process group of its own, killed as a whole at the end."""
    command = [sys.executable, "-m", "celery", "-A", "controlplane", "worker", "-Q", "rollout", "-c", "1"]
    command += ["--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "INFO"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=worker_environment(lab), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)


def test_a_worker_killed_in_a_rollout_is_replaced_and_the_rollout_verified(
    restored_lab: Lab, settings: Any, tmp_path: Path, wait_until: Wait
) -> None:
    cluster, caller = register_lab(restored_lab, settings)
    forth = weight_change.request_weights(
        caller=caller, cluster=cluster, weights={"0": 0, "1": 1, "2": 0}, now=timezone.now()
    )
    rollouts.advance(rollout_id=forth.pk, holder="test", clock=timezone.now)
    forth.refresh_from_db()
    # It holds the first worker up in the middle; only a way back goes as far as to write to one that is silent.
    restored_lab.freeze("pgpool-2")
    with ExitStack() as stack:
        first = stack.enter_context(worker(restored_lab, tmp_path / "first.log"))
        rollout = rollouts.request_rollback(
            caller=caller, rollout=forth, plan={"strategy": "one_by_one"}, now=timezone.now()
        )
        wait_until(lambda: rollout.steps.filter(position=1, is_touched=True).exists(), "pgpool-2 is being changed")
        kill(first)
        assert Rollout.objects.get(pk=rollout.pk).state == "running"
        assert rollout.steps.get(position=0).state == "verified"
        restored_lab.resume("pgpool-2")
        stack.enter_context(worker(restored_lab, tmp_path / "second.log"))

        def has_ended() -> bool:
            current_app.send_task("clusters.advance_rollouts", expires=10)  # as beat does
            return Rollout.objects.get(pk=rollout.pk).state not in Rollout.ACTIVE

        wait_until(has_ended, "the second worker ends the rollout", within_s=120)

    rollout.refresh_from_db()
    log = "\n".join(f"{line.instance_name}: {line.text}" for line in rollout.log.order_by("pk"))
    assert rollout.state == "verified", log
    assert list(rollout.steps.order_by("position").values_list("state", flat=True)) == ["verified"] * 3
    for pgpool in restored_lab.plan.pgpools:
        assert [float(row["lb_weight"]) for row in restored_lab.pgpools.nodes(pgpool)] == [0, 0.5, 0.5]


def test_the_worker_and_the_tests_share_their_broker() -> None:
    """Otherwise the test above would wait for a worker that never hears of it."""
    assert current_app.conf.broker_url == django_settings.REDIS_URL
