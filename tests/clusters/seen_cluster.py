"""A cluster that was registered and polled: the rows that pollers write, with figures that a test chooses."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from apps.accounts.models import Organisation
from apps.clusters.history.append import InstanceSampleRow, NodeSampleRow, append
from apps.clusters.models import Backend, BackendLatest, Cluster, InstanceLatest, NodeLatest, PgpoolInstance
from apps.clusters.queries.health import Freshness, Health, freshness_of, health_of
from apps.clusters.queries.sight import sight_of

NOW = datetime(2026, 3, 17, 14, 32, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=3)
WEIGHTS = {0: 0.0, 1: 0.25, 2: 0.75}


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def register(organisation: Organisation, slug: str = "orders", *, pgpools: int = 2) -> Cluster:
    """Registered, never polled: pg1 is the primary, pg2 and pg3 are standbys."""
    cluster = Cluster.objects.create(
        organisation=organisation,
        slug=slug,
        name=slug.title(),
        username="lifeguard",
        password="monitor-secret",
        delay_threshold_bytes=1000,
    )
    Cluster.objects.filter(pk=cluster.pk).update(created_at=LONG_AGO)
    cluster.refresh_from_db()
    for number in range(1, pgpools + 1):
        PgpoolInstance.objects.create(
            cluster=cluster,
            name=f"pgpool-{number}",
            host=f"pool{number}.example",
            port=9000 + number,
            az=f"us-east-1{'abc'[number - 1]}",
            pcp_port=9800 + number,
            pcp_username="pcp",
            pcp_password="pcp-secret",
            version="4.3.5",
        )
    for node_id in range(3):
        Backend.objects.create(
            cluster=cluster,
            node_id=node_id,
            hostname=f"db{node_id}.example",
            port=5000 + node_id,
            application_name=f"pg{node_id + 1}",
            az=f"us-east-1{'abc'[node_id]}",
        )
    return cluster


def poll(cluster: Cluster, *, seen_at: datetime = NOW, since: datetime = LONG_AGO, **instance_facts: Any) -> None:
    """Every pgpool and backend answered at seen_at, all as it should be."""
    for instance in cluster.instances.order_by("name"):
        facts: dict[str, Any] = {
            "polled_at": seen_at,
            "answered_at": seen_at,
            "state": "answering",
            "state_since": since,
            "probe_ms": 0.8,
            "children_used": 4,
            "children_total": 32,
            "session_count": 2000,
        }
        InstanceLatest.objects.update_or_create(instance=instance, defaults=facts | instance_facts)
        for node_id, share in WEIGHTS.items():
            NodeLatest.objects.update_or_create(
                instance=instance,
                node_id=node_id,
                defaults={
                    "seen_at": seen_at,
                    "status": "up",
                    "status_since": since,
                    "pg_status": "up",
                    "role": "standby" if node_id else "primary",
                    "lb_weight": share,
                    "weight_since": since,
                    "select_count": 0,
                },
            )
    for backend in cluster.backends.order_by("node_id"):
        is_standby = backend.node_id > 0
        BackendLatest.objects.update_or_create(
            backend=backend,
            defaults={
                "polled_at": seen_at,
                "answered_at": seen_at,
                "is_in_recovery": is_standby,
                "probe_ms": 0.4,
                "server_version": "15.18",
                "replay_lag_s": 0.2 if is_standby else None,
                "replay_lag_bytes": 96 if is_standby else None,
                "replication_state": "streaming" if is_standby else "",
                "sync_state": "async" if is_standby else "",
            },
        )


def count(
    instance: PgpoolInstance,
    reads: Mapping[int, int],
    *,
    sessions: int | None = 1000,
    window_s: float = 300,
    until: datetime = NOW,
) -> None:
    """Samples at both ends of a window between which these reads and sessions were counted, and the latest rows."""
    ends: Sequence[tuple[datetime, int]] = ((until - timedelta(seconds=window_s), 0), (until, 1))
    before = 500
    append(
        instances=[
            InstanceSampleRow(
                instance.pk,
                at,
                True,
                0.8,
                4,
                32,
                None if sessions is None else before + sessions * factor,
                None,
                None,
            )
            for at, factor in ends
        ],
        nodes=[
            NodeSampleRow(instance.pk, node_id, at, 100 + reads.get(node_id, 0) * factor, WEIGHTS[node_id], True)
            for at, factor in ends
            for node_id in WEIGHTS
        ],
    )
    for node_id in WEIGHTS:
        NodeLatest.objects.filter(instance=instance, node_id=node_id).update(
            select_count=100 + reads.get(node_id, 0), seen_at=until
        )
    InstanceLatest.objects.filter(instance=instance).update(
        session_count=None if sessions is None else before + sessions,
        sessions_reason="" if sessions is not None else "sessions are counted from Pgpool-II 4.3 on",
    )


def cluster_health(
    *, cluster: Cluster, now: datetime, verdict_state: str | None = None, counted_s: float | None = None
) -> Health:
    return health_of(sight=sight_of(cluster), now=now, verdict_state=verdict_state, counted_s=counted_s)


def freshness(*, cluster: Cluster, now: datetime) -> Freshness:
    return freshness_of(sight=sight_of(cluster), now=now)
