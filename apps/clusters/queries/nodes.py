"""The backends of a cluster as pgpool sees them and as they answer themselves."""

from datetime import datetime
from typing import TypedDict

from apps.clusters.models import Cluster, NodeLatest
from apps.clusters.queries.health import STALE_AFTER_S
from apps.clusters.queries.sight import BackendSight, sight_of


class InstanceView(TypedDict):
    """A backend as one pgpool sees it; weight_share is null while all weights are 0.

    is_current: false where that pgpool was not seen lately, so that this says nothing about now.
    """

    instance: str
    status: str
    pg_status: str
    role: str
    weight_share: float | None
    select_count: int | None
    replication_delay_bytes: int | None
    replication_delay_s: float | None
    seen_at: datetime
    is_current: bool


class NodeAnswer(TypedDict):
    """weight_share: null where the pgpools differ; lag_reason and reason: why a figure is null."""

    node_id: int
    name: str
    hostname: str
    port: int
    az: str
    role: str
    status: str
    weight_share: float | None
    replay_lag_s: float | None
    replay_lag_bytes: int | None
    lag_reason: str
    replication_state: str
    sync_state: str
    probe_ms: float | None
    server_version: str
    answered_at: datetime | None
    reason: str
    per_instance: list[InstanceView]


class NodesAnswer(TypedDict):
    nodes: list[NodeAnswer]
    at: datetime


def nodes_answer(*, cluster: Cluster, now: datetime) -> NodesAnswer:
    return {"nodes": [_node(one, now) for one in sight_of(cluster).backends], "at": now}


def node_answer(*, cluster: Cluster, node_id: int, now: datetime) -> NodeAnswer:
    """One backend that the cluster has."""
    return next(_node(one, now) for one in sight_of(cluster).backends if one.backend.node_id == node_id)


def _node(one: BackendSight, now: datetime) -> NodeAnswer:
    backend, latest = one.backend, one.latest
    return {
        "node_id": backend.node_id,
        "name": one.name,
        "hostname": backend.hostname,
        "port": backend.port,
        "az": backend.az,
        "role": one.role,
        "status": one.status,
        "weight_share": _common_share(one),
        "replay_lag_s": latest.replay_lag_s if latest else None,
        "replay_lag_bytes": latest.replay_lag_bytes if latest else None,
        "lag_reason": latest.lag_reason if latest else "not asked yet",
        "replication_state": latest.replication_state if latest else "",
        "sync_state": latest.sync_state if latest else "",
        "probe_ms": latest.probe_ms if latest else None,
        "server_version": latest.server_version if latest else "",
        "answered_at": latest.answered_at if latest else None,
        "reason": latest.reason if latest else "not asked yet",
        "per_instance": [_view(node, now) for node in one.nodes],
    }


def _view(node: NodeLatest, now: datetime) -> InstanceView:
    return {
        "instance": node.instance.name,
        "status": node.status,
        "pg_status": node.pg_status,
        "role": node.role,
        "weight_share": node.lb_weight,
        "select_count": node.select_count,
        "replication_delay_bytes": node.replication_delay_bytes,
        "replication_delay_s": node.replication_delay_s,
        "seen_at": node.seen_at,
        "is_current": (now - node.seen_at).total_seconds() <= STALE_AFTER_S,
    }


def _common_share(one: BackendSight) -> float | None:
    shares = {node.lb_weight for node in one.nodes}
    return shares.pop() if len(shares) == 1 else None
