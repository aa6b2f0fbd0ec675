"""What a worker has to watch, read from the registration again at every turn: new clusters appear by themselves."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from django.db.models import F, Q

from apps.clusters.domain.instance_numbering import Address
from apps.clusters.domain.lag import DelayThreshold
from apps.clusters.models import Backend, Cluster, PgpoolInstance, Rollout
from apps.clusters.outside.backend_client import BackendAddress
from apps.clusters.outside.pcp import PcpAddress
from apps.clusters.outside.pgpool_client import PgpoolAddress
from apps.clusters.polling.own_sessions import OpenedBy, opened_apart

Owned = TypeVar("Owned", PgpoolInstance, Backend)

# A rollout's own changes of weights are still being seen for a while after it has finished.
ROLLOUT_ECHO = dt.timedelta(seconds=30)


@dataclass(frozen=True)
class WatchedInstance:
    """waiting: name -> value of pgpool.conf, of what pgpool uses only once it is restarted.

    opened: who of Lifeguard looks there beside polling.
    """

    instance_id: int
    name: str
    address: PgpoolAddress
    pcp: PcpAddress | None
    version: str
    shown_weights: Mapping[str, int]
    waiting: Mapping[str, str] = field(default_factory=dict)
    opened: OpenedBy = field(default_factory=dict)


@dataclass(frozen=True)
class WatchedBackend:
    """place: where the pgpools reach it; address: where Lifeguard does."""

    backend_id: int
    node_id: int
    name: str
    application_name: str
    place: Address
    address: BackendAddress


@dataclass(frozen=True)
class WatchedCluster:
    """has_rollout: one is under way, or has just finished."""

    cluster_id: int
    organisation_id: int
    instances: tuple[WatchedInstance, ...]
    backends: tuple[WatchedBackend, ...]
    has_rollout: bool
    is_statement_level: bool
    delay_threshold: DelayThreshold


def watched_clusters(*, shard: int, shards: int, now: dt.datetime) -> tuple[WatchedCluster, ...]:
    """The clusters of one shard: those whose key leaves the shard's number when divided by the number of shards."""
    clusters = list(Cluster.objects.alias(shard=F("pk") % shards).filter(shard=shard).order_by("pk"))
    keys = [one.pk for one in clusters]
    registered = PgpoolInstance.objects.filter(cluster_id__in=keys).prefetch_related("pending_restarts")
    instances = _by_cluster(registered.order_by("name"))
    backends = _by_cluster(Backend.objects.filter(cluster_id__in=keys).order_by("node_id"))
    rolling_out, opened = clusters_with_rollout(keys, now=now), opened_apart(keys)
    return tuple(
        _watched(
            cluster,
            instances.get(cluster.pk, []),
            backends.get(cluster.pk, []),
            has_rollout=cluster.pk in rolling_out,
            opened=opened,
        )
        for cluster in clusters
    )


def watched_cluster(cluster: Cluster) -> WatchedCluster:
    """One cluster as it is registered now, for whoever asks its servers out of turn."""
    instances, backends = cluster.instances.order_by("name", "pk"), cluster.backends.order_by("node_id")
    return _watched(cluster, instances, backends, has_rollout=False, opened={})


def _watched(
    cluster: Cluster,
    instances: Iterable[PgpoolInstance],
    backends: Iterable[Backend],
    *,
    has_rollout: bool,
    opened: Mapping[int, OpenedBy],
) -> WatchedCluster:
    return WatchedCluster(
        cluster_id=cluster.pk,
        organisation_id=cluster.organisation_id,
        instances=tuple(_instance(cluster, one, opened.get(one.pk, {})) for one in instances),
        backends=tuple(_backend(cluster, one) for one in backends),
        has_rollout=has_rollout,
        is_statement_level=cluster.is_statement_level,
        delay_threshold=cluster.delay_threshold,
    )


def clusters_with_rollout(cluster_ids: Sequence[int], *, now: dt.datetime) -> set[int]:
    """Those on which a rollout is under way, or has just finished."""
    return set(
        Rollout.objects.filter(cluster_id__in=cluster_ids)
        .filter(Q(state__in=Rollout.ACTIVE) | Q(finished_at__gt=now - ROLLOUT_ECHO))
        .values_list("cluster_id", flat=True)
    )


def _by_cluster(rows: Iterable[Owned]) -> dict[int, list[Owned]]:
    found: dict[int, list[Owned]] = {}
    for row in rows:
        found.setdefault(row.cluster_id, []).append(row)
    return found


def _instance(cluster: Cluster, instance: PgpoolInstance, opened: OpenedBy) -> WatchedInstance:
    return WatchedInstance(
        instance_id=instance.pk,
        name=instance.name,
        address=PgpoolAddress(
            host=instance.host,
            port=instance.port,
            username=cluster.username,
            password=cluster.password,
            sslmode=cluster.sslmode,
        ),
        pcp=_pcp(instance),
        version=instance.version,
        shown_weights=instance.shown_weights,
        waiting={one.name: one.wanted for one in instance.pending_restarts.all()},
        opened=opened,
    )


def _pcp(instance: PgpoolInstance) -> PcpAddress | None:
    if instance.pcp_port is None or not instance.pcp_username:
        return None
    return PcpAddress(instance.host, instance.pcp_port, instance.pcp_username, instance.pcp_password)


def _backend(cluster: Cluster, backend: Backend) -> WatchedBackend:
    return WatchedBackend(
        backend_id=backend.pk,
        node_id=backend.node_id,
        name=backend.shown_name,
        application_name=backend.application_name,
        place=(backend.hostname, backend.port),
        address=BackendAddress(
            host=backend.asked_host,
            port=backend.asked_port,
            username=cluster.username,
            password=cluster.password,
            sslmode=cluster.sslmode,
        ),
    )
