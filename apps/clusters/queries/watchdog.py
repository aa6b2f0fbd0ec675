"""Every watchdog's view of every pgpool beside who answers Lifeguard, and who of them is wrong."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict

from apps.clusters.domain import watchdog_verdict
from apps.clusters.domain.pgpool_views import Finding
from apps.clusters.domain.watchdog import Watchdog, WatchdogNode
from apps.clusters.domain.watchdog_verdict import Member, WatchdogView, Watched
from apps.clusters.models import InstanceLatest, PgpoolInstance, WatchdogLatest
from apps.clusters.queries.health import STALE_AFTER_S
from apps.clusters.queries.sight import InstanceSight, Sight

# Asked every 10 s, and once in a minute where none runs.
STALE_AFTER = timedelta(seconds=30)
OFF_STALE_AFTER = timedelta(seconds=150)
OFF = (
    "No watchdog runs: no pgpool watches another one. When one dies, its clients have to know another one themselves, "
    "and each pgpool decides about a failover on its own."
)
_State = InstanceLatest.State


class WatchdogViewAnswer(TypedDict):
    """The watchdog of one pgpool. watchdog: on, off or unknown, for the reason given.

    leader: as it names it, null where it names none. quorum: present, on the edge, absent, no leader; null where none
    runs. needed: alive pgpools that make a quorum. holds_address: whether it has brought the virtual address up.
    """

    instance: str
    watchdog: str
    is_current: bool
    reason: str
    asked_at: datetime | None
    since: datetime | None
    leader: str | None
    quorum: str | None
    needed: int | None
    holds_address: bool | None


class WatchdogMember(TypedDict):
    """A pgpool that is registered here, or that a watchdog knows. answers: Lifeguard, null where that is not known."""

    name: str
    is_registered: bool
    place: str
    priority: int | None
    answers: bool | None
    reason: str


class WatchdogCell(TypedDict):
    """member as the watchdog of instance sees it; state null: it does not know it, or runs none."""

    instance: str
    member: str
    state: str | None
    is_current: bool
    is_disputed: bool


class WatchdogAnswer(TypedDict):
    """state: agree, disagree, electing, off (none runs anywhere) or unknown. No watchdog compares weights."""

    state: str
    sentence: str
    delegate_ip: str | None
    views: list[WatchdogViewAnswer]
    members: list[WatchdogMember]
    cells: list[WatchdogCell]


def watchdog_answer(*, sight: Sight, now: datetime) -> tuple[WatchdogAnswer, list[Finding]]:
    """What there is to see, and what is wrong with it."""
    rows = {row.instance_id: row for row in WatchdogLatest.objects.filter(instance__cluster=sight.cluster)}
    told = {pk: _watchdog(row.told) for pk, row in rows.items() if row.told}
    members = _members(sight, told, now)
    watched = Watched(
        views=[
            WatchdogView(one.instance.name, told[one.instance.pk], row.asked_at, row.since)
            for one in sight.instances
            if (row := rows.get(one.instance.pk)) and row.state == WatchdogLatest.State.ON and _is_current(row, now)
        ],
        members=[member for member, _node in members],
        off=[
            one.instance.name
            for one in sight.instances
            if (row := rows.get(one.instance.pk)) and row.state == WatchdogLatest.State.OFF and _is_current(row, now)
        ],
    )
    found = watchdog_verdict.find(watched)
    state, sentence = _state(sight, rows, watched, found)
    views = [_view(one.instance, rows.get(one.instance.pk), told, watched, now) for one in sight.instances]
    addresses = [view.watchdog.delegate_ip for view in watched.views if view.watchdog.delegate_ip]
    answer: WatchdogAnswer = {
        "state": state,
        "sentence": sentence,
        "delegate_ip": addresses[0] if addresses else None,
        "views": views,
        "members": [_member(member, node, sight) for member, node in members] if told else [],
        "cells": [
            _cell(view, told.get(one.instance.pk), member, found)
            for member, _node in members
            for one, view in zip(sight.instances, views, strict=True)
            if told
        ],
    }
    return answer, found


def _watchdog(told: Mapping[str, Any]) -> Watchdog:
    return Watchdog(**{**told, "nodes": tuple(WatchdogNode(**node) for node in told["nodes"])})


def _is_current(row: WatchdogLatest, now: datetime) -> bool:
    is_off = row.state == WatchdogLatest.State.OFF
    return row.state != WatchdogLatest.State.UNKNOWN and now - row.asked_at <= (
        OFF_STALE_AFTER if is_off else STALE_AFTER
    )


def _members(sight: Sight, told: Mapping[int, Watchdog], now: datetime) -> list[tuple[Member, WatchdogNode | None]]:
    """The registered pgpools with what a watchdog says they are, then those that only a watchdog knows."""
    nodes = {node.name: node for watchdog in told.values() for node in watchdog.nodes}
    own = {pk: watchdog.own.name for pk, watchdog in told.items()}
    left = {name: node for name, node in nodes.items() if name not in own.values()}
    members: list[tuple[Member, WatchdogNode | None]] = []
    for one in sight.instances:
        name = own.get(one.instance.pk) or _by_place(one.instance, left)
        left.pop(name, None)
        members.append((_seen(one, name, now), nodes.get(name)))
    return members + [(Member(None, name), node) for name, node in left.items()]


def _by_place(instance: PgpoolInstance, left: Mapping[str, WatchdogNode]) -> str:
    """One that never told of itself is known by its address; "" where none fits."""
    places = {(node.hostname, node.port): name for name, node in left.items()}
    return places.get((instance.host, instance.port), "")


def _seen(one: InstanceSight, node_name: str, now: datetime) -> Member:
    latest, name = one.latest, one.instance.name
    if latest is None or (now - latest.polled_at).total_seconds() > STALE_AFTER_S:
        return Member(name, node_name, reason="not asked lately")
    if latest.state in (_State.ANSWERING, _State.RENUMBERED):
        return Member(name, node_name, answers=True, since=latest.state_since)
    if latest.state == _State.UNREACHABLE:
        return Member(name, node_name, answers=False, since=latest.state_since, reason=latest.reason)
    return Member(name, node_name, reason=f"{latest.state}: {latest.reason}".rstrip(": "))


def _state(
    sight: Sight, rows: Mapping[int, WatchdogLatest], watched: Watched, found: Sequence[Finding]
) -> tuple[str, str]:
    if watched.views:
        state = "disagree" if found else "electing" if watched.is_electing else "agree"
        return state, watchdog_verdict.sentence(watched, found)
    if watched.off:
        return "off", OFF
    names = {one.instance.pk: one.instance.name for one in sight.instances}
    reasons = [f"{names[pk]}: {row.reason}" for pk, row in rows.items() if row.reason and pk in names]
    return "unknown", reasons[0] if reasons else "No watchdog was asked lately."


def _view(
    instance: PgpoolInstance,
    row: WatchdogLatest | None,
    told: Mapping[int, Watchdog],
    watched: Watched,
    now: datetime,
) -> WatchdogViewAnswer:
    watchdog = told.get(instance.pk) if row is not None and row.state != WatchdogLatest.State.OFF else None
    is_current = row is not None and _is_current(row, now)
    reason = "not asked yet" if row is None else row.reason or ("" if is_current else "not asked lately")
    return {
        "instance": instance.name,
        "watchdog": row.state if row is not None else WatchdogLatest.State.UNKNOWN.value,
        "is_current": is_current,
        "reason": reason,
        "asked_at": row.asked_at if row else None,
        "since": row.since if row else None,
        "leader": watched.name_of(watchdog.leader_name) if watchdog and watchdog.leader_name else None,
        "quorum": watchdog.quorum if watchdog else None,
        "needed": watchdog.needed if watchdog else None,
        "holds_address": watchdog.holds_address if watchdog else None,
    }


def _member(member: Member, node: WatchdogNode | None, sight: Sight) -> WatchdogMember:
    places = {one.instance.name: f"{one.instance.host}:{one.instance.port}" for one in sight.instances}
    return {
        "name": member.shown_name,
        "is_registered": member.pgpool is not None,
        "place": f"{node.hostname}:{node.port}" if node else places.get(member.pgpool or "", ""),
        "priority": node.priority if node else None,
        "answers": member.answers,
        "reason": member.reason if member.pgpool else "not registered here",
    }


def _cell(
    view: WatchdogViewAnswer, watchdog: Watchdog | None, member: Member, found: Sequence[Finding]
) -> WatchdogCell:
    nodes = watchdog.nodes if watchdog is not None and view["watchdog"] != "off" else ()
    state = next((node.state for node in nodes if node.name == member.node_name), None)
    name = member.shown_name
    abouts = (
        {"watchdog leader", "watchdog quorum"} if member.pgpool == view["instance"] else {f"{name} in the watchdog"}
    )
    return {
        "instance": view["instance"],
        "member": name,
        "state": state,
        "is_current": view["is_current"],
        "is_disputed": any(view["instance"] in each.pgpools and each.about in abouts for each in found),
    }
