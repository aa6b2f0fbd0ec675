"""A memcached that freezes, is gone or answers again is an event, once for all pgpools that cache in it."""

from collections.abc import Iterator
from datetime import datetime

import pytest

from apps.accounts.models import Organisation
from apps.clusters.domain.memcached import MemcachedState, MemcachedStats, MemcachedTold, Place
from apps.clusters.models import Cluster, ClusterEvent, InstanceLatest
from apps.clusters.polling import memcached_watch
from apps.clusters.polling.memcached_changes import memcached_changes, note_memcacheds
from apps.clusters.polling.memory import ClusterMemory, remembered
from apps.clusters.polling.readings import InstanceReading, MemcachedReading, Tick
from apps.clusters.polling.registry import watched_cluster
from tests.clusters.callers_at_doors import browser
from tests.clusters.polling_scene import scene, wait_until, watching
from tests.clusters.seen_cluster import NOW, ago, cluster_health, poll, register
from tests.fake_memcached import FakeMemcached

ALIVE = MemcachedTold(MemcachedState.ALIVE, stats=MemcachedStats("1.6.18", items=20))
FROZEN = MemcachedTold(MemcachedState.FROZEN, "it takes connections, and gave no answer within 1 s")
GONE = MemcachedTold(MemcachedState.GONE, "cache-1:11211 cannot be reached: connection refused")
UNSEEN = MemcachedTold(MemcachedState.UNREACHABLE, "the name 'cache-1' does not resolve")
TIMED_OUT = MemcachedTold(MemcachedState.UNREACHABLE, "did not accept a connection", is_connect_timeout=True)
SHARED = Place("cache-1", 11211)


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    found = register(organisation)
    poll(found)
    return found


