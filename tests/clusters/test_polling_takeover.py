"""A watching process that is killed outright: another takes the shard over from the rows, within seconds."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.db import connection

from apps.clusters.models import InstanceSample, Shard
from tests.clusters.polling_scene import Scene, scene, wait_until, watching

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.waits]

WATCH = """
import django
django.setup()
from django.utils import timezone
from apps.clusters.polling.watch import ShardWatch, watch_shard
watch_shard(ShardWatch(shard=0, shards=1, holder="killed", clock=timezone.now, run_s=600))
"""


@contextmanager
def watching_process() -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own that watches with the test's database."""
    url = urlsplit(os.environ["LIFEGUARD_DATABASE_URL"])
    name = str(connection.settings_dict["NAME"])
    environment = {
        **os.environ,
        "LIFEGUARD_DATABASE_URL": urlunsplit(url._replace(path=f"/{name}")),
        "DJANGO_SETTINGS_MODULE": "controlplane.settings",
    }
    process = subprocess.Popen([sys.executable, "-c", WATCH], env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def samples(made: Scene) -> int:
    return InstanceSample.objects.filter(instance_id=made.instance("pgpool-1").pk).count()


def test_when_the_watching_process_is_killed_another_takes_over() -> None:
    with scene() as made, watching_process() as process:
        wait_until(lambda: samples(made) >= 2, "the process watches")
        process.send_signal(signal.SIGKILL)
        process.wait()
        seen = samples(made)

        with watching(holder="second"):
            wait_until(lambda: samples(made) > seen, "the second watches")
            shard = Shard.objects.get(number=0)

    assert (shard.holder, shard.epoch) == ("second", 2)


def test_a_process_that_is_told_to_end_lets_go_of_the_lease() -> None:
    with scene() as made, watching_process() as process:
        wait_until(lambda: samples(made) >= 1, "the process watches")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        wait_until(lambda: made.pgpools["pgpool-1"].open_sessions == 0, "pgpool is let go")

    shard = Shard.objects.get(number=0)
    assert (shard.holder, shard.expires_at) == ("", None)
