"""The websocket end to end: real sessions, real Redis, the application as uvicorn serves it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connections, transaction
from django.test import Client

from apps.accounts.models import Membership, Organisation, User
from apps.clusters.models import Cluster
from apps.live import consumers, events, fanout, viewers
from apps.live.fanout import QUEUE_LENGTH, Viewer
from controlplane.asgi import application

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_S = 60.0


class Page:
    """A browser tab of one person."""

    def __init__(self, cookie: str, topics: str) -> None:
        scope = {
            "type": "websocket",
            "path": "/ws/live/",
            "query_string": f"topics={topics}".encode(),
            "headers": [(b"host", b"testserver"), (b"origin", b"http://testserver"), (b"cookie", cookie.encode())],
            "subprotocols": [],
        }
        self.socket = ApplicationCommunicator(application, scope)

    async def open(self) -> None:
        await self.socket.send_input({"type": "websocket.connect"})
        assert (await self.socket.receive_output(timeout=PATIENCE_S))["type"] == "websocket.accept"

    async def next(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((await self.socket.receive_output(timeout=PATIENCE_S))["text"])
        return found

    async def next_that_is_no_heartbeat(self) -> dict[str, Any]:
        while (message := await self.next()).get("fact") == "heartbeat":
            pass
        return message

    async def close_code(self) -> int:
        while (output := await self.socket.receive_output(timeout=PATIENCE_S))["type"] != "websocket.close":
            pass
        await self.close()
        return int(output["code"])

    async def close(self) -> None:
        await self.socket.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.socket.wait(timeout=PATIENCE_S)


async def wait_for(is_true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await is_true():  # noqa: ASYNC110  Redis and the database know of no events of ours
            await asyncio.sleep(0.02)


def sign_in(user: User) -> str:
    client = Client()
    client.force_login(user, backend=settings.AUTHENTICATION_BACKENDS[0])
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def make_member() -> tuple[User, Cluster, str]:
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    user = User.objects.create_user("ann@acme.example", name="Ann")
    Membership.objects.create(organisation=organisation, user=user, role="viewer")
    cluster = Cluster.objects.create(
        organisation=organisation, slug="orders", name="Orders", username="m", password="p"
    )
    return user, cluster, sign_in(user)


@pytest.fixture
async def member(transactional_db: None) -> tuple[User, Cluster, str]:
    return await sync_to_async(make_member)()


@pytest.fixture(autouse=True)
async def connections_closed(transactional_db: None) -> AsyncIterator[None]:
    """The thread that works for asynchronous code keeps its connection, and the test database could not be dropped."""
    yield
    await sync_to_async(connections.close_all)()


async def is_subscribed() -> bool:
    return fanout.of_this_process().is_connected


@pytest.fixture
async def page(member: tuple[User, Cluster, str]) -> AsyncIterator[Page]:
    _, cluster, cookie = member
    opened = Page(cookie, f"cluster.{cluster.pk},organisation.{cluster.organisation_id}")
    await opened.open()
    await wait_for(is_subscribed)
    yield opened
    await opened.close()


async def test_what_is_published_on_a_topic_reaches_its_pages(member: tuple[User, Cluster, str], page: Page) -> None:
    _, cluster, _ = member
    topic = f"cluster.{cluster.pk}"

    await sync_to_async(events.publish)("cluster.999999", {"fact": "sampled"})
    await sync_to_async(events.publish)(topic, {"seq": [1, 2], "points": {}})

    assert await page.next_that_is_no_heartbeat() == {"topic": topic, "seq": [1, 2], "points": {}}


async def test_a_fact_is_announced_after_the_commit_only(member: tuple[User, Cluster, str], page: Page) -> None:
    _, cluster, _ = member

    def announce_twice() -> None:
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            events.announce(f"cluster.{cluster.pk}", "never")
            raise ZeroDivisionError
        with transaction.atomic():
            events.announce(f"cluster.{cluster.pk}", "sampled", tick=4)

    await sync_to_async(announce_twice)()

    assert await page.next_that_is_no_heartbeat() == {"topic": f"cluster.{cluster.pk}", "fact": "sampled", "tick": 4}


async def test_a_page_hears_a_heartbeat_without_any_news(
    member: tuple[User, Cluster, str], page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert page is not None
    monkeypatch.setattr(consumers.LiveConsumer, "heartbeat_every_s", 0.05)
    _, cluster, cookie = member
    second = Page(cookie, f"cluster.{cluster.pk}")
    await second.open()

    assert await second.next() == {"topic": "live", "fact": "heartbeat"}
    await second.close()


async def test_while_a_page_is_open_its_cluster_is_known_to_be_watched(
    member: tuple[User, Cluster, str], page: Page
) -> None:
    assert page is not None
    topic = f"cluster.{member[1].pk}"

    async def is_watched() -> bool:
        return await sync_to_async(viewers.watched)([topic, "cluster.999999"]) == {topic}

    await wait_for(is_watched)


async def test_a_stranger_is_told_to_sign_in(member: tuple[User, Cluster, str]) -> None:
    stranger = Page("", f"cluster.{member[1].pk}")
    await stranger.open()

    assert await stranger.close_code() == consumers.SIGNED_OUT


@pytest.mark.parametrize("kind", ["cluster", "organisation", "rollout"])
async def test_nobody_follows_what_is_another_organisations(member: tuple[User, Cluster, str], kind: str) -> None:
    def make_other() -> tuple[str, int]:
        other = User.objects.create_user("eve@other.example", name="Eve")
        Membership.objects.create(
            organisation=Organisation.objects.create(slug="other", name="Other"), user=other, role="admin"
        )
        keys = {"cluster": member[1].pk, "organisation": member[1].organisation_id, "rollout": 1}
        return sign_in(other), keys[kind]

    cookie, key = await sync_to_async(make_other)()
    intruder = Page(cookie, f"{kind}.{key}")
    await intruder.open()

    assert await intruder.close_code() == consumers.NOT_ALLOWED


@pytest.mark.parametrize("topics", ["", "weather.1", "cluster.0", "cluster.x", "cluster"])
async def test_an_unknown_topic_is_refused(member: tuple[User, Cluster, str], topics: str) -> None:
    asker = Page(member[2], topics)
    await asker.open()

    assert await asker.close_code() == consumers.NO_SUCH_TOPIC


async def test_too_many_topics_are_refused(member: tuple[User, Cluster, str]) -> None:
    asker = Page(member[2], ",".join(f"cluster.{number}" for number in range(1, consumers.MOST_TOPICS + 2)))
    await asker.open()

    assert await asker.close_code() == consumers.NO_SUCH_TOPIC


async def test_who_signs_out_elsewhere_is_cut_off(
    member: tuple[User, Cluster, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers.LiveConsumer, "allowed_asked_every_s", 0.2)
    _, cluster, cookie = member
    opened = Page(cookie, f"cluster.{cluster.pk}")
    await opened.open()

    await sync_to_async(Session.objects.all().delete)()

    assert await opened.close_code() == consumers.SIGNED_OUT


async def test_who_leaves_the_organisation_is_cut_off(
    member: tuple[User, Cluster, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers.LiveConsumer, "allowed_asked_every_s", 0.2)
    user, cluster, cookie = member
    opened = Page(cookie, f"cluster.{cluster.pk}")
    await opened.open()

    await sync_to_async(Membership.objects.filter(user=user).delete)()

    assert await opened.close_code() == consumers.NOT_ALLOWED


async def test_a_page_that_is_too_slow_loses_its_oldest_messages_and_knows_of_the_gap() -> None:
    viewer = Viewer(["cluster.1"])

    for number in range(QUEUE_LENGTH + 2):
        viewer.offer("cluster.1", str(number))

    assert await viewer.take() == "2"
    assert viewer.take_gaps() == {"cluster.1"}
    assert viewer.take_gaps() == set()


async def test_after_a_break_of_redis_the_page_hears_of_the_gap_and_of_what_comes(
    member: tuple[User, Cluster, str], page: Page
) -> None:
    topic = f"cluster.{member[1].pk}"
    process = fanout.of_this_process()

    async def is_back() -> bool:
        return process.is_connected and all(topic in viewer.gaps for viewer in process.viewers_of(topic))

    await sync_to_async(cut_subscriptions)()
    await wait_for(is_back)
    await sync_to_async(events.publish)(topic, {"fact": "sampled"})

    assert await page.next_that_is_no_heartbeat() == {"topic": topic, "fact": "gap"}


def cut_subscriptions() -> None:
    """As a restart of Redis does to every subscriber."""
    import redis

    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.client_kill_filter(_type="pubsub")
