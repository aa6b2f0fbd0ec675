"""A memcached that freezes, is gone, or answers again: each told once, however many pgpools cache in it."""

from collections.abc import Iterator
from operator import itemgetter

from apps.clusters.domain.memcached import MemcachedState, MemcachedTold
from apps.clusters.domain.memcached_seen import TELLING, MemcachedSeen, consequence, headline, kept, settled
from apps.clusters.models import InstanceLatest
from apps.clusters.polling.changes import Change
from apps.clusters.polling.memory import ClusterMemory, KnownMemcached
from apps.clusters.polling.readings import MemcachedReading, Tick
from apps.clusters.polling.registry import WatchedCluster


def memcached_changes(*, cluster: WatchedCluster, memory: ClusterMemory, tick: Tick) -> list[Change]:
    """Compare what memcached told with the memory, and bring the memory up to date.

    That Lifeguard cannot see one is no change: it says nothing of the memcached.
    """
    readings = {one.instance_id: one.memcached for one in tick.instances if one.memcached is not None}
    if not readings:
        return []
    _forget(cluster, memory, readings)
    asked = [(one.asked_at, pk, one, one.told) for pk, one in readings.items() if one.asked_at and one.told]
    news = [
        (reading.asked, told)
        for _, pk, reading, found in sorted(asked, key=itemgetter(0))
        if (told := _taken_in(memory, pk, reading, found)) is not None
    ]
    return list(_told(cluster, memory, news))


def note_memcacheds(tick: Tick, memory: ClusterMemory) -> None:
    """In the transaction of the tick that brought it, once the rows are there."""
    for one in tick.instances:
        if one.memcached is not None:
            seen = memory.memcacheds.get(one.instance_id)
            row = kept(seen) if seen is not None else None
            InstanceLatest.objects.filter(pk=one.instance_id).update(memcached=row)


def _forget(cluster: WatchedCluster, memory: ClusterMemory, readings: dict[int, MemcachedReading]) -> None:
    """What no pgpool caches in any more."""
    left = {pk for pk, reading in readings.items() if reading.place is None}
    registered = {one.instance_id for one in cluster.instances}
    memory.memcacheds = {pk: seen for pk, seen in memory.memcacheds.items() if pk in registered - left}
    used = {seen.asked for seen in memory.memcacheds.values()} | {one.asked for one in readings.values()}
    memory.memcacheds_known = {asked: known for asked, known in memory.memcacheds_known.items() if asked in used}


def _taken_in(memory: ClusterMemory, pk: int, reading: MemcachedReading, found: MemcachedTold) -> MemcachedTold | None:
    """What is new of the memcached itself; None for nothing."""
    if reading.place is None or reading.asked_at is None:
        return None
    known = memory.memcacheds_known.get(reading.asked)
    told = settled(found, known.state if known is not None else None)
    # Another pgpool's watch may have put a later question, and have had its answer earlier.
    is_newer = known is None or reading.asked_at > known.at
    if told.state in TELLING and is_newer:
        memory.memcacheds_known[reading.asked] = KnownMemcached(reading.asked_at, told.state)
    before, latest = memory.memcacheds.get(pk), memory.memcacheds_known.get(reading.asked)
    is_as_before = before is not None and (before.asked, before.state) == (reading.asked, told.state)
    memory.memcacheds[pk] = MemcachedSeen(
        place=reading.place,
        asked=reading.asked,
        told=told,
        since=before.since if before is not None and is_as_before else reading.asked_at,
        asked_at=reading.asked_at,
        known=latest.state if latest is not None else None,
    )
    was = known.state if known is not None else MemcachedState.ALIVE
    return told if told.state in TELLING and is_newer and told.state != was else None


def _told(cluster: WatchedCluster, memory: ClusterMemory, news: list[tuple[str, MemcachedTold]]) -> Iterator[Change]:
    names = {one.instance_id: one.name for one in cluster.instances}
    for asked, told in news:
        pgpools = [names[pk] for pk, seen in memory.memcacheds.items() if seen.asked == asked and pk in names]
        yield Change(
            "memcached",
            headline(told.state, asked),
            consequence(told.state, pgpools, told.reason),
            is_problem=told.state != MemcachedState.ALIVE,
            instance_name=pgpools[0] if len(pgpools) == 1 else "",
        )
