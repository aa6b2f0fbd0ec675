"""Stores one tick of a cluster in one transaction, and tells viewers after it is committed."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from django.db import connection, transaction

from apps.clusters.domain.lag import DelayThreshold
from apps.clusters.domain.verification import is_same_value
from apps.clusters.history.append import BackendSampleRow, InstanceSampleRow, NodeSampleRow, append
from apps.clusters.history.latest import BackendNow, InstanceNow, NodeNow, PoolNodeNow, rewrite
from apps.clusters.models import Cluster, ClusterEvent, NodeLatest, PendingRestart, PgpoolInstance
from apps.clusters.outside.pcp import PcpNode
from apps.clusters.polling import lease as leases
from apps.clusters.polling import numbering, role_changes
from apps.clusters.polling.changes import Change, changes
from apps.clusters.polling.lag_changes import lag_changes
from apps.clusters.polling.lags import KnownLag, lags_of, wal_position
from apps.clusters.polling.lease import Lease
from apps.clusters.polling.memcached_changes import memcached_changes, note_memcacheds
from apps.clusters.polling.memory import ClusterMemory, is_up
from apps.clusters.polling.points import Points, PointsMessage, points_of
from apps.clusters.polling.readings import BackendReading, InstanceReading, PoolSettings, Tick
from apps.clusters.polling.registry import WatchedCluster
from apps.clusters.polling.running_values import note_running
from apps.clusters.polling.watchdog_changes import watchdog_changes
from apps.clusters.polling.watchdog_told import note_watchdogs
from apps.live import events


def store(*, cluster: WatchedCluster, tick: Tick, memory: ClusterMemory, lease: Lease) -> None:
    """Samples, latest rows and events of one tick; then its points and the fact "sampled" go to viewers.

    Raises LeaseLost, and stores nothing then. What has been unregistered meanwhile is left out.
    """
    with transaction.atomic():
        leases.confirm(lease)
        tick = numbering.checked(cluster, _registered(cluster, tick))
        primary = memory.primary
        found = changes(cluster=cluster, memory=memory, tick=tick)
        if memory.primary != primary:
            role_changes.note(cluster=cluster, memory=memory, tick=tick, found=found)
        lags = lags_of(cluster, tick.backends, primary=memory.primary)
        found += lag_changes(cluster=cluster, memory=memory, tick=tick, lags=lags)
        found += watchdog_changes(cluster=cluster, memory=memory, tick=tick)
        found += memcached_changes(cluster=cluster, memory=memory, tick=tick)
        points = points_of(cluster=cluster, memory=memory, tick=tick, lags=lags)
        _append(tick, lags, memory)
        _rewrite(cluster, tick, lags, memory, lease)
        _note_settings(cluster, tick.instances)
        note_running(tick)
        note_watchdogs(tick)
        note_memcacheds(tick, memory)
        _write_events(cluster, tick, found)
        _tell(cluster, tick, lease, points, found)


def _registered(cluster: WatchedCluster, tick: Tick) -> Tick:
    """The tick without what was unregistered since it was asked; the rest cannot vanish before the commit."""
    # The cluster first, as who removes it begins there too: in another order the two would wait for each other.
    _held("clusters_cluster", "id", cluster.cluster_id)
    instances = _held("clusters_pgpoolinstance", "cluster_id", cluster.cluster_id)
    backends = _held("clusters_backend", "cluster_id", cluster.cluster_id)
    return Tick(
        at=tick.at,
        number=tick.number,
        instances=tuple(one for one in tick.instances if one.instance_id in instances),
        backends=tuple(one for one in tick.backends if one.backend_id in backends),
    )


def _held(table: str, column: str, cluster_id: int) -> set[int]:
    """Keys of the cluster's rows, held against deletion only, as a foreign key would."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id FROM {table} WHERE {column} = %s FOR KEY SHARE", [cluster_id])  # noqa: S608
        return {key for (key,) in cursor.fetchall()}


