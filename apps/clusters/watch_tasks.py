"""Celery doors of polling and of history."""

import logging
import mmap
import os
from typing import Any

import redis
from celery import shared_task
from celery.signals import worker_shutting_down
from django.conf import settings
from django.utils import timezone

from apps.clusters.history import partitions
from apps.clusters.polling import file_watch
from apps.clusters.polling.watch import ShardWatch, holder_name, watch_shard

logger = logging.getLogger(__name__)

# One byte that a worker shares with the children it forks after loading this: they see when it is told to end.
_stopping = mmap.mmap(-1, 1)


@worker_shutting_down.connect(weak=False)
def note_stop(**_facts: Any) -> None:
    _stopping[0] = 1


@shared_task(name="clusters.watch_shard")
def watch(shard: int) -> None:
    """Watch a shard for a minute, or wait some seconds for the lease; beat sends this every five seconds."""
    parent = os.getppid()
    watch_shard(
        ShardWatch(
            shard=shard,
            shards=settings.POLL_SHARDS,
            holder=holder_name(),
            clock=timezone.now,
            is_stopping=lambda: _stopping[0] == 1 or os.getppid() != parent,
            is_broker_silent=broker_is_silent,
        )
    )


@shared_task(name="clusters.look_at_files")
def look_at_files() -> None:
    """Compare the files that are due with what was verified; beat sends this every five seconds."""
    file_watch.look(holder=holder_name(), clock=timezone.now)


@shared_task(name="clusters.keep_history")
def keep_history() -> None:
    """Make the partitions of the days to come, drop those of days long gone."""
    now = timezone.now()
    made = partitions.ensure_partitions(now=now)
    dropped = partitions.drop_old_samples(now=now)
    if made or dropped:
        logger.info("partitions: made=%s dropped=%s", len(made), len(dropped))


def broker_is_silent() -> bool:
    """Whether nobody could be told to take over from us now."""
    broker = redis.Redis.from_url(settings.CELERY_BROKER_URL, socket_timeout=1, socket_connect_timeout=1)
    try:
        return not broker.ping()
    except redis.RedisError:
        return True
    finally:
        broker.close()
