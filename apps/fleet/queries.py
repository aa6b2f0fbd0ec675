"""All clusters of an organisation at a glance, worst first, in a number of statements that does not grow with them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypedDict

from django.conf import settings

from apps.accounts.models import Organisation
from apps.clusters.domain.routing import RoutingState
from apps.clusters.models import Cluster, Shard
from apps.clusters.queries.health import TROUBLE_AFTER_S, health_of
from apps.clusters.queries.recent import Recent, recent_of
from apps.clusters.queries.sight import BackendSight, Sight, sights_of

WORST_FIRST = ("crit", "stale", "warn", "idle", "ok")
NEED_YOU = {"crit", "stale", "warn"}
LATE_AFTER_S = 15


class Segment(TypedDict):
    node_id: int
    share: float


class FleetRow(TypedDict):
    """segments: observed shares side by side; notches: where they would meet by weight. A null has its reason."""

    slug: str
    name: str
    state: str
    word: str
    reason: str
    is_stale: bool
    sentence: str
    azs: str
    azs_short: str
    segments: list[Segment]
    notches: list[float]
    shares_text: str
    drift: float | None
    drift_node: str
    is_off: bool
    reads_per_s: float | None
    lag_s: float | None
    lag_bytes: int | None
    lag_node: str
    lag_reason: str
    pgpools: int
    pgpools_up: int
    children_used: int | None
    children_total: int | None
    seen_at: datetime | None
    haystack: str


class FleetFigures(TypedDict):
    total: int
    need_you: int
    unseen: int
    off: int
    reads_per_s: float | None
    worst_lag_s: float | None
    worst_lag_where: str


class Fleet(TypedDict):
    rows: list[FleetRow]
    figures: FleetFigures


class SidebarRow(TypedDict):
    slug: str
    name: str
    state: str
    word: str


class Pollers(TypedDict):
    on_time: int
    total: int
    words: str


def fleet(*, organisation: Organisation, now: datetime) -> Fleet:
    sights = list(sights_of(_clusters(organisation)).values())
    recent = recent_of(sights=sights, now=now)
    rows = [_row(sight, recent[sight.cluster.pk], now) for sight in sights]
    rows.sort(key=_badness)
    return {"rows": rows, "figures": _figures(rows)}


def sidebar(*, organisation: Organisation, now: datetime) -> list[SidebarRow]:
    """Clusters by name, with their state; routing is not judged here."""
    found: list[SidebarRow] = []
    for sight in sights_of(_clusters(organisation)).values():
        health = health_of(sight=sight, now=now)
        cluster = sight.cluster
        found.append({"slug": cluster.slug, "name": cluster.name, "state": health["state"], "word": health["word"]})
    return found


def pollers(*, now: datetime) -> Pollers:
    """Each shard of the clusters is one poller's; rows of shards that there were once do not count."""
    ticks = list(Shard.objects.filter(number__lt=settings.POLL_SHARDS).values_list("ticked_at", flat=True))
    on_time = sum(at is not None and now - at <= timedelta(seconds=LATE_AFTER_S) for at in ticks)
    words = f"{on_time} of {len(ticks)} poller{'' if len(ticks) == 1 else 's'} on time" if ticks else "no poller yet"
    return {"on_time": on_time, "total": len(ticks), "words": words}


def _clusters(organisation: Organisation) -> Sequence[Cluster]:
    return list(Cluster.objects.filter(organisation=organisation).defer("password").order_by("name", "pk"))


def _badness(row: FleetRow) -> tuple[int, float, str]:
    return WORST_FIRST.index(row["state"]), -abs(row["drift"] or 0.0), row["name"]


def _row(sight: Sight, recent: Recent, now: datetime) -> FleetRow:
    health = health_of(
        sight=sight,
        now=now,
        verdict_state=recent.verdict.state,
        is_certain=recent.verdict.is_certain,
        counted_s=recent.counted_s,
    )
    drift, drift_node = _drift(sight, recent)
    laggard = _laggard(sight)
    children = [one.latest for one in sight.instances if one.latest and one.latest.children_used is not None]
    azs = sorted({az for az in _azs(sight) if az})
    return {
        "slug": sight.cluster.slug,
        "name": sight.cluster.name,
        "state": health["state"],
        "word": health["word"],
        "reason": " ".join(health["reasons"]) or recent.verdict.sentence,
        "is_stale": health["state"] == "stale",
        "sentence": recent.verdict.sentence,
        "azs": ", ".join(azs),
        "azs_short": short_azs(azs),
        "segments": _segments(recent),
        "notches": _notches(recent),
        "shares_text": _shares_text(sight, recent),
        "drift": drift,
        "drift_node": drift_node,
        "is_off": recent.verdict.is_certain and recent.counted_s >= TROUBLE_AFTER_S,
        "reads_per_s": None if health["state"] == "stale" else recent.reads_per_s,
        "lag_s": laggard.latest.replay_lag_s if laggard and laggard.latest else None,
        "lag_bytes": laggard.latest.replay_lag_bytes if laggard and laggard.latest else None,
        "lag_node": laggard.name if laggard else "",
        "lag_reason": _lag_reason(sight, laggard),
        "pgpools": len(sight.instances),
        "pgpools_up": sum(one.is_answering for one in sight.instances),
        "children_used": sum(one.children_used or 0 for one in children) if children else None,
        "children_total": sum(one.children_total or 0 for one in children) if children else None,
        "seen_at": sight.seen_at,
        "haystack": _haystack(sight, azs),
    }