def _append(tick: Tick, lags: Mapping[int, KnownLag], memory: ClusterMemory) -> None:
    append(
        instances=[
            InstanceSampleRow(
                instance_id=one.instance_id,
                at=tick.at,
                is_answering=one.is_answering,
                probe_ms=one.probe_ms,
                children_used=one.children_used,
                children_total=one.children_total,
                session_count=one.session_count,
                cache_hit_count=one.cache_hit_count,
                cache_miss_count=one.cache_miss_count,
                counted_since=_counted_since(one, memory),
                cache_entry_count=None if one.cache is None else one.cache.entries,
            )
            for one in tick.instances
        ],
        nodes=[
            NodeSampleRow(
                one.instance_id,
                node.node_id,
                tick.at,
                node.select_count,
                one.weights.get(node.node_id),
                is_up(node.status),
            )
            for one in tick.instances
            for node in one.nodes
        ],
        backends=[_backend_sample(one, tick, lags) for one in tick.backends],
    )


def _counted_since(reading: InstanceReading, memory: ClusterMemory) -> dt.datetime | None:
    counters = memory.counters.get(reading.instance_id)
    return counters.since if counters is not None and reading.is_answering and reading.nodes else None


def _backend_sample(reading: BackendReading, tick: Tick, lags: Mapping[int, KnownLag]) -> BackendSampleRow:
    facts, lag = reading.facts, lags.get(reading.backend_id)
    return BackendSampleRow(
        backend_id=reading.backend_id,
        at=tick.at,
        is_answering=facts is not None,
        is_in_recovery=facts.is_in_recovery if facts else None,
        probe_ms=facts.probe_ms if facts else None,
        lsn_bytes=wal_position(facts) if facts else None,
        replay_lag_s=lag.lag_s if lag else None,
        replay_lag_bytes=lag.lag_bytes if lag else None,
        aborted_count=facts.aborted_count if facts else None,
    )


def _rewrite(
    cluster: WatchedCluster, tick: Tick, lags: Mapping[int, KnownLag], memory: ClusterMemory, lease: Lease
) -> None:
    lag_over_at = {one.backend_id: memory.lag_over_at.get(one.node_id) for one in cluster.backends}
    if renumbered := [one.instance_id for one in tick.instances if one.state == "renumbered"]:
        NodeLatest.objects.filter(instance_id__in=renumbered).delete()
    for one in tick.instances:
        if one.session_count is not None:
            memory.sessions[one.instance_id] = one.session_count
    rewrite(
        instances=[_instance_now(one, tick, lease, memory) for one in tick.instances],
        nodes=[
            NodeNow(one.instance_id, node.node_id, tick.at, node.status, node.role, node.select_count, node.error_count)
            for one in tick.instances
            for node in one.nodes
        ]
        + [
            NodeNow(one.instance_id, node.node_id, tick.at, node.status, node.role, None)
            for one in tick.instances
            for node in one.pcp_nodes
        ],
        pool_nodes=[
            PoolNodeNow(
                instance_id=one.instance_id,
                node_id=node.node_id,
                seen_at=tick.at,
                pg_status=node.pg_status or "",
                pg_role=node.pg_role or "",
                lb_weight=node.lb_weight,
                replication_delay_bytes=node.replication_delay_bytes,
                replication_delay_s=node.replication_delay_s,
                replication_state=node.replication_state or "",
                replication_sync_state=node.replication_sync_state or "",
            )
            for one in tick.instances
            for node in one.pool_nodes
        ]
        + [_pcp_node_now(one, node, tick) for one in tick.instances for node in one.pcp_nodes],
        backends=[
            _backend_now(one, tick, lags)._replace(lag_over_at=lag_over_at.get(one.backend_id)) for one in tick.backends
        ],
    )


def _pcp_node_now(reading: InstanceReading, node: PcpNode, tick: Tick) -> PoolNodeNow:
    return PoolNodeNow(
        instance_id=reading.instance_id,
        node_id=node.node_id,
        seen_at=tick.at,
        pg_status=node.pg_status or "",
        pg_role=node.pg_role or "",
        lb_weight=node.weight_share,
        replication_delay_bytes=None,
        replication_delay_s=None,
        replication_state=node.replication_state or "",
        replication_sync_state=node.replication_sync_state or "",
    )


