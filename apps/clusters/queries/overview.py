"""What the overview of a cluster shows: the verdict with its evidence, the topology, saturation, cache, events."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypedDict

from apps.clusters.domain import cache_counters, ribbons
from apps.clusters.history import window_counts
from apps.clusters.models import Cluster, ClusterEvent, InstanceLatest
from apps.clusters.queries.debts import DebtAnswer, open_debts
from apps.clusters.queries.distribution import DistributionAnswer, InstanceDistribution, NodeShare, distribution_of
from apps.clusters.queries.health import TROUBLE_AFTER_S, Freshness, Health, freshness_of, health_of
from apps.clusters.queries.pending_restarts import PendingRestartAnswer, pending_restarts
from apps.clusters.queries.sight import BackendSight, InstanceSight, Sight, sight_of


class InstanceFigures(TypedDict):
    """One pgpool in the topology strip and in the saturation list."""

    name: str
    az: str
    state: str
    reason: str
    reads_per_s: float | None
    sessions: int | None
    is_off: bool
    answered_at: datetime | None
    probe_ms: float | None
    children_used: int | None
    children_total: int | None
    children_free: int | None
    owes: str


class BackendFigures(TypedDict):
    """One backend in the topology strip."""

    node_id: int
    name: str
    az: str
    role: str
    status: str
    sync_state: str
    observed_share: float | None
    weight_share: float | None
    effective_share: float | None
    reads_per_s: float | None
    replay_lag_s: float | None
    replay_lag_bytes: int | None
    lag_reason: str
    is_lagging: bool
    reason: str


class CacheFigures(TypedDict):
    """The query cache in the window, from counter differences."""

    hits: int | None
    misses: int | None
    hit_ratio: float | None
    reason: str


class Overview(TypedDict):
    health: Health
    freshness: Freshness
    distribution: DistributionAnswer
    evidence: str
    instances: list[InstanceFigures]
    backends: list[BackendFigures]
    ribbons: list[ribbons.Ribbon]
    strip_height: int
    cross_az_share: float | None
    lacks_azs: str
    cache: CacheFigures
    versions: str
    pending_restarts: list[PendingRestartAnswer]
    debts: list[DebtAnswer]
    is_drifted: bool


class EventAnswer(TypedDict):
    id: int
    at: datetime
    kind: str
    is_problem: bool
    title: str
    detail: str
    instance: str
    node_id: int | None
    rollout: int | None


def overview(*, cluster: Cluster, window_s: int, now: datetime) -> Overview:
    sight = sight_of(cluster)
    judged = distribution_of(sight=sight, window_s=window_s, now=now)
    instances = _instances(sight, judged)
    backends = _backends(sight, judged)
    flows = _flows(judged, instances, backends)
    return {
        "health": health_of(
            sight=sight,
            now=now,
            verdict_state=judged["verdict"]["state"],
            is_certain=judged["verdict"]["is_certain"],
            counted_s=judged["seconds"],
        ),
        "freshness": freshness_of(sight=sight, now=now),
        "distribution": judged,
        "evidence": evidence(judged, is_statement_level=cluster.is_statement_level),
        "instances": instances,
        "backends": backends,
        "ribbons": ribbons.strip(flows),
        "strip_height": ribbons.height(max(len(instances), len(backends))),
        "cross_az_share": ribbons.cross_az_share(flows),
        "lacks_azs": _lacks_azs(instances, backends),
        "cache": _cache(cluster, now - timedelta(seconds=window_s), now),
        "versions": _versions(sight),
        "pending_restarts": pending_restarts(cluster=cluster),
        "debts": open_debts(cluster=cluster),
        "is_drifted": any(one.drift for one in sight.instances),
    }


def _lacks_azs(instances: Sequence[InstanceFigures], backends: Sequence[BackendFigures]) -> str:
    """Which of the two have no AZ, "" if all have one."""
    lacking = {
        "pgpools": any(not each["az"] for each in instances),
        "backends": any(not each["az"] for each in backends),
    }
    return " and ".join(name for name, is_lacking in lacking.items() if is_lacking)


def evidence(judged: DistributionAnswer, *, is_statement_level: bool) -> str:
    """The line below the verdict: how long, how much, and what chance alone does."""
    minutes = judged["seconds"] / 60
    span = f"{minutes:.0f} min" if minutes >= 2 else f"{judged['seconds']:.0f} s"
    reads = f"{judged['reads']:,} reads"
    if is_statement_level:
        said = f"Last {span}, {reads}. pgpool picks a backend for every statement"
    elif judged["sessions"] is None:
        return f"Last {span}, {reads}. Sessions are not counted: {judged['sessions_reason'] or 'no answer yet'}."
    else:
        said = f"Last {span}, {reads} in {judged['sessions']:,} sessions. pgpool picks a backend once per session"
    if judged["band"] is None:
        return f"{said}."
    return f"{said}, so chance alone moves a share by ±{judged['band'] * 100:.1f} points."


def events(*, cluster: Cluster, before: int | None, limit: int) -> list[EventAnswer]:
    """What happened, latest first; before: only events with a smaller id."""
    found = ClusterEvent.objects.filter(cluster=cluster)
    if before is not None:
        found = found.filter(pk__lt=before)
    return [
        {
            "id": event.pk,
            "at": event.at,
            "kind": event.kind,
            "is_problem": event.is_problem,
            "title": event.title,
            "detail": event.detail,
            "instance": event.instance_name,
            "node_id": event.node_id,
            "rollout": event.rollout_id,
        }
        for event in found.order_by("-pk")[:limit]
    ]


def _instances(sight: Sight, judged: DistributionAnswer) -> list[InstanceFigures]:
    shares = {each["instance"]: each for each in judged["per_instance"]}
    return [_instance(one, shares.get(one.instance.name), judged) for one in sight.instances]


def _instance(one: InstanceSight, counted: InstanceDistribution | None, judged: DistributionAnswer) -> InstanceFigures:
    row = one.latest
    return {
        "name": one.instance.name,
        "az": one.instance.az,
        "state": row.state if row else "waiting",
        "reason": row.reason if row else "not asked yet",
        "reads_per_s": _rate(counted["reads"], judged) if counted else None,
        "sessions": counted["sessions"] if counted else None,
        "is_off": bool(counted and counted["is_certain"] and judged["seconds"] >= TROUBLE_AFTER_S),
        "answered_at": row.answered_at if row else None,
        "probe_ms": row.probe_ms if row else None,
        "children_used": row.children_used if row else None,
        "children_total": row.children_total if row else None,
        "children_free": _free(row),
        "owes": one.owes,
    }


def _free(row: InstanceLatest | None) -> int | None:
    """Children left for new clients: Lifeguard itself holds up to two (see polling)."""
    if row is None or row.children_total is None or row.children_used is None:
        return None
    return max(row.children_total - row.children_used - 2, 0)


def _backends(sight: Sight, judged: DistributionAnswer) -> list[BackendFigures]:
    shares = {node["node_id"]: node for node in judged["nodes"]}
    return [_backend(sight, one, shares[one.backend.node_id], judged) for one in sight.backends]


def _backend(sight: Sight, one: BackendSight, share: NodeShare, judged: DistributionAnswer) -> BackendFigures:
    direct = one.latest
    return {
        "node_id": one.backend.node_id,
        "name": one.name,
        "az": one.backend.az,
        "role": one.role,
        "status": one.status,
        "sync_state": direct.sync_state if direct else "",
        "observed_share": share["observed_share"],
        "weight_share": share["weight_share"],
        "effective_share": share["effective_share"],
        "reads_per_s": _rate(share["select_count"], judged),
        "replay_lag_s": direct.replay_lag_s if direct else None,
        "replay_lag_bytes": direct.replay_lag_bytes if direct else None,
        "lag_reason": direct.lag_reason if direct else "not asked yet",
        "is_lagging": sight.is_lagging(one),
        "reason": direct.reason if direct else "not asked yet",
    }


def _rate(count: int, judged: DistributionAnswer) -> float | None:
    return count / judged["seconds"] if judged["seconds"] > 0 else None


def _flows(
    judged: DistributionAnswer, instances: list[InstanceFigures], backends: list[BackendFigures]
) -> list[ribbons.Flow]:
    rows = {backend["node_id"]: row for row, backend in enumerate(backends)}
    by_name: dict[str, InstanceDistribution] = {each["instance"]: each for each in judged["per_instance"]}
    found = []
    for source, instance in enumerate(instances):
        counted = by_name.get(instance["name"])
        for node in counted["nodes"] if counted else []:
            target = rows.get(node["node_id"])
            rate = _rate(node["select_count"], judged)
            if target is None or not rate:
                continue
            backend = backends[target]
            known = bool(instance["az"] and backend["az"])
            same = instance["az"] == backend["az"] if known else None
            where = {True: "same AZ", False: "crosses an AZ", None: "AZ not known"}[same]
            title = f"{instance['name']} to {backend['name']}: {rate:,.1f} reads/s, {where}"
            found.append(ribbons.Flow(source, target, node["node_id"], rate, same, title))
    return found


def _cache(cluster: Cluster, start: datetime, end: datetime) -> CacheFigures:
    """The operating hit ratio over all pgpools: counter differences, never the ratio since pgpool started."""
    found = cache_counters.together(
        counts for one in window_counts(cluster=cluster, start=start, end=end) if (counts := one.cache_counts)
    )
    if found is None:
        return {"hits": None, "misses": None, "hit_ratio": None, "reason": "no two samples of SHOW POOL_CACHE yet"}
    if found.operating_ratio is None:
        return {"hits": 0, "misses": 0, "hit_ratio": None, "reason": "the query cache was not asked: off, or no reads"}
    return {"hits": found.hits, "misses": found.misses, "hit_ratio": found.operating_ratio, "reason": ""}


def _versions(sight: Sight) -> str:
    """As: Pgpool-II 4.3.5 · PostgreSQL 15.18"""
    pgpools = sorted({one.instance.version for one in sight.instances if one.instance.version})
    # Debian puts its package behind the number: 15.18 (Debian 15.18-0+deb12u1).
    answers = [one.latest.server_version for one in sight.backends if one.latest]
    servers = sorted({version.split()[0] for version in answers if version})
    said = [f"Pgpool-II {', '.join(pgpools)}"] if pgpools else []
    return " · ".join(said + ([f"PostgreSQL {', '.join(servers)}"] if servers else []))
