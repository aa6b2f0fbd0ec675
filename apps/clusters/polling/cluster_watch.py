"""Watches one cluster: all its pgpools and backends side by side, one tick after the other."""

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from django.db import DataError

from apps.clusters.polling.backend_watch import BackendWatch
from apps.clusters.polling.instance_watch import InstanceWatch
from apps.clusters.polling.lease import Lease
from apps.clusters.polling.memory import ClusterMemory
from apps.clusters.polling.readings import BackendReading, InstanceReading, Tick
from apps.clusters.polling.registry import WatchedCluster
from apps.clusters.polling.store import store

logger = logging.getLogger(__name__)

UNFORESEEN = "Lifeguard failed while it looked; its log says how."
# A tick waits this long for answers. Who needs longer is frozen or far away, and comes into the next tick.
GRACE_S = 0.5
SHORTEST_PAUSE_S = 0.2

Clock = Callable[[], dt.datetime]
Reading = InstanceReading | BackendReading
Look = asyncio.Task[Reading]


@dataclass(frozen=True)
class Pace:
    """Seconds from tick to tick, and from one SHOW pool_nodes to the next.

    Ticks are quicker while someone looks or a rollout is on. SHOW pool_nodes, for which pgpool signs in to every
    backend, is quicker only where a rollout waits for its weights.
    """

    tick_s: float = 2.0
    tick_busy_s: float = 1.0
    pool_nodes_s: float = 30.0
    pool_nodes_rollout_s: float = 2.0


class Writer(Protocol):
    """Runs a function that touches the database in the one thread that does."""

    def __call__(self, write: Callable[[], None], /) -> Awaitable[None]: ...


class ClusterWatch:
    """Runs until it is cancelled. The registration may change under way: see take."""

    def __init__(
        self, cluster: WatchedCluster, *, lease: Lease, memory: ClusterMemory, writer: Writer, clock: Clock, pace: Pace
    ) -> None:
        self._cluster = cluster
        self._lease = lease
        self._memory = memory
        self._writer = writer
        self._clock = clock
        self._pace = pace
        self._tick_number = 0
        self._is_watched = False
        self._had_rollout = False
        self._instances: dict[int, InstanceWatch] = {}
        self._backends: dict[int, BackendWatch] = {}
        self._looks: dict[tuple[str, int], Look] = {}

    async def take(self, cluster: WatchedCluster, *, is_watched: bool) -> None:
        """Go on with what is registered now. is_watched: someone has the cluster's page open."""
        self._cluster, self._is_watched = cluster, is_watched
        instances = {one.instance_id: one for one in cluster.instances}
        backends = {one.backend_id: one for one in cluster.backends}
        for key, watch in list(self._instances.items()):
            if key not in instances or (watch.instance.address, watch.instance.pcp) != (
                instances[key].address,
                instances[key].pcp,
            ):
                await self._end("instance", key, self._instances.pop(key))
        for key, asked in list(self._backends.items()):
            if key not in backends or asked.backend.address != backends[key].address:
                await self._end("backend", key, self._backends.pop(key))
        for key, instance in instances.items():
            if key in self._instances:
                self._instances[key].take(instance)
            else:
                seen = self._memory.memcacheds.get(key)
                self._instances[key] = InstanceWatch(
                    instance,
                    sessions_before=self._memory.sessions.get(key, 0),
                    cached_in=seen.place if seen is not None else None,
                )
        for key, backend in backends.items():
            if key not in self._backends:
                self._backends[key] = BackendWatch(backend)

    @property
    def _is_busy(self) -> bool:
        return self._is_watched or self._cluster.has_rollout

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            started = loop.time()
            await self.tick()
            end = started + (self._pace.tick_busy_s if self._is_busy else self._pace.tick_s)
            await asyncio.sleep(SHORTEST_PAUSE_S)
            # A late answer is news: it does not wait for the next regular tick.
            late = [look for look in self._looks.values() if not look.done()]
            left_s = max(end - loop.time(), 0)
            if late:
                await asyncio.wait(late, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(left_s)

    async def tick(self) -> None:
        """One turn: look, wait a moment, store what came back."""
        fresh = self._begin_looks()
        if fresh:
            await asyncio.wait(fresh, timeout=GRACE_S)
        done = {key: look for key, look in self._looks.items() if look.done()}
        for key in done:
            del self._looks[key]
        if not done:
            return
        self._tick_number += 1
        readings = [look.result() for look in done.values()]
        tick = Tick(
            at=self._clock(),
            number=self._tick_number,
            instances=tuple(one for one in readings if isinstance(one, InstanceReading)),
            backends=tuple(one for one in readings if isinstance(one, BackendReading)),
        )
        cluster = self._cluster
        try:
            await self._writer(lambda: store(cluster=cluster, tick=tick, memory=self._memory, lease=self._lease))
        except DataError as error:
            # A figure that no column can hold: this tick is lost, the other clusters go on.
            logger.error("tick not stored: cluster=%s error=%s", cluster.cluster_id, error)

    async def close(self) -> None:
        for key, instance in list(self._instances.items()):
            await self._end("instance", key, instance)
        for key, backend in list(self._backends.items()):
            await self._end("backend", key, backend)

    def _begin_looks(self) -> list[Look]:
        """Look at all that are not being looked at; returns the looks that are worth waiting for."""
        has_rollout = self._cluster.has_rollout
        # Once more when it has ended: what it wrote is what they use now.
        reread = has_rollout or self._had_rollout
        nodes_every_s = self._pace.pool_nodes_rollout_s if reread else self._pace.pool_nodes_s
        self._had_rollout = has_rollout
        begun: list[Look] = []
        for key, instance in self._instances.items():
            if ("instance", key) not in self._looks:
                looking = instance.look(pool_nodes_every_s=nodes_every_s, reread_settings=reread)
                failed = InstanceReading(key, "unreachable", UNFORESEEN)
                self._begin("instance", key, _bounded(looking, failed), begun, is_waited_for=instance.is_answering)
        for key, backend in self._backends.items():
            if ("backend", key) not in self._looks:
                asking = _bounded(backend.look(), BackendReading(key, None, UNFORESEEN))
                self._begin("backend", key, asking, begun, is_waited_for=backend.is_answering)
        return begun

    def _begin(
        self, kind: str, key: int, looking: Coroutine[Any, Any, Reading], begun: list[Look], *, is_waited_for: bool
    ) -> None:
        look: Look = asyncio.ensure_future(looking)
        self._looks[kind, key] = look
        if is_waited_for:
            begun.append(look)

    async def _end(self, kind: str, key: int, watch: InstanceWatch | BackendWatch) -> None:
        look = self._looks.pop((kind, key), None)
        if look is not None:
            look.cancel()
            await asyncio.gather(look, return_exceptions=True)
        await watch.close()


async def _bounded(looking: Coroutine[Any, Any, Reading], failed: Reading) -> Reading:
    """The boundary around one pgpool or backend: what nobody foresaw there must not blind us to the others."""
    try:
        return await looking
    except Exception:
        logger.exception("a look failed: %s", failed)
        return failed
