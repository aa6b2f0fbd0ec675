"""What is seen of the memcacheds that the pgpools of a cluster cache in: each once, with the pgpools that share it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.clusters.domain.memcached import MemcachedState
from apps.clusters.domain.memcached_seen import MemcachedSeen, consequence, headline, seen_of
from apps.clusters.models import InstanceLatest

# Asked every 10 s, and a question takes some seconds where nobody answers.
CURRENT_FOR = timedelta(seconds=60)


@dataclass(frozen=True)
class SharedMemcached:
    """seen: by the latest of the questions. pgpools: names of those that cache there."""

    seen: MemcachedSeen
    pgpools: Sequence[str]

    @property
    def headline(self) -> str:
        return headline(self.seen.state, self.seen.asked)

    @property
    def consequence(self) -> str:
        """With the reason."""
        return consequence(self.seen.state, self.pgpools, self.seen.told.reason)

    @property
    def in_short(self) -> str:
        """Among other reasons why a cluster is not well."""
        return f"{self.headline}. {consequence(self.seen.state, self.pgpools)}"


def memcached_seen(latest: InstanceLatest | None) -> MemcachedSeen | None:
    """None where this pgpool caches in none, or it was not asked yet."""
    return seen_of(latest.memcached) if latest is not None and latest.memcached is not None else None


def memcacheds_now(pgpools: Iterable[tuple[str, InstanceLatest | None]], *, now: datetime) -> list[SharedMemcached]:
    """Those that were asked lately, by place. pgpools: their names, and what was seen of them."""
    found: dict[str, list[tuple[str, MemcachedSeen]]] = {}
    for name, latest in pgpools:
        seen = memcached_seen(latest)
        if seen is not None and now - seen.asked_at <= CURRENT_FOR:
            found.setdefault(seen.asked, []).append((name, seen))
    return [
        SharedMemcached(max((seen for _, seen in shared), key=_told_at), [name for name, _ in shared])
        for _, shared in sorted(found.items())
    ]


def _told_at(seen: MemcachedSeen) -> datetime:
    return seen.asked_at


def in_state(memcacheds: Iterable[SharedMemcached], state: MemcachedState) -> list[SharedMemcached]:
    return [one for one in memcacheds if one.seen.state == state]
