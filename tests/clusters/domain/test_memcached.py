"""Where a pgpool's memcached is, what its answer says, and the words that are made of both."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.clusters.domain import memcached_seen
from apps.clusters.domain.memcached import (
    MemcachedState,
    MemcachedStats,
    MemcachedTold,
    NoRoom,
    NotMemcached,
    Place,
    check_line,
    is_caching,
    is_loopback,
    place_of,
    stats_of,
)
from apps.clusters.domain.memcached_seen import MemcachedSeen, consequence, kept, seen_of, settled
from tests.fake_memcached import CAPTURED

NOW = datetime(2026, 3, 17, 14, 32, tzinfo=UTC)
FROZEN, GONE, UNREACHABLE = MemcachedState.FROZEN, MemcachedState.GONE, MemcachedState.UNREACHABLE


def test_the_figures_of_a_real_answer() -> None:
    """40 values of 100,000 bytes were put into 2 MiB: 20 had to go; one that was asked for was there, one was not."""
    lines = CAPTURED.decode().splitlines()

    for number, line in enumerate(lines):
        check_line(line, is_first=number == 0)

    assert stats_of(lines) == MemcachedStats(
        version="1.6.18",
        items=20,
        used_bytes=2_001_240,
        limit_bytes=2_097_152,
        evictions=20,
        uptime_s=2,
        hit_count=1,
        miss_count=1,
    )


def test_a_figure_that_is_not_told_is_unknown_and_not_zero() -> None:
    found = stats_of(["VERSION 1.6.18", "STAT curr_items 3", "STAT bytes much", "STAT evictions", "END"])

    assert (found.items, found.used_bytes, found.evictions, found.limit_bytes) == (3, None, None, None)


@pytest.mark.parametrize("line", ["HTTP/1.1 400 Bad Request", "", "ERROR", "STAT pid 1", "-ERR unknown command"])
def test_what_no_memcached_says_first(line: str) -> None:
    with pytest.raises(NotMemcached):
        check_line(line, is_first=True)


def test_one_without_a_free_connection_is_a_memcached() -> None:
    with pytest.raises(NoRoom):
        check_line("ERROR Too many open connections", is_first=True)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("LocalHost.", True),
        ("127.0.0.1", True),
        ("127.3.2.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("cache-1", False),
        ("10.0.0.7", False),
        ("localhost.example.org", False),
    ],
)
def test_which_hosts_are_pgpools_own_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


RUNNING = {
    "memory_cache_enabled": "on",
    "memqcache_method": "memcached",
    "memqcache_memcached_host": "localhost",
    "memqcache_memcached_port": "11211",
}


def test_a_pgpools_own_machine_is_the_one_at_which_it_is_registered() -> None:
    place = place_of(RUNNING)

    assert place == Place("localhost", 11211)
    assert place.asked("pool1.example") == "pool1.example:11211"
    assert Place("cache-1", 11211).asked("pool1.example") == "cache-1:11211"
    assert Place("fd00::7", 11211).asked("pool1.example") == "[fd00::7]:11211"
    assert Place("", 11211).asked("pool1.example") == "pool1.example:11211"
    assert Place("/run/memcached.sock", 0).asked("pool1.example") == "/run/memcached.sock"


@pytest.mark.parametrize(
    ("changed", "is_on", "place"),
    [
        ({"memqcache_method": "shmem"}, True, None),
        ({"memory_cache_enabled": "off"}, False, Place("localhost", 11211)),
        ({"memqcache_memcached_port": "0"}, True, Place("localhost", None)),
        ({"memqcache_memcached_port": "70000"}, True, Place("localhost", None)),
        ({"memqcache_memcached_port": ""}, True, Place("localhost", None)),
    ],
)
def test_what_the_settings_say(changed: dict[str, str], is_on: bool, place: Place | None) -> None:
    assert (is_caching(RUNNING | changed), place_of(RUNNING | changed)) == (is_on, place)


def test_settings_that_nobody_has_read() -> None:
    assert (is_caching({}), place_of({})) == (None, None)


def test_a_stopped_one_whose_queue_is_full_is_still_frozen() -> None:
    """Its kernel takes connections until 1024 of them wait; after that a connection times out."""
    no_connection = MemcachedTold(UNREACHABLE, "did not accept a connection within 2 s", is_connect_timeout=True)

    assert settled(no_connection, FROZEN).state == FROZEN
    assert settled(no_connection, MemcachedState.ALIVE) is no_connection
    assert settled(MemcachedTold(UNREACHABLE, "no such name"), FROZEN).state == UNREACHABLE


def test_what_is_kept_is_read_back() -> None:
    told = MemcachedTold(MemcachedState.ALIVE, stats=MemcachedStats("1.6.18", items=20, used_bytes=None))
    seen = MemcachedSeen(
        Place("localhost", 11211), "10.0.0.1:11211", told, NOW - timedelta(hours=2), NOW, MemcachedState.ALIVE
    )
    silent = MemcachedSeen(Place("/run/m.sock", None), "/run/m.sock", MemcachedTold(UNREACHABLE, "no"), NOW, NOW)

    assert (seen_of(kept(seen)), seen_of(kept(silent))) == (seen, silent)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (FROZEN, "Each SELECT through pgpool-1 and pgpool-2 may wait up to 35 s for it."),
        (GONE, "SELECTs through pgpool-1 and pgpool-2 go on, but nothing is cached"),
        (UNREACHABLE, "Nobody knows it. Whether it answers pgpool-1 and pgpool-2 is not known."),
    ],
)
def test_what_a_state_means_for_reads(state: MemcachedState, words: str) -> None:
    assert words in consequence(state, ["pgpool-2", "pgpool-1"], "nobody knows it")


def test_that_lifeguard_cannot_see_it_is_never_said_to_be_a_fault_of_memcached() -> None:
    said = f"{memcached_seen.headline(UNREACHABLE, 'cache-1:11211')}. {consequence(UNREACHABLE, ['pgpool-1'], '')}"

    assert said == "memcached at cache-1:11211 cannot be seen from here. Whether it answers pgpool-1 is not known."
