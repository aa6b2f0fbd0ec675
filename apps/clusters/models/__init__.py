"""Tables of clusters: what is registered, what was seen latest, samples, configuration revisions, rollouts, events."""

from apps.clusters.models.event import ClusterEvent
from apps.clusters.models.latest import BackendLatest, InstanceLatest, NodeLatest
from apps.clusters.models.registry import Backend, Cluster, PgpoolInstance
from apps.clusters.models.revision import ConfigRevision, RevisionFile
from apps.clusters.models.rollout import Rollout, RolloutLog, RolloutStep
from apps.clusters.models.samples import BackendSample, InstanceSample, NodeSample
from apps.clusters.models.shard import Shard

__all__ = [
    "Backend",
    "BackendLatest",
    "BackendSample",
    "Cluster",
    "ClusterEvent",
    "ConfigRevision",
    "InstanceLatest",
    "InstanceSample",
    "NodeLatest",
    "NodeSample",
    "PgpoolInstance",
    "RevisionFile",
    "Rollout",
    "RolloutLog",
    "RolloutStep",
    "Shard",
]
