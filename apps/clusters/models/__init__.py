"""Tables of clusters: what is registered, what was seen latest, samples, configuration revisions, rollouts, events."""

from apps.clusters.models.backend_operation import BackendOperation, BackendOperationStep
from apps.clusters.models.debt import RevisionDebt
from apps.clusters.models.delivery import PublishedFile, SshKey
from apps.clusters.models.draft import ConfigDraft
from apps.clusters.models.event import ClusterEvent
from apps.clusters.models.function_survey import FunctionSurvey
from apps.clusters.models.instance_config import InstanceConfig
from apps.clusters.models.latest import BackendLatest, InstanceLatest, NodeLatest, WatchdogLatest
from apps.clusters.models.pending_restart import PendingRestart
from apps.clusters.models.registry import Backend, Cluster, PgpoolInstance
from apps.clusters.models.restart import RestartStep, RollingRestart
from apps.clusters.models.revision import ConfigRevision, RevisionFile
from apps.clusters.models.role_weights import RoleProposal, RoleWeights
from apps.clusters.models.rollout import Rollout, RolloutLog, RolloutStep
from apps.clusters.models.samples import BackendSample, InstanceSample, NodeSample
from apps.clusters.models.shard import Shard
from apps.clusters.models.table_survey import TableSurvey
from apps.clusters.models.writes import WritesSwitch

__all__ = [
    "Backend",
    "BackendLatest",
    "BackendOperation",
    "BackendOperationStep",
    "BackendSample",
    "Cluster",
    "ClusterEvent",
    "ConfigDraft",
    "ConfigRevision",
    "FunctionSurvey",
    "InstanceConfig",
    "InstanceLatest",
    "InstanceSample",
    "NodeLatest",
    "NodeSample",
    "PendingRestart",
    "PgpoolInstance",
    "PublishedFile",
    "RestartStep",
    "RevisionDebt",
    "RevisionFile",
    "RoleProposal",
    "RoleWeights",
    "RollingRestart",
    "Rollout",
    "RolloutLog",
    "RolloutStep",
    "Shard",
    "SshKey",
    "TableSurvey",
    "WatchdogLatest",
    "WritesSwitch",
]