def _drift(sight: Sight, recent: Recent) -> tuple[float | None, str]:
    """The backend furthest from its weight, signed: below 0 it gets less."""
    if recent.verdict.state is RoutingState.TOO_LITTLE_TRAFFIC:
        return None, ""
    names = {one.backend.node_id: one.name for one in sight.backends}
    drifts = [
        (node.observed_share - node.effective_share, names.get(node.node_id, ""))
        for node in recent.verdict.nodes
        if node.observed_share is not None and node.state is not RoutingState.DOWN
    ]
    return max(drifts, key=lambda drift: abs(drift[0]), default=(None, ""))


def _segments(recent: Recent) -> list[Segment]:
    return [
        {"node_id": node.node_id, "share": node.observed_share} for node in recent.verdict.nodes if node.observed_share
    ]


def _notches(recent: Recent) -> list[float]:
    edges, reached = [], 0.0
    for node in recent.verdict.nodes:
        reached += node.effective_share
        if node.effective_share > 0 and reached < 0.9999:
            edges.append(round(reached, 6))
    return edges


def _shares_text(sight: Sight, recent: Recent) -> str:
    names = {one.backend.node_id: one.name for one in sight.backends}
    said = [
        f"{names.get(node.node_id, node.node_id)} {node.observed_share * 100:.1f} % of reads, "
        f"weight {node.effective_share * 100:.1f} %"
        for node in recent.verdict.nodes
        if node.observed_share is not None
    ]
    return "; ".join(said) or recent.verdict.sentence


def _standbys(sight: Sight) -> list[BackendSight]:
    return [one for one in sight.backends if one.role != "primary"]


def _laggard(sight: Sight) -> BackendSight | None:
    """The standby that is furthest behind, among those whose lag is known."""
    known = [one for one in _standbys(sight) if one.latest and one.latest.replay_lag_s is not None]
    return max(known, key=lambda one: (one.latest and one.latest.replay_lag_s) or 0.0, default=None)


def _lag_reason(sight: Sight, laggard: BackendSight | None) -> str:
    if laggard is not None:
        return ""
    reasons = [one.latest.lag_reason or one.latest.reason for one in _standbys(sight) if one.latest]
    return next(filter(None, reasons), "no standby was asked yet" if _standbys(sight) else "no standby")


def _azs(sight: Sight) -> list[str]:
    return [*(one.instance.az for one in sight.instances), *(one.backend.az for one in sight.backends)]


def short_azs(azs: Sequence[str]) -> str:
    """The region once where all zones lie in one: us-east-1a, b, c."""
    regions = {az[:-1] for az in azs}
    if len(azs) < 2 or len(regions) != 1 or not regions.pop():
        return ", ".join(azs)
    return ", ".join([azs[0], *(az[-1] for az in azs[1:])])


def _haystack(sight: Sight, azs: Sequence[str]) -> str:
    hosts = [*(one.instance.host for one in sight.instances), *(one.backend.hostname for one in sight.backends)]
    names = [*(one.instance.name for one in sight.instances), *(one.name for one in sight.backends)]
    words = dict.fromkeys([sight.cluster.name, sight.cluster.slug, *azs, *hosts, *names])
    return " ".join(words).lower()


def _figures(rows: Sequence[FleetRow]) -> FleetFigures:
    rates = [row["reads_per_s"] for row in rows if row["reads_per_s"] is not None]
    lags = [
        (row["lag_s"], f"{row['lag_node']} of {row['name']}")
        for row in rows
        if row["lag_s"] is not None and not row["is_stale"]
    ]
    worst_lag_s, where = max(lags, default=(None, ""))
    return {
        "total": len(rows),
        "need_you": sum(row["state"] in NEED_YOU for row in rows),
        "unseen": sum(row["is_stale"] for row in rows),
        "off": sum(row["is_off"] and not row["is_stale"] for row in rows),
        "reads_per_s": sum(rates) if rates else None,
        "worst_lag_s": worst_lag_s,
        "worst_lag_where": where,
    }
