"""Who has a page open: while someone looks at a cluster it is polled more often. Redis keeps it for some seconds;
without Redis nobody is known to look.
"""

import logging
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import cast

import redis
from django.conf import settings

logger = logging.getLogger(__name__)

KEY_PREFIX = "lifeguard.watched."
KEPT_S = 15
# A broker that is away is asked again after this many seconds.
_RETRY_AFTER_S = 5.0
_silent_until = 0.0


def watched(topics: Sequence[str]) -> set[str]:
    """Those of the topics that somebody follows."""
    global _silent_until  # noqa: PLW0603  one broker per process, one memory of its silence
    if not topics or time.monotonic() < _silent_until:
        return set()
    try:
        marks = cast("list[bytes | None]", _client().mget([KEY_PREFIX + topic for topic in topics]))
    except redis.RedisError as error:
        _silent_until = time.monotonic() + _RETRY_AFTER_S
        logger.warning("nobody is known to look, for %.0f s: %s", _RETRY_AFTER_S, error)
        return set()
    return {topic for topic, mark in zip(topics, marks, strict=True) if mark is not None}


@lru_cache(maxsize=1)
def _client() -> "redis.Redis":
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1)
