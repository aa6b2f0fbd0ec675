"""What one look at a pgpool or a backend brought back. A figure that could not be read is None, with a reason."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from apps.clusters.domain.instance_numbering import Address
from apps.clusters.domain.memcached import MemcachedState, MemcachedTold, Place
from apps.clusters.domain.show_rows import PoolCache, PoolNode
from apps.clusters.domain.watchdog import Watchdog
from apps.clusters.outside.backend_client import BackendFacts
from apps.clusters.outside.pcp import PcpNode

State = Literal["answering", "hanging", "unreachable", "refused", "renumbered"]


@dataclass(frozen=True)
class PoolSettings:
    """The settings of a pgpool that its figures are read by. None: not shown, or not understood.

    weights: node_id as text -> backend_weight, which PGPOOL SHOW cuts to an integer.
    others: further parameters that were asked for, by name.
    running: every parameter as PGPOOL SHOW ALL prints it, secrets masked.
    asked_at: no value is older than this.
    """

    version: str
    children_total: int | None
    is_statement_level: bool
    delay_threshold_bytes: int | None
    delay_threshold_s: float | None = None
    weights: Mapping[str, int] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)
    running: Mapping[str, str] = field(default_factory=dict)
    asked_at: dt.datetime | None = None


@dataclass(frozen=True)
class NodeReading:
    """A backend as one pgpool sees it. status: up, waiting, down, unused, quarantine."""

    node_id: int
    status: str
    role: str
    select_count: int
    error_count: int | None = None  # PANIC, FATAL and ERROR since pgpool started


@dataclass(frozen=True)
class WatchdogReading:
    """What a pgpool told of the watchdog. watchdog None: none runs there, or nothing is known for the reason given."""

    watchdog: Watchdog | None
    reason: str = ""


@dataclass(frozen=True)
class MemcachedReading:
    """place None: the pgpool caches in none any more. asked: host:port of the question; asked_at: when it was put."""

    place: Place | None
    told: MemcachedTold | None = None
    asked: str = ""
    asked_at: dt.datetime | None = None

    @property
    def state(self) -> MemcachedState | None:
        return self.told.state if self.told is not None else None


@dataclass(frozen=True)
class InstanceReading:
    """pool_nodes: the rows of SHOW POOL_NODES where they are new; weights: the latest known lb_weight by node_id.

    addresses: node_id -> where this pgpool reaches the backend; empty while it has not shown it. pcp_nodes: what PCP
    tells of the backends while SQL does not. watchdog, memcached: where it was asked since the look before.
    """

    instance_id: int
    state: State
    reason: str = ""
    probe_ms: float | None = None
    children_used: int | None = None
    children_total: int | None = None
    session_count: int | None = None
    sessions_reason: str = ""
    cache: PoolCache | None = None
    nodes: tuple[NodeReading, ...] = ()
    pool_nodes: tuple[PoolNode, ...] = ()
    weights: Mapping[int, float | None] = field(default_factory=dict)
    settings: PoolSettings | None = None
    addresses: Mapping[int, Address] = field(default_factory=dict)
    pcp_nodes: tuple[PcpNode, ...] = ()
    watchdog: WatchdogReading | None = None
    memcached: MemcachedReading | None = None

    @property
    def is_answering(self) -> bool:
        return self.state == "answering"

    @property
    def cache_hit_count(self) -> int | None:
        return None if self.cache is None else self.cache.hit_count

    @property
    def cache_miss_count(self) -> int | None:
        return None if self.cache is None else self.cache.miss_count


@dataclass(frozen=True)
class BackendReading:
    """facts None: the backend did not answer, for the reason given."""

    backend_id: int
    facts: BackendFacts | None
    reason: str = ""


@dataclass(frozen=True)
class Tick:
    """All that came back in one turn. An instance whose look is still under way is not in it."""

    at: dt.datetime
    number: int
    instances: tuple[InstanceReading, ...]
    backends: tuple[BackendReading, ...]
