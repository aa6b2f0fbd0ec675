"""Every server of a cluster asked just now, so that what is said of an attach, detach or drain is true."""

import asyncio

from apps.clusters.domain import instance_numbering
from apps.clusters.domain.backend_risk import Assessment, BackendFound, PgpoolFound, assess
from apps.clusters.domain.instance_numbering import Address
from apps.clusters.domain.show_rows import ShowRowError
from apps.clusters.models import Cluster
from apps.clusters.outside import node_control
from apps.clusters.outside.backend_client import BackendUnreachable, ask_backend
from apps.clusters.outside.pgpool_client import PgpoolUnreachable
from apps.clusters.polling.lags import KnownLag, lags_of
from apps.clusters.polling.readings import BackendReading
from apps.clusters.polling.registry import WatchedBackend, WatchedCluster, WatchedInstance, watched_cluster

BACKEND_DEADLINE_S = 2.0
STREAMING = "streaming"


def assessed(*, cluster: Cluster, kind: str, node_id: int) -> Assessment:
    """Why it must not be done, and what it would do. Takes some seconds where servers are silent."""
    watched = watched_cluster(cluster)
    pgpools, readings = asyncio.run(_survey(watched, node_id))
    return assess(kind, node_id, pgpools, _backends(watched, readings))


async def _survey(watched: WatchedCluster, node_id: int) -> tuple[tuple[PgpoolFound, ...], tuple[BackendReading, ...]]:
    known = {backend.node_id: backend.place for backend in watched.backends}
    pgpools = asyncio.gather(*(_pgpool(instance, node_id, known) for instance in watched.instances))
    backends = asyncio.gather(*(_backend(backend) for backend in watched.backends))
    return tuple(await pgpools), tuple(await backends)


async def _pgpool(instance: WatchedInstance, node_id: int, known: dict[int, Address]) -> PgpoolFound:
    has_pcp = instance.pcp is not None
    try:
        shown = await node_control.shown_nodes(instance.address, instance.pcp)
    except PgpoolUnreachable as error:
        return PgpoolFound(instance.name, has_pcp=has_pcp, trouble=error.reason)
    except ShowRowError as error:
        return PgpoolFound(instance.name, has_pcp=has_pcp, trouble=str(error))
    if different := instance_numbering.differences(known, shown.addresses):
        return PgpoolFound(instance.name, has_pcp=has_pcp, other_numbers=different)
    sessions, tells_where = await _sessions(instance, node_id)
    return PgpoolFound(
        name=instance.name,
        has_pcp=has_pcp,
        statuses=shown.statuses,
        roles=shown.roles,
        shares=shown.shares,
        is_auto_failback=await _is_auto_failback(instance),
        sessions=sessions,
        tells_where=tells_where,
    )


async def _sessions(instance: WatchedInstance, node_id: int) -> tuple[int | None, bool]:
    """Sessions of others that may read there, and whether pgpool tells of each where it reads."""
    try:
        held = await node_control.held_sessions(instance.address, node_id)
    except (PgpoolUnreachable, ShowRowError):
        return None, False
    tells_where = bool(held) and all(one.reads_here is not None for one in held)
    return sum(one.may_read_here() for one in held), tells_where


async def _is_auto_failback(instance: WatchedInstance) -> bool:
    """False also where it is not known: it came with 4.1, and is off unless somebody has set it."""
    try:
        rows = await node_control.show(instance.address, "PGPOOL SHOW auto_failback")
    except PgpoolUnreachable:
        return False
    return bool(rows) and rows[0].get("auto_failback") == "on"


async def _backend(backend: WatchedBackend) -> BackendReading:
    try:
        facts = await ask_backend(backend.address, deadline_s=BACKEND_DEADLINE_S)
    except BackendUnreachable as error:
        return BackendReading(backend.backend_id, None, error.reason)
    return BackendReading(backend.backend_id, facts)


def _backends(watched: WatchedCluster, readings: tuple[BackendReading, ...]) -> list[BackendFound]:
    lags = lags_of(watched, readings, primary=None)
    return [
        _found(watched, backend, reading, lags[backend.backend_id])
        for backend, reading in zip(watched.backends, readings, strict=True)
    ]


def _found(watched: WatchedCluster, backend: WatchedBackend, reading: BackendReading, lag: KnownLag) -> BackendFound:
    facts = reading.facts
    is_lagging = watched.delay_threshold.is_exceeded(lag_bytes=lag.lag_bytes, lag_s=lag.lag_s)
    figures = [f"{lag.lag_s:.1f} s"] if lag.lag_s is not None else []
    figures += [f"{lag.lag_bytes:,} bytes"] if lag.lag_bytes is not None else []
    return BackendFound(
        node_id=backend.node_id,
        name=backend.name,
        trouble=reading.reason,
        is_in_recovery=None if facts is None else facts.is_in_recovery,
        streams=lag.replication_state == STREAMING if lag.is_standby else None,
        lag_text=" and ".join(figures),
        is_lagging=bool(is_lagging),
    )
