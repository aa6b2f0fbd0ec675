"""Another primary: it is known from then on, and where weights go by role, new ones are proposed."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from apps.clusters.domain.role_weights import weights_by_role
from apps.clusters.domain.verification import shares_are_live
from apps.clusters.models import Cluster, RoleProposal, RoleWeights
from apps.clusters.polling.changes import Change
from apps.clusters.polling.memory import ClusterMemory
from apps.clusters.polling.readings import Tick
from apps.clusters.polling.registry import WatchedCluster


def note(*, cluster: WatchedCluster, memory: ClusterMemory, tick: Tick, found: Iterable[Change]) -> None:
    """In the transaction of the tick that saw it: one proposal for each change of roles, whatever comes in between."""
    Cluster.objects.filter(pk=cluster.cluster_id).update(primary_node_id=memory.primary)
    for change in found:
        if change.kind == "role" and change.node_id is not None and change.previous_node_id is not None:
            _propose(cluster, memory, tick, change.node_id, change.previous_node_id)


def _propose(cluster: WatchedCluster, memory: ClusterMemory, tick: Tick, primary: int, previous: int) -> None:
    wish = RoleWeights.objects.filter(cluster_id=cluster.cluster_id).first()
    if wish is None:
        return
    # The roles of before are history, and so is what they asked for.
    RoleProposal.objects.filter(cluster_id=cluster.cluster_id, state=RoleProposal.State.OPEN).update(
        state=RoleProposal.State.SUPERSEDED, closed_at=tick.at
    )
    standbys = {one.node_id for one in cluster.backends} - {primary}
    wanted = weights_by_role(primary=primary, standbys=standbys, primary_share=Fraction(wish.primary_share))
    if _run_already(wanted, memory.weights):
        return
    RoleProposal.objects.create(
        cluster_id=cluster.cluster_id, at=tick.at, primary_node_id=primary, previous_node_id=previous
    )


def _run_already(wanted: Mapping[int, int], seen: Mapping[int, Mapping[int, float | None]]) -> bool:
    return bool(seen) and all(shares_are_live(wanted, shown) for shown in seen.values())
