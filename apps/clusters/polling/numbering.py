"""A pgpool that numbers the backends otherwise than they are registered: what it tells by number is of others."""

from collections.abc import Mapping
from dataclasses import replace

from apps.clusters.domain.instance_numbering import Address, differences
from apps.clusters.polling.readings import InstanceReading, Tick
from apps.clusters.polling.registry import WatchedCluster

# A changed numbering comes in with a restart only.
FIX = (
    "Give the same backend_hostnameN and backend_portN to all pgpools of the cluster and restart this one; "
    "if the backends have changed for good, remove the cluster and register it anew."
)


def checked(cluster: WatchedCluster, tick: Tick) -> Tick:
    """The tick without figures by node_id of pgpools whose node_ids are other backends."""
    known = {one.node_id: one.place for one in cluster.backends}
    return replace(tick, instances=tuple(_checked(one, known) for one in tick.instances))


def _checked(reading: InstanceReading, known: Mapping[int, Address]) -> InstanceReading:
    if reading.pcp_nodes and differences(known, {one.node_id: (one.hostname, one.port) for one in reading.pcp_nodes}):
        reading = replace(reading, pcp_nodes=())
    different = differences(known, reading.addresses) if reading.is_answering and reading.addresses else ()
    if not different:
        return reading
    reason = f"numbers the backends differently: {'; '.join(different)}. {FIX}"
    return replace(reading, state="renumbered", reason=reason, nodes=(), pool_nodes=(), weights={})
