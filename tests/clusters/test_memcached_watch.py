"""When the memcached of a pgpool is asked, and when it is not."""

import asyncio
from collections.abc import Iterator

import pytest

from apps.clusters.domain.memcached import MemcachedState, Place
from apps.clusters.outside import memcached
from apps.clusters.polling import memcached_watch
from apps.clusters.polling.instance_watch import InstanceWatch
from apps.clusters.polling.memcached_watch import MemcachedWatch
from apps.clusters.polling.readings import InstanceReading, MemcachedReading
from tests.clusters.test_instance_watch import NEVER_AGAIN_S, watch_of
from tests.fake_memcached import FakeMemcached
from tests.fake_pgpool import FakePgpool


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(memcached_watch, "EVERY_S", 0.0)
    monkeypatch.setattr(memcached_watch, "AGAIN_AFTER_S", 0.0)
    monkeypatch.setattr(memcached, "ANSWER_S", 0.3)
    yield


def settings_of(fake: FakeMemcached, **changes: str) -> dict[str, str]:
    return {
        "memory_cache_enabled": "on",
        "memqcache_method": "memcached",
        "memqcache_memcached_host": "localhost",
        "memqcache_memcached_port": str(fake.port),
        **changes,
    }


async def looked(watch: MemcachedWatch) -> MemcachedReading | None:
    """What the look after the next one brings, when whatever was begun has ended."""
    watch.look("127.0.0.1")
    if watch._asking is not None:
        await asyncio.wait({watch._asking})
    return watch.look("127.0.0.1")


async def test_it_is_asked_beside_the_looks_and_one_connection_at_a_time() -> None:
    async with FakeMemcached() as fake:
        watch = MemcachedWatch(None)
        watch.use(settings_of(fake))

        readings = [await looked(watch) for _ in range(4)]
        await watch.close()

    assert [one.state for one in readings if one is not None] == [MemcachedState.ALIVE] * 4
    assert fake.most_open == 1


async def test_it_is_asked_again_only_when_it_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memcached_watch, "EVERY_S", 3600.0)
    async with FakeMemcached() as fake:
        watch = MemcachedWatch(None)
        watch.use(settings_of(fake))

        readings = [await looked(watch) for _ in range(3)]
        await watch.close()

    assert readings[0] is not None
    assert (readings[1:], fake.questions) == ([None, None], 1)


@pytest.mark.parametrize("changes", [{"memory_cache_enabled": "off"}, {"memqcache_method": "shmem"}])
async def test_it_is_never_asked_where_nothing_is_cached_in_it(changes: dict[str, str]) -> None:
    async with FakeMemcached() as fake:
        watch = MemcachedWatch(None)
        watch.use(settings_of(fake, **changes))

        assert [await looked(watch) for _ in range(3)] == [None] * 3
        await watch.close()

    assert (fake.questions, fake.most_open) == (0, 0)


async def test_a_cache_that_was_turned_off_is_told_once_and_no_more_asked() -> None:
    async with FakeMemcached() as fake:
        watch = MemcachedWatch(Place("localhost", fake.port))
        assert await looked(watch) is not None
        before = fake.questions
        watch.use(settings_of(fake, memory_cache_enabled="off"))

        assert watch.look("127.0.0.1") == MemcachedReading(None)
        assert [await looked(watch) for _ in range(2)] == [None, None]
        assert fake.questions - before <= 1  # the one that was under way
        watch.use({})  # a pgpool that shows no settings changes nothing
        assert await looked(watch) is None
        await watch.close()


async def test_one_silent_moment_is_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeMemcached() as fake:
        watch = MemcachedWatch(Place("localhost", fake.port))
        asked = memcached.ask
        moods = iter(["frozen", "ok"])

        async def ask(place: Place, *, pgpool_host: str) -> object:
            fake.mode = next(moods)  # type: ignore[assignment]
            return await asked(place, pgpool_host=pgpool_host)

        monkeypatch.setattr(memcached, "ask", ask)
        reading = await looked(watch)
        monkeypatch.setattr(memcached, "ask", asked)
        await watch.close()

    assert reading is not None
    assert reading.state == MemcachedState.ALIVE
    assert fake.questions >= 2


async def test_a_frozen_one_delays_no_look_at_its_pgpool() -> None:
    """The look brings its figures while the question is still waiting for its answer."""
    async with FakePgpool() as pgpool, FakeMemcached() as fake:
        pgpool.values |= settings_of(fake)
        fake.mode = "frozen"
        watch = watch_of(pgpool)

        reading = await watch.look(pool_nodes_every_s=NEVER_AGAIN_S)
        while not fake.questions:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        during = await watch.look(pool_nodes_every_s=NEVER_AGAIN_S)
        is_waiting = watch._memcached._asking is not None
        told = await until_told(watch)
        await watch.close()

    assert (reading.state, during.state, is_waiting, told.state) == ("answering", "answering", True, "answering")
    assert told.memcached is not None
    assert told.memcached.state == MemcachedState.FROZEN
    assert fake.most_open == 1


async def test_it_is_asked_while_its_pgpool_is_silent_as_it_was_known_before() -> None:
    """With every child waiting for a frozen memcached, pgpool answers no new session."""
    async with FakePgpool() as pgpool, FakeMemcached() as fake:
        pgpool.mode, fake.mode = "hang", "frozen"
        watch = InstanceWatch(watch_of(pgpool).instance, sessions_before=0, cached_in=Place("localhost", fake.port))

        told = await until_told(watch)
        await watch.close()

    assert told.memcached is not None
    assert (told.is_answering, told.memcached.state) == (False, MemcachedState.FROZEN)


async def until_told(watch: InstanceWatch) -> InstanceReading:
    for _ in range(200):
        reading = await watch.look(pool_nodes_every_s=NEVER_AGAIN_S)
        if reading.memcached is not None:
            return reading
        await asyncio.sleep(0.02)
    pytest.fail("memcached was told of in none of 200 looks")
