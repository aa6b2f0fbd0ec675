"""A broker that hangs: the row of a rollout is stored all the same, and nobody waits long for their answer."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from celery import current_app

from apps.clusters.control.rollout_rows import NUDGE_PATIENCE, nudge
from apps.live import events


class FrozenRedis:
    """Takes connections and never answers, as a Redis that was stopped by a signal."""

    def __init__(self) -> None:
        self.connections: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listening.getsockname()[1]}/0"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections.append(connection)

    def close(self) -> None:
        # shutdown wakes the thread that waits in accept; close alone leaves it there.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in self.connections:
            connection.close()


@pytest.fixture
def frozen(settings: Any) -> Iterator[FrozenRedis]:
    redis = FrozenRedis()
    asked_before, settings.REDIS_URL = current_app.conf.broker_url, redis.url
    current_app.conf.broker_url = redis.url
    events._client.cache_clear()
    events._silent_until = 0.0
    try:
        yield redis
    finally:
        current_app.conf.broker_url = asked_before
        events._client.cache_clear()
        events._silent_until = 0.0
        redis.close()


def test_a_broker_that_hangs_is_asked_once_and_given_up(frozen: FrozenRedis, caplog: pytest.LogCaptureFixture) -> None:
    nudge(7)

    assert "the broker took no nudge: task=clusters.advance_rollout row=7" in caplog.text
    assert len(frozen.connections) == 1


def test_of_several_facts_only_the_first_waits_for_a_redis_that_hangs(frozen: FrozenRedis) -> None:
    taken = [events.publish("cluster.7", {"fact": "rollout"}) for _ in range(5)]

    assert taken == [False] * 5
    assert len(frozen.connections) == 1


def test_both_together_keep_a_request_waiting_for_a_second_at_most() -> None:
    # Connecting succeeds at once where the far side is frozen, since its kernel answers; or it is what takes all.
    longest_s = max(NUDGE_PATIENCE["socket_connect_timeout"], NUDGE_PATIENCE["socket_timeout"]) + events.PATIENCE_S

    assert longest_s <= 1
    assert NUDGE_PATIENCE["max_retries"] == 0
