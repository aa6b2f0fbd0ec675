"""Every pgpool of a cluster asked just now, before one of them is restarted."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from apps.clusters.control.restart_ways import way_of
from apps.clusters.domain.instance_numbering import Address, in_the_cluster
from apps.clusters.domain.restart_risk import PgpoolSeen, RestartAssessment, assess
from apps.clusters.domain.show_rows import ShowRowError
from apps.clusters.domain.watchdog import Watchdog
from apps.clusters.models import Cluster, PgpoolInstance
from apps.clusters.outside import generation, node_control, pcp
from apps.clusters.outside.generation import Sight
from apps.clusters.outside.pgpool_client import PgpoolUnreachable
from apps.clusters.polling.registry import WatchedCluster, WatchedInstance, watched_cluster

WATCHDOG_DEADLINE_S = 2.0


@dataclass(frozen=True)
class PgpoolFound:
    """trouble: why it did not answer; then nothing else is known.

    up: the backends that it has up, by the cluster's node_id: a restart may change by which numbers it knows them.
    is_leader: of the watchdog; None where there is none, or it is not told. virtual_ip: "" without one.
    """

    instance_id: int
    name: str
    trouble: str = ""
    sight: Sight | None = None
    up: tuple[int, ...] = ()
    is_leader: bool | None = None
    virtual_ip: str = ""


def survey(cluster: Cluster) -> tuple[PgpoolFound, ...]:
    """All pgpools at once: a frozen one costs some seconds, and no more."""
    return asyncio.run(_survey(watched_cluster(cluster)))


def assessed(*, cluster: Cluster, wanted: Collection[PgpoolInstance]) -> RestartAssessment:
    """Why they must not be restarted, and what it would do."""
    instances = {each.pk: each for each in cluster.instances.select_related("cluster__organisation")}
    seen = [_seen(found, instances[found.instance_id]) for found in survey(cluster)]
    return assess({each.name for each in wanted}, seen)


def _seen(found: PgpoolFound, instance: PgpoolInstance) -> PgpoolSeen:
    return PgpoolSeen(
        name=found.name,
        trouble=found.trouble,
        clients=None if found.sight is None else found.sight.clients,
        by_hand=way_of(instance).why_by_hand,
        wait_h=instance.longest_wait_h,
        is_leader=found.is_leader,
        virtual_ip=found.virtual_ip,
    )


async def _survey(cluster: WatchedCluster) -> tuple[PgpoolFound, ...]:
    known = {backend.node_id: backend.place for backend in cluster.backends}
    return tuple(await asyncio.gather(*(_pgpool(instance, known) for instance in cluster.instances)))


async def _pgpool(instance: WatchedInstance, known: Mapping[int, Address]) -> PgpoolFound:
    try:
        sight = await generation.look(instance.address)
        nodes = await node_control.shown_nodes(instance.address, instance.pcp)
    except PgpoolUnreachable as error:
        return PgpoolFound(instance.instance_id, instance.name, f"{error.reason}. {error.fix}".strip())
    except ShowRowError as error:
        return PgpoolFound(instance.instance_id, instance.name, f"it answers in an unknown way: {error}")
    numbers = in_the_cluster(known, nodes.addresses)
    up = tuple(sorted(number for node_id, number in numbers.items() if nodes.is_so(node_id, "up")))
    watchdog = await _watchdog(instance)
    return PgpoolFound(
        instance.instance_id,
        instance.name,
        sight=sight,
        up=up,
        is_leader=None if watchdog is None else watchdog.is_leader,
        virtual_ip="" if watchdog is None else watchdog.delegate_ip,
    )


async def _watchdog(instance: WatchedInstance) -> Watchdog | None:
    """None also where it is not told: the order is all that goes by it."""
    if instance.pcp is None:
        return None
    try:
        return await pcp.watchdog(instance.pcp, deadline_s=WATCHDOG_DEADLINE_S)
    except pcp.PcpError:
        return None
