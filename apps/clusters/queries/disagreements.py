"""Every pgpool's view of every backend beside what PostgreSQL says, and who of them is wrong."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, TypedDict

from apps.clusters.control import whole_revisions
from apps.clusters.domain import disagreements
from apps.clusters.domain.pgpool_views import Finding, Seen, Truth, View, Wanted
from apps.clusters.domain.weights import WeightError, shares
from apps.clusters.models import BackendLatest, Cluster, ConfigRevision, NodeLatest, Rollout
from apps.clusters.queries.confirmed_weights import just_read_back, revision_in_force
from apps.clusters.queries.health import STALE_AFTER_S
from apps.clusters.queries.sight import BackendSight, InstanceSight, Sight, sight_of
from apps.clusters.queries.watchdog import WatchdogAnswer, watchdog_answer

# SHOW pool_nodes is asked every 30 s, and takes up to 12 s where a backend is frozen.
FIGURES_STALE_AFTER_S = 60
# A server that restarts is silent for some seconds; pgpool's health check needs as long to see it.
SILENCE_S = 10


class InstanceColumn(TypedDict):
    """A pgpool. is_current False: its views say nothing about now, for the reason given."""

    name: str
    is_current: bool
    reason: str
    seen_at: datetime | None


class TruthAnswer(TypedDict):
    """What PostgreSQL says of itself. role: primary, standby or unknown; answers null: not asked lately."""

    role: str
    answers: bool | None
    replication_state: str
    replay_lag_bytes: int | None
    reason: str
    answered_at: datetime | None


class BackendRow(TypedDict):
    node_id: int
    name: str
    truth: TruthAnswer


class Cell(TypedDict):
    """One backend as one pgpool sees it; null: never seen. disputed: which of it a finding is about."""

    instance: str
    node_id: int
    status: str | None
    pg_status: str | None
    role: str | None
    weight_share: float | None
    replication_delay_bytes: int | None
    replication_delay_s: float | None
    seen_at: datetime | None
    is_current: bool
    figures_are_current: bool
    disputed: list[str]


class FindingAnswer(TypedDict):
    about: str
    who_is_wrong: str
    message: str
    remedy: str
    node_id: int | None
    instances: list[str]


Agreement = Literal["agree", "disagree", "stale", "collecting"]


class DisagreementsAnswer(TypedDict):
    """state: agree, disagree, stale (nobody is seen now) or collecting (nobody was asked yet).

    findings: about backends, and then about the watchdog. watchdog: its own view of the pgpools.
    """

    state: Agreement
    sentence: str
    at: datetime
    instances: list[InstanceColumn]
    backends: list[BackendRow]
    cells: list[Cell]
    findings: list[FindingAnswer]
    watchdog: WatchdogAnswer


def disagreements_answer(*, cluster: Cluster, now: datetime) -> DisagreementsAnswer:
    sight = sight_of(cluster)
    columns = [_column(one, now) for one in sight.instances]
    current = {each["name"] for each in columns if each["is_current"]}
    seen = _seen(sight, current, now)
    watchdog, about_pgpools = watchdog_answer(sight=sight, now=now)
    found = [*(disagreements.find(seen) if seen.views else []), *about_pgpools]
    state = _state(sight, current, found)
    return {
        "state": state,
        "sentence": _sentence(state, columns, sight, found),
        "at": now,
        "instances": columns,
        "backends": [_row(one, now) for one in sight.backends],
        "cells": [
            _cell(one, backend.backend.node_id, node_of(backend, one), found, current, now)
            for backend in sight.backends
            for one in sight.instances
        ],
        "findings": [_finding(each) for each in found],
        "watchdog": watchdog,
    }


def node_of(backend: BackendSight, one: InstanceSight) -> NodeLatest | None:
    return next((node for node in backend.nodes if node.instance_id == one.instance.pk), None)


def _column(one: InstanceSight, now: datetime) -> InstanceColumn:
    latest = one.latest
    seen_at = latest.answered_at if latest else None
    if latest is None:
        reason = "not asked yet"
    elif one.is_renumbered:
        reason = f"{latest.reason.rstrip('.')}: its numbers mean other backends"
    elif not one.is_answering:
        reason = f"{latest.state}: {latest.reason.rstrip('.')}" if latest.reason else latest.state
    elif _age_s(latest.polled_at, now) > STALE_AFTER_S:
        reason = "not asked lately"
    else:
        reason = ""
    return {"name": one.instance.name, "is_current": not reason, "reason": reason, "seen_at": seen_at}


def _seen(sight: Sight, current: set[str], now: datetime) -> Seen:
    is_moving = Rollout.objects.filter(cluster=sight.cluster, state__in=Rollout.ACTIVE).exists()
    proved = just_read_back(cluster=sight.cluster, now=now)
    views = [
        _view(node, proved.get(node.instance.name), now, is_moving=is_moving)
        for node in sight.nodes
        if node.instance.name in current and _age_s(node.seen_at, now) <= STALE_AFTER_S
    ]
    has_primary = any(_is_primary(one.latest, now) for one in sight.backends)
    truths = [_truth(one, now, has_primary=has_primary) for one in sight.backends]
    return Seen(views, truths, _wanted(sight.cluster), is_observed=sight.cluster.is_observed)


def _view(node: NodeLatest, proved: Mapping[int, float] | None, now: datetime, *, is_moving: bool) -> View:
    """is_moving: a rollout is under way, during which weights differ without anybody being wrong."""
    fresh = _has_current_figures(node, now)
    weight = (proved or {}).get(node.node_id, node.lb_weight)
    return View(
        pgpool=node.instance.name,
        node_id=node.node_id,
        status=node.status,
        role=node.role,
        pg_status=node.pg_status or None if fresh else None,
        weight_share=weight if fresh and not is_moving else None,
        delay_bytes=node.replication_delay_bytes if fresh else None,
        delay_s=node.replication_delay_s if fresh else None,
    )


def _has_current_figures(node: NodeLatest, now: datetime) -> bool:
    return node.figures_at is not None and _age_s(node.figures_at, now) <= FIGURES_STALE_AFTER_S


def _truth(one: BackendSight, now: datetime, *, has_primary: bool) -> Truth:
    latest, answers = one.latest, _answers(one.latest, now)
    is_told = bool(answers) and latest is not None
    streams = latest.replication_state == "streaming" if latest is not None else False
    # A role without pg_monitor does not see the standbys: that is no cut.
    is_hidden = latest is not None and "pg_monitor" in latest.lag_reason
    return Truth(
        node_id=one.backend.node_id,
        name=one.name,
        answers=answers,
        is_in_recovery=latest.is_in_recovery if is_told and latest else None,
        is_streaming=streams if is_told and has_primary and not is_hidden else None,
        reason=latest.reason if latest else "",
    )


def _is_primary(latest: BackendLatest | None, now: datetime) -> bool:
    return bool(_answers(latest, now)) and latest is not None and latest.is_in_recovery is False


def _answers(latest: BackendLatest | None, now: datetime) -> bool | None:
    """None: nobody asked lately, or it has been silent for a moment only."""
    if latest is None or _age_s(latest.polled_at, now) > STALE_AFTER_S:
        return None
    if latest.answered_at == latest.polled_at:
        return True
    return False if latest.answered_at is None or _age_s(latest.answered_at, now) >= SILENCE_S else None


def _wanted(cluster: Cluster) -> Wanted | None:
    revision = revision_in_force(cluster=cluster)
    if revision is None or _is_found_only(revision):
        return None
    found = {}
    for name, weights in whole_revisions.weights_of(revision, list(cluster.instances.defer("pcp_password"))).items():
        try:
            found[name] = shares({int(node_id): weight for node_id, weight in weights.items()})
        except WeightError:
            continue
    return Wanted(revision.number, found)


def _is_found_only(revision: ConfigRevision) -> bool:
    """Files as they were found, and never rolled out: nobody has said that these weights are wanted."""
    return revision.origin == ConfigRevision.Origin.LIVE and not revision.rollouts.exists()


def _state(sight: Sight, current: set[str], found: Sequence[Finding]) -> Agreement:
    if not any(one.latest for one in sight.instances):
        return "collecting"
    if not current and not found:
        return "stale"
    return "disagree" if found else "agree"


def _sentence(state: str, columns: Sequence[InstanceColumn], sight: Sight, found: Sequence[Finding]) -> str:
    unseen = [each["name"] for each in columns if not each["is_current"]]
    aside = f" {', '.join(unseen)} cannot be seen now and is left out." if unseen else ""
    if state == "collecting":
        return "No pgpool was asked yet."
    if state == "stale":
        return "No pgpool can be seen now: what stands below is old and is compared with nothing."
    if state == "disagree":
        return f"{len(found)} disagreement{'' if len(found) == 1 else 's'}; what writes hang on comes first.{aside}"
    count = len(columns) - len(unseen)
    who = (
        "The pgpool sees"
        if count == 1
        else f"All {count} pgpools that can be seen see"
        if unseen
        else "All pgpools see"
    )
    return f"{who} the {len(sight.backends)} backends as PostgreSQL says they are.{aside}"


def _row(one: BackendSight, now: datetime) -> BackendRow:
    latest, answers = one.latest, _answers(one.latest, now)
    role = "unknown"
    if answers and latest is not None and latest.is_in_recovery is not None:
        role = "standby" if latest.is_in_recovery else "primary"
    return {
        "node_id": one.backend.node_id,
        "name": one.name,
        "truth": {
            "role": role,
            "answers": answers,
            "replication_state": latest.replication_state if latest and answers else "",
            "replay_lag_bytes": latest.replay_lag_bytes if latest and answers else None,
            "reason": (latest.reason or (latest.lag_reason if answers else "")) if latest else "not asked yet",
            "answered_at": latest.answered_at if latest else None,
        },
    }


def _cell(
    one: InstanceSight,
    node_id: int,
    node: NodeLatest | None,
    found: Sequence[Finding],
    current: set[str],
    now: datetime,
) -> Cell:
    name = one.instance.name
    is_current = name in current and node is not None and _age_s(node.seen_at, now) <= STALE_AFTER_S
    return {
        "instance": name,
        "node_id": node_id,
        "status": node.status if node else None,
        "pg_status": (node.pg_status or None) if node else None,
        "role": node.role if node else None,
        "weight_share": node.lb_weight if node else None,
        "replication_delay_bytes": node.replication_delay_bytes if node else None,
        "replication_delay_s": node.replication_delay_s if node else None,
        "seen_at": node.seen_at if node else None,
        "is_current": is_current,
        "figures_are_current": is_current and node is not None and _has_current_figures(node, now),
        "disputed": sorted({each.field for each in found if each.is_about(name, node_id) and each.field != "watchdog"}),
    }


def _finding(each: Finding) -> FindingAnswer:
    return {
        "about": each.about,
        "who_is_wrong": each.who_is_wrong,
        "message": each.message,
        "remedy": each.remedy,
        "node_id": each.node_id,
        "instances": list(each.pgpools),
    }


def _age_s(at: datetime, now: datetime) -> float:
    return (now - at) / timedelta(seconds=1)
