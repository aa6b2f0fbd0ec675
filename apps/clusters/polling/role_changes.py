"""Another primary: it is known from then on, and where weights go by role, new ones are proposed."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from fractions import Fraction

from django.db.models import Q

from apps.clusters.domain.role_weights import weights_by_role
from apps.clusters.domain.verification import shares_are_live
from apps.clusters.domain.weights import shares
from apps.clusters.models import Cluster, RoleProposal, RoleWeights, Rollout
from apps.clusters.polling.changes import Change
from apps.clusters.polling.memory import ClusterMemory
from apps.clusters.polling.readings import Tick
from apps.clusters.polling.registry import WatchedCluster

# SHOW POOL_NODES comes this late at the latest, and with it the weights that a rollout has brought.
SHOWN_WITHIN = timedelta(seconds=90)


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
    if _run_already(wanted, memory.weights) and not _are_being_changed(cluster.cluster_id, wanted, now=tick.at):
        return
    RoleProposal.objects.create(
        cluster_id=cluster.cluster_id, at=tick.at, primary_node_id=primary, previous_node_id=previous
    )


def _run_already(wanted: Mapping[int, int], seen: Mapping[int, Mapping[int, float | None]]) -> bool:
    return bool(seen) and all(shares_are_live(wanted, shown) for shown in seen.values())


def _are_being_changed(cluster_id: int, wanted: Mapping[int, int], *, now: datetime) -> bool:
    """Whether a rollout brings others, or brought them after they were shown latest: as when the roles change back."""
    lately = Q(state=Rollout.State.VERIFIED, finished_at__gte=now - SHOWN_WITHIN)
    rollouts = Rollout.objects.filter(lately | Q(state__in=Rollout.ACTIVE), cluster=cluster_id)
    brought = rollouts.select_related("revision").only("revision__weights")
    return any(
        not shares_are_live(wanted, shares({int(node_id): weight for node_id, weight in weights.items()}))
        for rollout in brought
        for weights in rollout.revision.weights.values()
    )
