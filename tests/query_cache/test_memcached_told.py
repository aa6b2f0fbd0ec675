"""How the memcached of each pgpool is, by REST and on the page of the cache."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.clusters.domain.memcached import MemcachedState, MemcachedStats, MemcachedTold, Place
from apps.clusters.domain.memcached_seen import MemcachedSeen, kept
from apps.clusters.models import Cluster, InstanceConfig, InstanceLatest
from tests.clusters.callers_at_doors import browser, script
from tests.query_cache.conftest import RUNNING

pytestmark = pytest.mark.django_db

CACHE = "/api/v1/clusters/orders/cache/"
PAGE = "/o/acme/clusters/orders/cache/"
SINCE = datetime(2026, 3, 17, 14, 25, 2, tzinfo=UTC)
ALIVE = MemcachedTold(
    MemcachedState.ALIVE,
    stats=MemcachedStats("1.6.18", items=1_234, used_bytes=16 << 20, limit_bytes=64 << 20, evictions=7, uptime_s=60),
)
FROZEN = MemcachedTold(MemcachedState.FROZEN, "it takes connections, and gave no answer within 1 s")
GONE = MemcachedTold(MemcachedState.GONE, "127.0.0.1:11211 cannot be reached: connection refused")
UNSEEN = MemcachedTold(MemcachedState.UNREACHABLE, "127.0.0.1:11211 refuses Lifeguard")


@pytest.fixture
def shared(cluster: Cluster) -> Cluster:
    """Both pgpools cache in the memcached of their own machine."""
    InstanceConfig.objects.update(running=RUNNING | {"memqcache_method": "memcached"})
    return cluster


def see(told: MemcachedTold, *, asked_before_s: float = 5, **only: Any) -> datetime:
    asked_at = timezone.now() - timedelta(seconds=asked_before_s)
    seen = MemcachedSeen(Place("localhost", 11211), "127.0.0.1:11211", told, SINCE, asked_at, told.state)
    InstanceLatest.objects.filter(**only).update(memcached=kept(seen))
    return asked_at


def read() -> dict[str, Any]:
    found: dict[str, Any] = script("viewer").get(CACHE).json()
    return found


def test_one_that_answers_tells_what_pgpool_does_not(shared: Cluster) -> None:
    asked_at = see(ALIVE)

    found = read()
    page = browser("operator").get(PAGE).content.decode()

    first = found["pgpools"][0]["memcached_state"]
    assert datetime.fromisoformat(first.pop("asked_at")) == asked_at
    assert first == {
        "state": "alive",
        "reason": "",
        "place": "127.0.0.1:11211",
        "since": "2026-03-17T14:25:02Z",
        "items": 1_234,
        "used_bytes": 16_777_216,
        "limit_bytes": 67_108_864,
        "evictions": 7,
        "uptime_s": 60,
    }
    assert found["memcached_notes"] == []
    assert found["pgpools"][0]["dropped_entries"] is None
    for words in ("1,234", "16.0\u00a0MiB", "of 64.0\u00a0MiB", "evicted", "answers</span> since"):
        assert words in page
    assert "data-memcached=" not in page


def test_a_frozen_one_is_told_at_the_top_and_its_figures_are_unknown(shared: Cluster) -> None:
    see(FROZEN)

    found = read()
    page = browser("operator").get(PAGE).content.decode()

    [note] = found["memcached_notes"]
    assert (note["state"], note["place"], note["pgpools"]) == ("frozen", "127.0.0.1:11211", ["pgpool-1", "pgpool-2"])
    assert note["sentence"] == (
        "It takes connections, and gave no answer within 1 s. Each SELECT through pgpool-1 and pgpool-2 "
        "may wait up to 35 s for it. Let it run again, or end it: without memcached SELECTs go on, only uncached."
    )
    state = found["pgpools"][1]["memcached_state"]
    assert (state["items"], state["used_bytes"], state["evictions"]) == (None, None, None)
    assert page.index('data-memcached="frozen"') < page.index("The cache of each pgpool")
    assert "memcached at 127.0.0.1:11211 does not answer since" in page
    assert "14:25:02\u00a0UTC" in page
    assert "may wait up to 35 s" in page


@pytest.mark.parametrize(
    ("told", "state", "kind", "words"),
    [
        (GONE, "gone", "warn", "SELECTs through pgpool-1 and pgpool-2 go on, but nothing is cached"),
        (UNSEEN, "unreachable", "info", "Whether it answers pgpool-1 and pgpool-2 is not known."),
    ],
)
def test_one_that_is_gone_or_out_of_sight(
    shared: Cluster, told: MemcachedTold, state: str, kind: str, words: str
) -> None:
    see(told)

    assert [one["state"] for one in read()["memcached_notes"]] == [state]
    page = browser("operator").get(PAGE).content.decode()
    assert f'class="note {kind}" role="status" data-memcached="{state}"' in page
    assert words in page
    assert ("Lifeguard cannot see it" in page) is (state == "unreachable")


def test_the_worst_stands_first(shared: Cluster) -> None:
    see(UNSEEN, instance__name="pgpool-1")
    seen = MemcachedSeen(Place("cache-2", 11211), "cache-2:11211", FROZEN, SINCE, timezone.now(), FROZEN.state)
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(memcached=kept(seen))

    assert [(one["state"], one["pgpools"]) for one in read()["memcached_notes"]] == [
        ("frozen", ["pgpool-2"]), ("unreachable", ["pgpool-1"])
    ]  # fmt: skip


def test_what_was_asked_a_while_ago_is_no_note_but_stands_with_its_time(shared: Cluster) -> None:
    asked_at = see(FROZEN, asked_before_s=120)

    found = read()

    assert found["memcached_notes"] == []
    assert datetime.fromisoformat(found["pgpools"][0]["memcached_state"]["asked_at"]) == asked_at


def test_before_it_is_asked_and_with_shared_memory_there_is_nothing_to_tell(shared: Cluster) -> None:
    assert [one["memcached_state"] for one in read()["pgpools"]] == [None, None]
    assert 'title="memcached was not asked yet"' in browser("operator").get(PAGE).content.decode()

    InstanceConfig.objects.update(running=RUNNING)
    page = browser("admin").get(PAGE).content.decode()
    assert "memcached was not asked yet" not in page


def test_strangers_see_none_of_it(shared: Cluster) -> None:
    see(FROZEN)

    assert script("viewer", organisation="umbrella").get(CACHE).status_code == 404
