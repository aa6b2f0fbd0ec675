"""The memcached that a pgpool keeps results in: where its settings place it, and what its answers mean."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

MEMCACHED = "memcached"
# Measured on Pgpool-II 4.3.5 with a stopped memcached: what one SELECT took.
LONGEST_WAIT_S = 35


class MemcachedState(StrEnum):
    ALIVE = "alive"
    FROZEN = "frozen"  # takes connections and answers nothing, as the kernel of a stopped process does
    GONE = "gone"  # the machine refuses connections: nobody listens
    UNREACHABLE = "unreachable"  # Lifeguard cannot see it; pgpool may


class NotMemcached(ValueError):
    """What answers there is no memcached."""


class NoRoom(ValueError):
    """A memcached that takes no further connection."""


@dataclass(frozen=True)
class Place:
    """As pgpool names it. host: "" is pgpool's own machine, a path a socket there. port None: not readable."""

    host: str
    port: int | None

    def __str__(self) -> str:
        return _place(self.host, self.port)

    @property
    def is_pgpools_own(self) -> bool:
        """Whether it names the machine that pgpool runs on."""
        return not self.host or self.is_socket or is_loopback(self.host)

    @property
    def is_socket(self) -> bool:
        return self.host.startswith("/")

    def host_asked(self, pgpool_host: str) -> str:
        """Where Lifeguard finds it: pgpool's own machine is the one at which it is registered."""
        return pgpool_host if self.is_pgpools_own else self.host

    def asked(self, pgpool_host: str) -> str:
        """As cache-1:11211. The same for pgpools that share one memcached."""
        return _place(self.host if self.is_socket else self.host_asked(pgpool_host), self.port)


def is_loopback(host: str) -> bool:
    """By its text alone: no name is looked up."""
    name = host.lower().rstrip(".")
    if name in ("localhost", "localhost.localdomain") or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def is_caching(running: Mapping[str, str]) -> bool | None:
    """running: name -> value as PGPOOL SHOW ALL prints them. None while nobody has read them."""
    return running["memory_cache_enabled"] == "on" if "memory_cache_enabled" in running else None


def place_of(running: Mapping[str, str]) -> Place | None:
    """Where results are kept once the cache is on; None with shared memory. running: as is_caching takes it."""
    if running.get("memqcache_method") != MEMCACHED:
        return None
    return Place(running.get("memqcache_memcached_host", ""), _port(running.get("memqcache_memcached_port", "")))


def _port(shown: str) -> int | None:
    found = int(shown) if shown.isdecimal() and len(shown) <= 5 else 0
    return found if 0 < found < 1 << 16 else None


@dataclass(frozen=True)
class MemcachedStats:
    """Of the whole memcached, whoever else keeps things there. None: not told.

    uptime_s: since it started, as are evictions, hit_count and miss_count. evictions: items that made room for others.
    """

    version: str
    items: int | None = None
    used_bytes: int | None = None
    limit_bytes: int | None = None
    evictions: int | None = None
    uptime_s: int | None = None
    hit_count: int | None = None
    miss_count: int | None = None


@dataclass(frozen=True)
class MemcachedTold:
    """What one question came to. reason: why it is not alive, a sentence without its full stop.

    is_connect_timeout: it took no connection in time, which is what a stopped one does once its queue is full.
    """

    state: MemcachedState
    reason: str = ""
    stats: MemcachedStats | None = None
    is_connect_timeout: bool = False


QUESTION = b"version\r\nstats\r\n"
LAST_LINE = "END"
# Some hundred bytes are usual, 2 kB for all lines together.
MOST_LINES = 1000
_NAMES = {
    "items": "curr_items",
    "used_bytes": "bytes",
    "limit_bytes": "limit_maxbytes",
    "evictions": "evictions",
    "uptime_s": "uptime",
    "hit_count": "get_hits",
    "miss_count": "get_misses",
}


def check_line(line: str, *, is_first: bool) -> None:
    """One line of the answer, without its end. Raises NotMemcached or NoRoom."""
    if line.startswith("ERROR Too many open connections"):
        raise NoRoom(line)
    is_expected = line.startswith("VERSION ") if is_first else line == LAST_LINE or line.startswith("STAT ")
    if not is_expected:
        raise NotMemcached("an answer that is not memcached's")


def stats_of(lines: Sequence[str]) -> MemcachedStats:
    """lines: checked ones, VERSION first, END last."""
    told = {name: value for _, name, value in (line.split(" ", 2) for line in lines[1:-1] if line.count(" ") >= 2)}
    figures = {ours: told.get(theirs, "") for ours, theirs in _NAMES.items()}
    found = {name: int(value) if value.isascii() and value.isdecimal() else None for name, value in figures.items()}
    return MemcachedStats(version=lines[0].removeprefix("VERSION ").strip()[:40], **found)


def _place(host: str, port: int | None) -> str:
    if host.startswith("/"):
        return host
    shown = f"[{host}]" if ":" in host else host or "localhost"
    return f"{shown}:{'?' if port is None else port}"
