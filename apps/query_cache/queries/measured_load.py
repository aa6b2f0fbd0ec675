"""The caches that the pgpools of a cluster keep, and what each is asked: where a forecast takes its figures from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter

from apps.clusters.history import window_counts
from apps.clusters.history.cache_entries import most_entries
from apps.clusters.history.windows import InstanceWindow
from apps.clusters.models import Cluster, PgpoolInstance
from apps.query_cache.domain.settings import CacheSettings, settings_of
from apps.query_cache.domain.verdict import FEWEST_READS

_WINDOW_S = 900
_WINDOW = "15 min"
# pgpool keeps what it knows of relations in the same place, so a few entries say nothing of keys.
_FEWEST_ENTRIES = 10


@dataclass(frozen=True)
class Pgpool:
    """entries: the most in the window.

    reads, per_s: cacheable SELECTs in the window; with the cache off all reads of backends. None: not counted."""

    name: str
    host: str
    settings: CacheSettings
    reads: int | None
    per_s: float | None
    entries: int | None


@dataclass(frozen=True)
class Cache:
    """One cache with the pgpools that keep it: one alone in shared memory, all that ask the same memcached."""

    pgpools: tuple[Pgpool, ...]

    @property
    def settings(self) -> CacheSettings:
        return self.pgpools[0].settings

    @property
    def name(self) -> str:
        place = self.settings.memcached_place
        return f"memcached {place}" if place else self.pgpools[0].name

    @property
    def reads(self) -> int:
        return sum(one.reads or 0 for one in self.pgpools)

    @property
    def per_s(self) -> float:
        return sum(one.per_s or 0.0 for one in self.pgpools)


@dataclass(frozen=True)
class Figure:
    """A figure and where it comes from, as the part of a sentence. value: None where it is not known."""

    value: float | None
    source: str


def pgpools_of(*, cluster: Cluster, now: datetime) -> list[Pgpool]:
    """By name; the cluster is one of the caller's."""
    instances = PgpoolInstance.objects.filter(cluster=cluster).defer("pcp_password").order_by("name")
    start = now - timedelta(seconds=_WINDOW_S)
    windows = {one.instance_id: one for one in window_counts(cluster=cluster, start=start, end=now)}
    entries = most_entries(cluster=cluster, start=start, end=now)
    return [_pgpool(one, windows[one.pk], entries.get(one.pk)) for one in instances.select_related("config")]


def caches_of(pgpools: Sequence[Pgpool]) -> list[Cache]:
    """Those that are on, or may be; where all are off, those that there would be. Busiest first."""
    asked = [one for one in pgpools if one.settings.is_on is not False] or list(pgpools)
    together: dict[str, list[Pgpool]] = {}
    for one in asked:
        together.setdefault(_place(one), []).append(one)
    caches = [Cache(tuple(group)) for group in together.values()]
    return sorted(caches, key=lambda cache: -cache.per_s)


def usual_rate(caches: Sequence[Cache]) -> Figure:
    """Of the busiest cache; none where too little was asked to tell a rate."""
    busiest = caches[0] if caches else None
    if busiest is None or busiest.reads < FEWEST_READS or busiest.per_s <= 0:
        counted = f"{busiest.reads:,}" if busiest is not None and busiest.reads else "no"
        return Figure(None, f"{counted} cacheable reads were counted in the last {_WINDOW}, too few for a rate")
    if busiest.settings.is_on is False:
        source = f"the reads of {busiest.name} that backends got in the last {_WINDOW}, cacheable or not"
    elif len(busiest.pgpools) > 1:
        source = f"what {len(busiest.pgpools)} pgpools asked {busiest.name} in the last {_WINDOW}"
    else:
        source = f"what the cache of {busiest.pgpools[0].name} was asked in the last {_WINDOW}"
    if len(caches) > 1:
        source += f"; it is the busiest of {len(caches)} caches, and each warms up by itself"
    return Figure(busiest.per_s, source)


def usual_keys(pgpools: Iterable[Pgpool]) -> Figure | None:
    """By the entries of the cache with the most; None where no pgpool tells: memcached, off, or hardly any yet.

    The most in a while: writes keep dropping entries, so what stands there now may be nearly none.
    """
    told = [(one.entries, one.name) for one in pgpools if one.entries is not None and one.settings.is_on is not False]
    entries, name = max(told, key=itemgetter(0), default=(0, ""))
    if entries < _FEWEST_ENTRIES:
        return None
    source = f"as many entries as the cache of {name} had in the last {_WINDOW} at most, a lower bound"
    return Figure(entries, source)


def _pgpool(instance: PgpoolInstance, window: InstanceWindow, entries: int | None) -> Pgpool:
    config = getattr(instance, "config", None)
    settings = settings_of(config.running if config is not None else {})
    reads = _reads(settings, window)
    seconds = (window.end - window.start).total_seconds() if window.start and window.end else 0.0
    return Pgpool(
        instance.name,
        instance.host,
        settings,
        reads,
        reads / seconds if reads is not None and seconds else None,
        entries,
    )


def _reads(settings: CacheSettings, window: InstanceWindow) -> int | None:
    if settings.is_on is False:
        return sum(window.select_counts.values()) if window.select_counts else None
    counts = window.cache_counts
    return counts.hits + counts.misses if counts else None


def _place(pgpool: Pgpool) -> str:
    """What pgpools with one cache have in common. A memcached on "this host" is one for the pgpools of that host."""
    settings = pgpool.settings
    memcached = settings.memcached
    return f"shmem {pgpool.name}" if memcached is None else memcached.asked(pgpool.host)