class Watch:
    """What one worker after another makes of what the memcacheds tell."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.memory = ClusterMemory()
        self.begin_anew()

    def begin_anew(self) -> None:
        self.memory = remembered(self.cluster.pk)

    def sees(self, *told: MemcachedTold | None, seconds: float, place: Place | None = SHARED) -> list[str]:
        """The titles of what is news. told: by pgpool-1, pgpool-2; None was not asked."""
        return [title for title, _ in self.sees_in_words(*told, asked_at=ago(-seconds), place=place)]

    def sees_in_words(
        self, *told: MemcachedTold | None, asked_at: datetime, place: Place | None = SHARED
    ) -> list[tuple[str, str]]:
        readings = []
        for instance, one in zip(self.cluster.instances.order_by("name"), told, strict=False):
            asked = place.asked(instance.host) if place is not None else ""
            memcached = MemcachedReading(place, one, asked, asked_at) if one is not None else None
            readings.append(InstanceReading(instance.pk, "answering", memcached=memcached))
        tick = Tick(asked_at, 1, tuple(readings), ())
        found = memcached_changes(cluster=watched_cluster(self.cluster), memory=self.memory, tick=tick)
        note_memcacheds(tick, self.memory)
        return [(one.title, one.detail) for one in found]


@pytest.fixture
def watch(cluster: Cluster) -> Watch:
    return Watch(cluster)


@pytest.mark.django_db
def test_each_change_is_told_once_for_all_pgpools_and_by_one_worker(watch: Watch) -> None:
    assert watch.sees(ALIVE, ALIVE, seconds=0) == []

    [(title, detail)] = watch.sees_in_words(FROZEN, FROZEN, asked_at=ago(-10))
    assert title == "memcached at cache-1:11211 does not answer"
    assert detail == (
        "It takes connections, and gave no answer within 1 s. Each SELECT through pgpool-1 and pgpool-2 may "
        "wait up to 35 s for it. Let it run again, or end it: without memcached SELECTs go on, only uncached."
    )
    assert watch.sees(FROZEN, FROZEN, seconds=20) == []
    watch.begin_anew()
    assert watch.sees(FROZEN, None, seconds=30) == []
    assert watch.sees(None, GONE, seconds=40) == ["memcached at cache-1:11211 is gone"]
    watch.begin_anew()
    assert watch.sees(ALIVE, ALIVE, seconds=50) == ["memcached at cache-1:11211 answers again"]


@pytest.mark.django_db
def test_that_it_cannot_be_seen_is_no_news_and_changes_nothing(watch: Watch) -> None:
    watch.sees(FROZEN, FROZEN, seconds=0)

    assert watch.sees(UNSEEN, UNSEEN, seconds=10) == []
    watch.begin_anew()
    assert watch.sees(FROZEN, FROZEN, seconds=20) == []
    assert watch.sees(UNSEEN, UNSEEN, seconds=30) == []
    assert watch.sees(ALIVE, ALIVE, seconds=40) == ["memcached at cache-1:11211 answers again"]


@pytest.mark.django_db
def test_one_that_was_never_alive_is_told_as_well(watch: Watch) -> None:
    assert watch.sees(UNSEEN, seconds=0) == []
    assert watch.sees(GONE, seconds=10) == ["memcached at cache-1:11211 is gone"]


@pytest.mark.django_db
def test_an_older_answer_that_comes_later_is_no_news(watch: Watch) -> None:
    watch.sees(FROZEN, FROZEN, seconds=0)

    assert watch.sees(ALIVE, None, seconds=10) == ["memcached at cache-1:11211 answers again"]
    assert watch.sees(None, FROZEN, seconds=8) == []  # asked before it went on
    assert watch.sees(None, ALIVE, seconds=18) == []


@pytest.mark.django_db
def test_pgpools_with_a_memcached_each_are_told_apart(watch: Watch) -> None:
    own = Place("localhost", 11211)
    watch.sees(ALIVE, ALIVE, seconds=0, place=own)

    assert watch.sees(FROZEN, ALIVE, seconds=10, place=own) == ["memcached at pool1.example:11211 does not answer"]


@pytest.mark.django_db
def test_the_row_says_since_when_and_is_emptied_with_the_cache(watch: Watch, cluster: Cluster) -> None:
    def row() -> tuple[str, str, str]:
        kept = InstanceLatest.objects.get(instance__name="pgpool-1").memcached
        return kept["state"], kept["since"], kept["asked_at"]

    watch.sees(FROZEN, seconds=0)
    watch.sees(TIMED_OUT, seconds=10)  # its queue is full now
    assert row() == ("frozen", ago(0).isoformat(), ago(-10).isoformat())
    watch.sees(ALIVE, seconds=20)
    assert row() == ("alive", ago(-20).isoformat(), ago(-20).isoformat())

    off = Tick(NOW, 1, (InstanceReading(cluster.instances.get(name="pgpool-1").pk, "answering",
                                        memcached=MemcachedReading(None)),), ())  # fmt: skip
    memcached_changes(cluster=watched_cluster(cluster), memory=watch.memory, tick=off)
    note_memcacheds(off, watch.memory)

    assert InstanceLatest.objects.get(instance__name="pgpool-1").memcached is None
    assert watch.memory.memcacheds_known == {}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("told", "state", "word", "words"),
    [
        (ALIVE, "ok", "Healthy", ""),
        (UNSEEN, "ok", "Healthy", ""),
        (FROZEN, "crit", "memcached frozen", "Each SELECT through pgpool-1 and pgpool-2 may wait up to 35 s"),
        (GONE, "warn", "memcached gone", "SELECTs through pgpool-1 and pgpool-2 go on, but nothing is cached"),
    ],
)
def test_the_cluster_is_as_well_as_its_memcached(
    watch: Watch, cluster: Cluster, told: MemcachedTold, state: str, word: str, words: str
) -> None:
    watch.sees(told, told, seconds=0)

    health = cluster_health(cluster=cluster, now=NOW)

    assert (health["state"], health["word"]) == (state, word)
    assert words in " ".join(health["reasons"])


@pytest.mark.django_db
def test_what_was_seen_a_while_ago_is_not_claimed_about_now(watch: Watch, cluster: Cluster) -> None:
    watch.sees(FROZEN, seconds=-61)

    assert cluster_health(cluster=cluster, now=NOW)["state"] == "ok"


@pytest.mark.django_db
def test_a_cluster_that_is_out_of_sight_by_it_says_so_first(watch: Watch, cluster: Cluster) -> None:
    """Every child of the pgpools waits for memcached: no pgpool answers any more."""
    poll(cluster, answered_at=ago(60), state="hanging", reason="SHOW got no answer")
    watch.sees(FROZEN, FROZEN, seconds=0)

    health = cluster_health(cluster=cluster, now=NOW)

    assert health["state"] == "stale"
    assert health["reasons"][0].startswith("memcached at cache-1:11211 does not answer. Each SELECT through pgpool-1")


@pytest.fixture
def shared() -> Iterator[FakeMemcached]:
    with FakeMemcached().running() as found:
        yield found


@pytest.mark.django_db(transaction=True)
def test_a_poll_makes_events_that_pages_show(
    shared: FakeMemcached, monkeypatch: pytest.MonkeyPatch, settings: object, transactional_db: None
) -> None:
    monkeypatch.setattr(memcached_watch, "EVERY_S", 0.1)
    monkeypatch.setattr(memcached_watch, "AGAIN_AFTER_S", 0.0)

    def titles() -> list[str]:
        return list(ClusterEvent.objects.filter(kind="memcached").order_by("pk").values_list("title", flat=True))

    def all_see(state: str) -> bool:
        rows = InstanceLatest.objects.order_by("pk").values_list("memcached__state", flat=True)
        return list(rows) == [state, state]

    with scene(pgpools=2) as found:
        viewer = browser("viewer", "watchers")
        for pgpool in found.pgpools.values():
            pgpool.values |= {
                "memory_cache_enabled": "on",
                "memqcache_method": "memcached",
                "memqcache_memcached_host": "localhost",
                "memqcache_memcached_port": str(shared.port),
            }
        with watching():
            wait_until(lambda: all_see("alive"), "it is alive")
            shared.mode = "frozen"
            wait_until(lambda: all_see("frozen"), "it is frozen")
            frozen = viewer.get("/o/watchers/clusters/orders/").content.decode()
            seen_while_frozen = {one.latest.state for one in found.cluster.instances.select_related("latest")}
            shared.mode = "ok"
            wait_until(lambda: all_see("alive"), "it is alive again")
            shared.end()
            wait_until(lambda: all_see("gone"), "it is gone")
            shared.begin()
            wait_until(lambda: all_see("alive"), "it is alive once more")

    place = f"memcached at 127.0.0.1:{shared.port}"
    assert titles() == [
        f"{place} does not answer", f"{place} answers again", f"{place} is gone", f"{place} answers again"
    ]  # fmt: skip
    assert seen_while_frozen == {"answering"}
    assert "Each SELECT through pgpool-1 and pgpool-2 may wait up to 35 s" in frozen
    events = viewer.get("/o/watchers/clusters/orders/events/").content.decode()
    assert f"{place} does not answer" in events
    problems = ClusterEvent.objects.filter(kind="memcached").order_by("pk").values_list("is_problem", flat=True)
    assert list(problems) == [True, False, True, False]
    assert shared.most_open <= 2  # one of each pgpool