def _instance_now(reading: InstanceReading, tick: Tick, lease: Lease, memory: ClusterMemory) -> InstanceNow:
    return InstanceNow(
        instance_id=reading.instance_id,
        polled_at=tick.at,
        answered_at=tick.at if reading.is_answering or reading.state == "renumbered" else None,
        state=reading.state,
        reason=reading.reason,
        probe_ms=reading.probe_ms,
        children_used=reading.children_used,
        children_total=reading.children_total,
        session_count=reading.session_count,
        sessions_reason=reading.sessions_reason,
        cache_hit_count=reading.cache_hit_count,
        cache_miss_count=reading.cache_miss_count,
        epoch=lease.epoch,
        tick=tick.number,
        counted_since=_counted_since(reading, memory),
        cache_row=None if reading.cache is None else json.dumps(asdict(reading.cache)),
    )


def _backend_now(reading: BackendReading, tick: Tick, lags: Mapping[int, KnownLag]) -> BackendNow:
    facts, lag = reading.facts, lags.get(reading.backend_id) or KnownLag(is_standby=False)
    return BackendNow(
        backend_id=reading.backend_id,
        polled_at=tick.at,
        answered_at=tick.at if facts else None,
        reason=reading.reason,
        is_in_recovery=facts.is_in_recovery if facts else None,
        probe_ms=facts.probe_ms if facts else None,
        server_version=facts.server_version if facts else "",
        lsn_bytes=wal_position(facts) if facts else None,
        replay_lag_s=lag.lag_s,
        replay_lag_bytes=lag.lag_bytes,
        lag_reason=lag.reason,
        replication_state=lag.replication_state,
        sync_state=lag.sync_state,
        connection_limit=facts.connection_limit if facts else None,
    )


def _note_settings(cluster: WatchedCluster, instances: Sequence[InstanceReading]) -> None:
    """What the pgpools say about themselves, where it differs from what is stored."""
    known = {one.instance_id: (one.version, one.shown_weights) for one in cluster.instances}
    waiting = {one.instance_id: one.waiting for one in cluster.instances}
    shown: list[PoolSettings] = []
    for one in instances:
        if one.settings is not None:
            shown.append(one.settings)
            _end_waiting(one.instance_id, waiting.get(one.instance_id, {}), one.settings.others)
            version, weights = one.settings.version, dict(one.settings.weights)
            if known.get(one.instance_id) != (version, weights):
                PgpoolInstance.objects.filter(pk=one.instance_id).update(version=version, shown_weights=weights)
    if not shown:
        return
    is_statement_level = any(one.is_statement_level for one in shown)
    threshold = DelayThreshold(shown[0].delay_threshold_bytes, shown[0].delay_threshold_s)
    if (is_statement_level, threshold) != (cluster.is_statement_level, cluster.delay_threshold):
        Cluster.objects.filter(pk=cluster.cluster_id).update(
            is_statement_level=is_statement_level,
            delay_threshold_bytes=threshold.size_bytes,
            delay_threshold_s=threshold.time_s,
        )


def _end_waiting(instance_id: int, waiting: Mapping[str, str], shown: Mapping[str, str]) -> None:
    """What waited for a restart, and is in use now, waits no longer."""
    for name, wanted in waiting.items():
        if name in shown and is_same_value(name, wanted, shown[name]):
            PendingRestart.objects.filter(instance_id=instance_id, name=name, wanted=wanted).delete()


def _write_events(cluster: WatchedCluster, tick: Tick, found: Sequence[Change]) -> None:
    ClusterEvent.objects.bulk_create(
        ClusterEvent(
            cluster_id=cluster.cluster_id,
            at=tick.at,
            kind=one.kind,
            is_problem=one.is_problem,
            title=one.title[:200],
            detail=one.detail,
            instance_name=one.instance_name,
            node_id=one.node_id,
        )
        for one in found
    )


def _tell(cluster: WatchedCluster, tick: Tick, lease: Lease, points: Points, found: Sequence[Change]) -> None:
    topic = f"cluster.{cluster.cluster_id}"
    message = PointsMessage(topic=topic, seq=(lease.epoch, tick.number), points=points)
    transaction.on_commit(lambda: events.publish(topic, message), robust=True)
    events.announce(topic, "sampled")
    if found:
        events.announce(topic, "event", titles=[one.title for one in found])
    events.announce(f"organisation.{cluster.organisation_id}", "sampled", cluster=cluster.cluster_id)
