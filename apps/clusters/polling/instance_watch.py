"""Watches one pgpool over two kept sessions, with PCP as second opinion. Never waits longer than its deadlines."""

import asyncio
import logging
from dataclasses import replace

from apps.clusters.domain.instance_numbering import Address
from apps.clusters.domain.memcached import Place
from apps.clusters.domain.show_rows import PoolNode, PoolProcess, ShowRowError
from apps.clusters.outside import pcp
from apps.clusters.outside.pgpool_client import PgpoolConnection, PgpoolUnreachable
from apps.clusters.polling.kept_session import KeptSession
from apps.clusters.polling.memcached_watch import MemcachedWatch
from apps.clusters.polling.readings import InstanceReading, NodeReading, PoolSettings, State
from apps.clusters.polling.registry import WatchedInstance
from apps.clusters.polling.session_count import TOO_OLD, SessionCounter
from apps.clusters.polling.shows import CheapShows, cheap_shows, pool_nodes, pool_settings
from apps.clusters.polling.watchdog_watch import WatchdogWatch

logger = logging.getLogger(__name__)

FAST_DEADLINE_S = 2.0
PROBE_DEADLINE_S = 1.0
# One frozen backend makes pgpool wait for its connect_timeout, ten seconds by default, in SHOW pool_nodes.
POOL_NODES_DEADLINE_S = 12.0
PCP_DEADLINE_S = 1.0
SETTINGS_EVERY_S = 30.0
# Before 4.2 SHOW pool_nodes alone has the counters, and signs in to no backend.
POOL_NODES_WITH_COUNTERS_S = 2.0
# Words of reasons that say why pgpool cannot serve now; they pass, and are no refusal of ours.
_PASSING = ("no free connection", "no backend to give", "starting up or shutting down")


