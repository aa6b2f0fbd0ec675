"""The story of watching a shard: take the lease, watch every cluster of it for about a minute, let go."""

import asyncio
import logging
import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from django.db import connections

from apps.clusters.history.partitions import ensure_partitions
from apps.clusters.polling import lease as leases
from apps.clusters.polling.cluster_watch import Clock, ClusterWatch, Pace
from apps.clusters.polling.draws import measure_draws
from apps.clusters.polling.lease import RENEWED_EVERY_S, Lease
from apps.clusters.polling.memory import remembered
from apps.clusters.polling.registry import WatchedCluster, watched_clusters
from apps.live import viewers

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

STOP_LOOKED_AT_EVERY_S = 0.5
LEASE_ASKED_EVERY_S = 0.25
BROKER_ASKED_EVERY_S = 5.0
REGISTRY_READ_EVERY_S = 2.0


@dataclass(frozen=True)
class ShardWatch:
    """What one call of watch_shard needs.

    wait_s: how long to wait for a lease that another worker holds; is_stopping: looked at twice a second;
    is_broker_silent: a replacement could not be started now, so the watch goes on.
    """

    shard: int
    shards: int
    holder: str
    clock: Clock
    run_s: float = 60.0
    wait_s: float = 6.0
    pace: Pace = field(default_factory=Pace)
    is_stopping: Callable[[], bool] = lambda: False
    is_broker_silent: Callable[[], bool] = lambda: False


def holder_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def watch_shard(watch: ShardWatch) -> bool:
    """Watch for about run_s. Returns False if another worker kept the lease all the while.

    Raises LeaseLost if the lease was taken over, and whatever the database raises.
    """
    with _database_thread() as database:
        return asyncio.run(_Run(watch, database).run())


class _Run:
    def __init__(self, watch: ShardWatch, database: ThreadPoolExecutor) -> None:
        self._watch = watch
        self._database = database
        self._watches: dict[int, ClusterWatch] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._is_terminated = False

    async def run(self) -> bool:
        with self._ending_on_term():
            lease = await self._take()
            if lease is None:
                return False
            try:
                await self._in_thread(lambda: ensure_partitions(now=self._watch.clock()))
                await self._go_on(lease)
            finally:
                await self._close()
                await self._in_thread(lambda: leases.release(lease))
        return True

    async def _take(self) -> Lease | None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._watch.wait_s
        take = partial(leases.take, shard=self._watch.shard, holder=self._watch.holder)
        while (lease := await self._in_thread(take)) is None:
            if loop.time() >= end or self._must_stop():
                return None
            await asyncio.sleep(LEASE_ASKED_EVERY_S)
        return lease

    async def _go_on(self, lease: Lease) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._watch.run_s
        renewed_at = read_at = float("-inf")
        while not self._must_stop():
            if loop.time() >= end:
                if not await self._in_thread(self._watch.is_broker_silent):
                    return
                end = loop.time() + BROKER_ASKED_EVERY_S
            if loop.time() - renewed_at >= RENEWED_EVERY_S:
                renewed_at = loop.time()
                await self._in_thread(lambda: leases.renew(lease))
            if loop.time() - read_at >= REGISTRY_READ_EVERY_S:
                read_at = loop.time()
                await self._read_registry(lease)
            await asyncio.sleep(STOP_LOOKED_AT_EVERY_S)
            self._look_at_tasks()

    async def _read_registry(self, lease: Lease) -> None:
        """Begin with what is new, end with what is gone, go on with the rest."""
        clusters, watched = await self._in_thread(self._registered)
        known = {one.cluster_id: one for one in clusters}
        for cluster_id in [one for one in self._tasks if one not in known]:
            await self._end(cluster_id)
        for cluster_id, cluster in known.items():
            if cluster_id not in self._watches:
                memory = await self._in_thread(partial(remembered, cluster_id))
                await self._in_thread(partial(measure_draws, cluster_id, now=self._watch.clock()))
                self._watches[cluster_id] = ClusterWatch(
                    cluster,
                    lease=lease,
                    memory=memory,
                    writer=self._in_thread,
                    clock=self._watch.clock,
                    pace=self._watch.pace,
                )
            await self._watches[cluster_id].take(cluster, is_watched=f"cluster.{cluster_id}" in watched)
            if cluster_id not in self._tasks:
                self._tasks[cluster_id] = asyncio.ensure_future(self._watches[cluster_id].run())

    def _registered(self) -> tuple[tuple[WatchedCluster, ...], set[str]]:
        clusters = watched_clusters(shard=self._watch.shard, shards=self._watch.shards, now=self._watch.clock())
        return clusters, viewers.watched([f"cluster.{one.cluster_id}" for one in clusters])

    def _look_at_tasks(self) -> None:
        """A tick that failed for a reason nobody foresaw ends the watch, loudly; beat starts another."""
        for task in self._tasks.values():
            if task.done():
                task.result()

    def _must_stop(self) -> bool:
        return self._is_terminated or self._watch.is_stopping()

    async def _end(self, cluster_id: int) -> None:
        task = self._tasks.pop(cluster_id, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self._watches.pop(cluster_id).close()

    async def _close(self) -> None:
        await asyncio.gather(*(self._end(cluster_id) for cluster_id in list(self._watches)))

    async def _in_thread(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._database, work)

    @contextmanager
    def _ending_on_term(self) -> Iterator[None]:
        """A worker that is told to end lets go of the lease first, so that the next one need not wait for it."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        before = signal.getsignal(signal.SIGTERM)
        loop.add_signal_handler(signal.SIGTERM, self._terminate)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGTERM)
            signal.signal(signal.SIGTERM, before if before is not None else signal.SIG_DFL)

    def _terminate(self) -> None:
        self._is_terminated = True


@contextmanager
def _database_thread() -> Iterator[ThreadPoolExecutor]:
    """The one thread that talks to the database, with a connection of its own that ends with it."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="watch-database") as executor:
        try:
            yield executor
        finally:
            executor.submit(connections.close_all).result()
