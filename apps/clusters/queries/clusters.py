"""Clusters as they are registered, with how they are. No password is ever part of an answer."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypedDict

from apps.accounts.models import Organisation
from apps.clusters.models import Cluster, PgpoolInstance
from apps.clusters.outside.delivery.ssh_keys import fingerprint
from apps.clusters.queries.health import health_of
from apps.clusters.queries.pending_restarts import PendingRestartAnswer, pending_by_cluster, pending_restarts
from apps.clusters.queries.shared_pgpools import Address, Watcher, warnings_of, watchers
from apps.clusters.queries.sight import BackendSight, InstanceSight, Sight, sight_of, sights_of


class PcpAnswer(TypedDict):
    port: int
    user: str


class SshAnswer(TypedDict):
    """host_key: the fingerprint of the key that is pinned."""

    host: str
    port: int
    user: str
    host_key: str
    sudo: bool


class DeliveryAnswer(TypedDict):
    """kind: observe, local, ssh or manual. wait_h: how long a rollout waits for a published file to be applied.

    restart: the name of a command that the installation allows, script for ssh; "": by hand.
    """

    kind: str
    path: str
    ssh: SshAnswer | None
    wait_h: int | None
    restart: str


class PgpoolAnswer(TypedDict):
    """state: answering, hanging, unreachable, refused, renumbered, or waiting before the first poll.

    reason: what mends it.
    """

    id: int
    name: str
    host: str
    port: int
    az: str
    pcp: PcpAnswer | None
    delivery: DeliveryAnswer
    version: str
    state: str
    reason: str
    answered_at: datetime | None
    probe_ms: float | None
    children_used: int | None
    children_total: int | None


class BackendAnswer(TypedDict):
    node_id: int
    name: str
    hostname: str
    port: int
    az: str
    role: str
    status: str


class ClusterAnswer(TypedDict):
    """state: ok, warn, crit, stale or idle, in words in state_word, explained by reasons.

    warnings: what is odd about the registration itself, as a pgpool that another cluster watches too.
    pending_restarts: values that wait for a restart of a pgpool. debts: revisions that pgpools owe, in sentences; the
    address debts/ below the cluster says more.
    """

    id: int
    slug: str
    name: str
    username: str
    sslmode: str
    state: str
    state_word: str
    reasons: list[str]
    warnings: list[str]
    pending_restarts: list[PendingRestartAnswer]
    debts: list[str]
    has_synthetic_azs: bool
    observe_only: bool
    created_at: datetime
    seen_at: datetime | None
    pgpools: list[PgpoolAnswer]
    backends: list[BackendAnswer]


def cluster_answer(*, cluster: Cluster, now: datetime) -> ClusterAnswer:
    pending = pending_restarts(cluster=cluster)
    return _answer(sight_of(cluster), now, watchers(organisation_id=cluster.organisation_id), pending)


def cluster_answers(*, organisation: Organisation, now: datetime) -> list[ClusterAnswer]:
    """All clusters of the organisation, by name."""
    clusters = Cluster.objects.filter(organisation=organisation).defer("password")
    watching = watchers(organisation_id=organisation.pk)
    sights = sights_of(clusters.order_by("name", "pk"))
    pending = pending_by_cluster(sights.keys())
    return [_answer(sight, now, watching, pending.get(pk, [])) for pk, sight in sights.items()]


def _answer(
    sight: Sight, now: datetime, watching: Mapping[Address, list[Watcher]], pending: list[PendingRestartAnswer]
) -> ClusterAnswer:
    cluster, health = sight.cluster, health_of(sight=sight, now=now)
    return {
        "id": cluster.pk,
        "slug": cluster.slug,
        "name": cluster.name,
        "username": cluster.username,
        "sslmode": cluster.sslmode,
        "state": health["state"],
        "state_word": health["word"],
        "reasons": health["reasons"],
        "warnings": warnings_of([one.instance for one in sight.instances], watching),
        "pending_restarts": pending,
        "debts": [one.owes for one in sight.instances if one.owes],
        "has_synthetic_azs": cluster.has_synthetic_azs,
        "observe_only": cluster.is_observe_only,
        "created_at": cluster.created_at,
        "seen_at": sight.seen_at,
        "pgpools": [_pgpool(one) for one in sight.instances],
        "backends": [_backend(one) for one in sight.backends],
    }


def _pgpool(one: InstanceSight) -> PgpoolAnswer:
    instance, latest = one.instance, one.latest
    return {
        "id": instance.pk,
        "name": instance.name,
        "host": instance.host,
        "port": instance.port,
        "az": instance.az,
        "pcp": _pcp(instance),
        "delivery": _delivery(instance),
        "version": instance.version,
        "state": latest.state if latest else "waiting",
        "reason": latest.reason if latest else "not asked yet",
        "answered_at": latest.answered_at if latest else None,
        "probe_ms": latest.probe_ms if latest else None,
        "children_used": latest.children_used if latest else None,
        "children_total": latest.children_total if latest else None,
    }


def _delivery(instance: PgpoolInstance) -> DeliveryAnswer:
    is_manual = instance.delivery_kind == PgpoolInstance.Delivery.MANUAL
    return {
        "kind": instance.delivery_kind,
        "path": instance.delivery_path,
        "ssh": _ssh(instance),
        "wait_h": instance.longest_wait_h if is_manual else None,
        "restart": instance.restart_command,
    }


def _ssh(instance: PgpoolInstance) -> SshAnswer | None:
    if instance.delivery_kind != PgpoolInstance.Delivery.SSH:
        return None
    return {
        "host": instance.ssh_host,
        "port": instance.ssh_port,
        "user": instance.ssh_username,
        "host_key": fingerprint(instance.ssh_host_key),
        "sudo": instance.has_sudo,
    }


def _pcp(instance: PgpoolInstance) -> PcpAnswer | None:
    if instance.pcp_port is None:
        return None
    return {"port": instance.pcp_port, "user": instance.pcp_username}


def _backend(one: BackendSight) -> BackendAnswer:
    return {
        "node_id": one.backend.node_id,
        "name": one.name,
        "hostname": one.backend.hostname,
        "port": one.backend.port,
        "az": one.backend.az,
        "role": one.role,
        "status": one.status,
    }
