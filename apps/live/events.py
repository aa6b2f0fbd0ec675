"""Tells viewers that something changed. Redis carries it; when Redis is away the message is dropped and logged once
in a while, since pages refetch by themselves.
"""

import json
import logging
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypedDict

import redis
from django.conf import settings
from django.db import transaction

logger = logging.getLogger(__name__)

CHANNEL_PREFIX = "lifeguard.live."
# A broker that is away is asked again after this many seconds: no story may wait for it.
_RETRY_AFTER_S = 5.0
_silent_until = 0.0
# Redis answers in less than a millisecond; somebody waits for the answer to their request meanwhile.
PATIENCE_S = 0.5


class FactMessage(TypedDict):
    """What a page is told, to ask again itself. What else belongs to the fact stands beside, under its own names."""

    topic: str
    fact: str


def announce(topic: str, fact: str, **facts: Any) -> None:
    """Tell viewers of a topic that a fact changed, after the commit of the transaction that is open."""
    message = {**facts, **FactMessage(topic=topic, fact=fact)}
    transaction.on_commit(lambda: publish(topic, message), robust=True)


def publish(topic: str, message: Mapping[str, Any]) -> bool:
    """Send one message to all viewers of a topic now. Returns whether Redis took it."""
    global _silent_until  # noqa: PLW0603  one broker per process, one memory of its silence
    if time.monotonic() < _silent_until:
        return False
    try:
        _client().publish(CHANNEL_PREFIX + topic, json.dumps({"topic": topic, **message}, separators=(",", ":")))
    except redis.RedisError as error:
        _silent_until = time.monotonic() + _RETRY_AFTER_S
        logger.warning("live push paused for %.0f s: %s", _RETRY_AFTER_S, error)
        return False
    return True


@lru_cache(maxsize=1)
def _client() -> "redis.Redis":
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)
