"""The websocket of a page: /ws/live/?topics=cluster.7,organisation.1. Sends only; what a page says is ignored."""

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from channels.auth import get_user
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from apps.live import fanout, topics
from apps.live.events import FactMessage
from apps.live.fanout import Viewer

logger = logging.getLogger(__name__)

SIGNED_OUT = 4401
NOT_ALLOWED = 4403
NO_SUCH_TOPIC = 4404
MOST_TOPICS = 20
# Facts that this socket says of itself: it stands; messages of a topic were lost.
HEARTBEAT = "heartbeat"
GAP = "gap"
HEARTBEAT_EVERY_S = 5.0
ALLOWED_ASKED_EVERY_S = 60.0


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels ships no types
    """Sends what is published on its topics, and a heartbeat while the subscription stands."""

    heartbeat_every_s = HEARTBEAT_EVERY_S
    allowed_asked_every_s = ALLOWED_ASKED_EVERY_S

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._viewer: Viewer | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def connect(self) -> None:
        # A refusal before accept would reach the page as a bare HTTP 403, without its reason.
        await self.accept()
        asked = topics_asked(self.scope["query_string"])
        refusal = await self._refusal(asked)
        if refusal is not None:
            await self.close(code=refusal)
            return
        self._viewer = Viewer(asked)
        fanout.of_this_process().add(self._viewer)
        self._tasks = [
            asyncio.ensure_future(self._send_messages(self._viewer)),
            asyncio.ensure_future(self._beat()),
            asyncio.ensure_future(self._ask_again(asked)),
        ]

    async def disconnect(self, code: int) -> None:
        viewer, self._viewer = self._viewer, None
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if viewer is not None:
            await fanout.of_this_process().remove(viewer)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Pages have nothing to say here."""

    async def _send_messages(self, viewer: Viewer) -> None:
        while True:
            text = await viewer.take()
            await self._send_gaps(viewer)
            await self.send(text_data=text)

    async def _send_gaps(self, viewer: Viewer) -> None:
        for topic in sorted(viewer.take_gaps()):
            await self.send(text_data=json.dumps(FactMessage(topic=topic, fact=GAP)))

    async def _beat(self) -> None:
        """While Redis is away there is no heartbeat: the page then goes on by itself."""
        while True:
            if fanout.of_this_process().is_connected:
                await self.send(text_data=json.dumps(FactMessage(topic="live", fact=HEARTBEAT)))
            await asyncio.sleep(self.heartbeat_every_s)

    async def _ask_again(self, asked: frozenset[str]) -> None:
        """People are signed out and lose memberships while their pages are open."""
        while True:
            await asyncio.sleep(self.allowed_asked_every_s)
            refusal = await self._refusal(asked)
            if refusal is not None:
                # close() ends in disconnect(), which ends this task.
                await self.close(code=refusal)
                return

    async def _refusal(self, asked: frozenset[str]) -> int | None:
        """The code to close with; None if all topics may be followed."""
        if not asked or len(asked) > MOST_TOPICS:
            return NO_SUCH_TOPIC
        if not await database_sync_to_async(is_signed_in)(self.scope):
            return SIGNED_OUT
        refusal: int | None = await database_sync_to_async(refusal_of)(await get_user(self.scope), asked)
        return refusal


def topics_asked(query_string: bytes) -> frozenset[str]:
    values = parse_qs(query_string.decode("ascii", errors="replace")).get("topics", [])
    return frozenset(topic for value in values for topic in value.split(",") if topic)


def is_signed_in(scope: Mapping[str, Any]) -> bool:
    """Whether the session still exists: signing out deletes its row, whatever this connection remembers of it."""
    session = scope.get("session")
    key = getattr(session, "session_key", None)
    return session is not None and key is not None and bool(session.exists(key))


def refusal_of(user: AbstractBaseUser | AnonymousUser, asked: frozenset[str]) -> int | None:
    if not user.is_authenticated or not user.is_active:
        return SIGNED_OUT
    try:
        return None if all(topics.may_follow(user, topic) for topic in sorted(asked)) else NOT_ALLOWED
    except topics.TopicUnknown:
        return NO_SUCH_TOPIC