class InstanceWatch:
    """look() brings back a reading within about four seconds, whatever state the pgpool is in."""

    def __init__(self, instance: WatchedInstance, *, sessions_before: int, cached_in: Place | None = None) -> None:
        """sessions_before: the total that an earlier watch had counted. cached_in: the memcached that it knew."""
        self.instance = instance
        self._fast = KeptSession(instance.address)
        self._slow = KeptSession(instance.address)
        self._watchdog = WatchdogWatch()
        self._memcached = MemcachedWatch(cached_in)
        self._counter = SessionCounter(total=sessions_before)
        self._asking: asyncio.Task[InstanceReading] | None = None
        self._asking_slowly: asyncio.Task[tuple[PoolNode, ...]] | None = None
        self._weights: dict[int, float | None] = {}
        self._addresses: dict[int, Address] = {}
        self._children_total: int | None = None
        self._children_busy: int | None = None  # when it answered latest, ours among them
        self._opened = dict(instance.opened)
        self._own_apart = 0  # sessions of ours that others opened
        self.is_answering = True  # until it is seen that it is not
        self._slow_at = self._settings_at = float("-inf")
        self._raw_weights: dict[str, int] | None = None
        self._statuses: tuple[tuple[int, str, str], ...] | None = None  # empty: this pgpool tells them otherwise

    def take(self, instance: WatchedInstance) -> None:
        """Go on with what is registered now."""
        self.instance = instance
        new = {what: opened for what, opened in instance.opened.items() if self._opened.get(what) != opened}
        self._own_apart += sum(opened.sessions for opened in new.values())
        self._opened |= new

    async def look(self, *, pool_nodes_every_s: float, reread_settings: bool = False) -> InstanceReading:
        """The state of the pgpool now. reread_settings: its file may just have changed."""
        told = self._watchdog.look(self.instance.pcp)
        reading = await self._look(pool_nodes_every_s, reread_settings=reread_settings)
        if reading.settings is not None:
            self._memcached.use(reading.settings.running)
        return replace(reading, watchdog=told, memcached=self._memcached.look(self.instance.address.host))

    async def _look(self, pool_nodes_every_s: float, *, reread_settings: bool) -> InstanceReading:
        loop = asyncio.get_running_loop()
        is_late = self._asking is not None
        if self._asking is None:
            if self.is_answering:
                self._ask_slowly(every_s=pool_nodes_every_s)
            wants_settings = reread_settings or loop.time() - self._settings_at >= SETTINGS_EVERY_S
            self._asking = asyncio.ensure_future(self._ask(wants_settings=wants_settings))
        await asyncio.wait({self._asking}, timeout=0.0 if is_late else FAST_DEADLINE_S)
        if not self._asking.done():
            reason = f"{self._where} gave no answer within {FAST_DEADLINE_S:.0f} s."
            return await self._silent(reason)
        asked, self._asking = self._asking, None
        try:
            reading = asked.result()
        except PgpoolUnreachable as error:
            return await self._failed(error)
        except ShowRowError as error:
            return self._away("refused", f"{self._where} answers oddly: {error}")
        self.is_answering = True
        return reading

    async def close(self) -> None:
        tasks = [task for task in (self._asking, self._asking_slowly) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._fast.close()
        await self._slow.close()
        await self._watchdog.close()
        await self._memcached.close()

    @property
    def _where(self) -> str:
        return f"{self.instance.address.host}:{self.instance.address.port}"

    async def _ask(self, *, wants_settings: bool) -> InstanceReading:
        async def question(connection: PgpoolConnection) -> tuple[CheapShows, PoolSettings | None]:
            shows = await cheap_shows(connection, deadline_s=FAST_DEADLINE_S)
            if not wants_settings:
                return shows, None
            return shows, await pool_settings(connection, also=self.instance.waiting, deadline_s=FAST_DEADLINE_S)

        shows, settings = await self._fast.ask(question)
        if settings is not None:
            self._settings_at = asyncio.get_running_loop().time()
            self._children_total = settings.children_total
        probe_ms, reason = await self._probe()
        return self._reading(shows, settings, probe_ms, reason)

    async def _probe(self) -> tuple[float | None, str]:
        try:
            return await self._fast.ask(lambda connection: connection.probe(deadline_s=PROBE_DEADLINE_S)), ""
        except PgpoolUnreachable as error:
            return None, f"No round trip to a backend: {error.reason}"

    def _reading(
        self, shows: CheapShows, settings: PoolSettings | None, probe_ms: float | None, reason: str
    ) -> InstanceReading:
        own_ended = self._fast.take_ended() + self._slow.take_ended() + self._own_apart
        self._own_apart = 0
        session_count = self._counter.count(shows.processes, own_ended=own_ended)
        fresh = self._take_pool_nodes()
        self._note_changes(shows)
        seen = shows.backend_stats or fresh
        self._children_busy = sum(one.is_in_use for one in shows.processes)
        errors = {one.node_id: one.all_errors for one in shows.backend_stats}
        if seen:
            self._addresses = {one.node_id: (one.hostname, one.port) for one in seen}
        return InstanceReading(
            instance_id=self.instance.instance_id,
            state="answering",
            reason=reason,
            probe_ms=probe_ms,
            children_used=self._used_by_others(shows.processes),
            children_total=self._children_total,
            session_count=session_count,
            sessions_reason="" if session_count is not None else TOO_OLD,
            cache=shows.cache,
            nodes=tuple(
                NodeReading(one.node_id, one.status, one.role, one.select_count, errors.get(one.node_id))
                for one in seen
            ),
            pool_nodes=fresh,
            weights=dict(self._weights),
            settings=settings,
            addresses=dict(self._addresses),
        )

    def _used_by_others(self, processes: tuple[PoolProcess, ...]) -> int:
        """Children in use; the monitoring role's own sessions, those of rollouts too, are no traffic."""
        address = self.instance.address
        own = (address.username, address.database)
        return sum(one.is_in_use and (one.username, one.database) != own for one in processes)

    def _note_changes(self, shows: CheapShows) -> None:
        """What SHOW pool_nodes told is out of date as soon as a backend changes its status, role or weight."""
        statuses = tuple((one.node_id, one.status, one.role) for one in shows.backend_stats)
        if self._statuses not in (None, statuses) or self._raw_weights not in (None, shows.weights):
            self._slow_at = float("-inf")
        self._statuses, self._raw_weights = statuses, shows.weights

    def _ask_slowly(self, *, every_s: float) -> None:
        loop = asyncio.get_running_loop()
        if self._statuses == ():
            every_s = min(every_s, POOL_NODES_WITH_COUNTERS_S)
        if self._asking_slowly is None and loop.time() - self._slow_at >= every_s:
            self._slow_at = loop.time()
            self._asking_slowly = asyncio.ensure_future(
                self._slow.ask(lambda connection: pool_nodes(connection, deadline_s=POOL_NODES_DEADLINE_S))
            )

    def _take_pool_nodes(self) -> tuple[PoolNode, ...]:
        """What the slow session has brought since the last look; empty while it is under way."""
        if self._asking_slowly is None or not self._asking_slowly.done():
            return ()
        asked, self._asking_slowly = self._asking_slowly, None
        try:
            fresh = asked.result()
        except (PgpoolUnreachable, ShowRowError) as error:
            # The weights are unknown now; the age of those that are shown tells it.
            self._weights = {}
            logger.warning("no SHOW pool_nodes: instance=%s error=%s", self.instance.name, error)
            return ()
        self._weights = {node.node_id: node.lb_weight for node in fresh}
        return fresh

    async def _failed(self, error: PgpoolUnreachable) -> InstanceReading:
        reason = f"{error.reason}. {error.fix}" if error.fix else error.reason
        is_refusal = error.step in ("tls", "authenticate", "privilege") and not error.is_silence
        if is_refusal and not any(words in error.reason for words in _PASSING):
            return self._away("refused", reason, await self._told_by_pcp())
        if error.step in ("resolve", "tcp") and self.instance.pcp is None:
            return self._away("unreachable", reason)
        return await self._silent(reason)

    async def _silent(self, reason: str) -> InstanceReading:
        """SQL does not answer. PCP tells a pgpool that hangs from one that is gone."""
        if self.instance.pcp is None:
            return self._away("unreachable", f"{reason} Without PCP credentials nobody can tell whether it hangs.")
        try:
            await pcp.process_count(self.instance.pcp, deadline_s=PCP_DEADLINE_S)
        except pcp.PcpError as error:
            return self._away("unreachable", f"{reason} PCP does not answer either: {error.reason}.")
        nodes = await self._told_by_pcp()
        running = "PCP answers: pgpool runs, but serves no SQL."
        return self._away("hanging", f"{reason} {running}{self._children_words()}", nodes)

    def _children_words(self) -> str:
        """One without a free child lets a new session wait as one that hangs does. "" where nothing was seen before."""
        if self._children_busy is None or self._children_total is None:
            return ""
        said = f" When it answered latest, {self._children_busy} of its {self._children_total} children were in use"
        return said + ("." if self._children_busy < self._children_total else ": sessions may wait for a free one.")

    async def _told_by_pcp(self) -> tuple[pcp.PcpNode, ...]:
        """The backends as PCP shows them; empty where it does not."""
        if self.instance.pcp is None:
            return ()
        try:
            return await pcp.node_info(self.instance.pcp, deadline_s=PCP_DEADLINE_S)
        except pcp.PcpError as error:
            logger.info("no node_info: instance=%s error=%s", self.instance.name, error)
            return ()

    def _away(self, state: State, reason: str, nodes: tuple[pcp.PcpNode, ...] = ()) -> InstanceReading:
        self.is_answering = False
        self._own_apart = 0  # none was opened here meanwhile
        self._settings_at = float("-inf")
        self._addresses = {}
        return InstanceReading(self.instance.instance_id, state, reason, pcp_nodes=nodes)
