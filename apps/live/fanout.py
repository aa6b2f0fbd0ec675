"""Hands live messages to the open pages of this process: one Redis subscription, one bounded queue per page."""

import asyncio
import contextlib
import logging
import weakref
from collections import deque
from collections.abc import Iterable

import redis.asyncio
from django.conf import settings

from apps.live.events import CHANNEL_PREFIX
from apps.live.viewers import KEPT_S, KEY_PREFIX

logger = logging.getLogger(__name__)

# Messages that a page may lag behind: some seconds of a busy page. It asks for the series again after a gap.
QUEUE_LENGTH = 100
MARKED_EVERY_S = 5.0
ASKED_EVERY_S = 5.0
# Redis answers a ping every five seconds; after the third that it does not, it is taken for gone.
SILENT_AFTER_S = 15.0
LONGEST_PAUSE_S = 5.0


class Viewer:
    """One open page: what it follows, and what it has not been sent yet."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.topics = frozenset(topics)
        self.gaps: set[str] = set()
        self._waiting: deque[tuple[str, str]] = deque()
        self._has_news = asyncio.Event()

    def offer(self, topic: str, text: str) -> None:
        """Queue a message; a page that is too slow loses its oldest one, and is told that it has."""
        if len(self._waiting) >= QUEUE_LENGTH:
            lost, _ = self._waiting.popleft()
            self.gaps.add(lost)
        self._waiting.append((topic, text))
        self._has_news.set()

    async def take(self) -> str:
        """The next message, as it came from Redis."""
        while not self._waiting:
            self._has_news.clear()
            await self._has_news.wait()
        return self._waiting.popleft()[1]

    def take_gaps(self) -> set[str]:
        """Topics of which messages were lost since the last call."""
        lost, self.gaps = self.gaps, set()
        return lost


class Fanout:
    """Lives as long as a page of this process is open."""

    def __init__(self) -> None:
        self.is_connected = False
        self._viewers: dict[str, set[Viewer]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._has_new_viewer = asyncio.Event()

    def add(self, viewer: Viewer) -> None:
        for topic in viewer.topics:
            self._viewers.setdefault(topic, set()).add(viewer)
        self._has_new_viewer.set()
        if not self._tasks:
            self._tasks = [asyncio.ensure_future(self._listen()), asyncio.ensure_future(self._mark())]

    def viewers_of(self, topic: str) -> frozenset[Viewer]:
        return frozenset(self._viewers.get(topic, ()))

    async def remove(self, viewer: Viewer) -> None:
        for topic in viewer.topics:
            followers = self._viewers.get(topic, set())
            followers.discard(viewer)
            if not followers:
                self._viewers.pop(topic, None)
        if self._viewers:
            return
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self) -> None:
        """Stay subscribed, whatever Redis does."""
        pause_s = 0.1
        while True:
            try:
                async with _client() as client, client.pubsub() as subscription:
                    await subscription.psubscribe(CHANNEL_PREFIX + "*")
                    self.is_connected, pause_s = True, 0.1
                    await self._pass_on(subscription)
            except (redis.RedisError, OSError) as error:
                logger.warning("live push interrupted: %s", error)
            finally:
                self.is_connected = False
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            self._tell_gap()

    async def _pass_on(self, subscription: "redis.asyncio.client.PubSub") -> None:
        loop = asyncio.get_running_loop()
        heard_at = loop.time()
        while loop.time() - heard_at < SILENT_AFTER_S:
            message = await subscription.get_message(timeout=ASKED_EVERY_S)
            if message is None:
                await subscription.ping()
                continue
            heard_at = loop.time()
            if message["type"] == "pmessage":
                topic = message["channel"].decode().removeprefix(CHANNEL_PREFIX)
                for viewer in self.viewers_of(topic):
                    viewer.offer(topic, message["data"].decode())
        raise redis.TimeoutError(f"Redis said nothing for {SILENT_AFTER_S:.0f} s")

    def _tell_gap(self) -> None:
        """What was published while nobody listened is lost."""
        for topic, viewers in self._viewers.items():
            for viewer in viewers:
                viewer.gaps.add(topic)

    async def _mark(self) -> None:
        """Let the pollers know what is being looked at."""
        async with _client() as client:
            while True:
                self._has_new_viewer.clear()
                with contextlib.suppress(redis.RedisError, OSError):
                    async with client.pipeline(transaction=False) as pipeline:
                        for topic in self._viewers:
                            pipeline.set(KEY_PREFIX + topic, 1, ex=KEPT_S)
                        await pipeline.execute()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._has_new_viewer.wait(), MARKED_EVERY_S)


def _client() -> "redis.asyncio.Redis":
    return redis.asyncio.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=2, socket_timeout=SILENT_AFTER_S)


_fanouts: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Fanout]" = weakref.WeakKeyDictionary()


def of_this_process() -> Fanout:
    """The one of the running loop: a web process has one loop, tests have many."""
    return _fanouts.setdefault(asyncio.get_running_loop(), Fanout())
