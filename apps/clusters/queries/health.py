"""How a cluster is, in one word with its reasons, and how fresh what we know of it is."""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TypedDict

from apps.clusters.domain.memcached import MemcachedState
from apps.clusters.queries.memcached import in_state, memcacheds_now
from apps.clusters.queries.sight import UP, BackendSight, InstanceSight, Sight

STALE_AFTER_S = 15
# Differences over less time than this are too noisy to speak of.
FIRST_WINDOW_S = 20
# A cluster that was never seen is awaited so long after it was registered.
FIRST_MINUTE_S = 60
# Reads that are off for a moment are no trouble yet: sessions turn over, and backends come and go.
TROUBLE_AFTER_S = 60
FULL_SHARE = 0.9
_OK, _WARN, _CRIT, _STALE, _IDLE = "ok", "warn", "crit", "stale", "idle"


class Health(TypedDict):
    """state: ok, warn, crit, stale or idle; word: the state in words; reasons: sentences, worst first."""

    state: str
    word: str
    reasons: list[str]


class Freshness(TypedDict):
    """state: collecting, live or stale; verdict_in_s: how long collecting still takes, about."""

    state: str
    seen_at: datetime | None
    age_s: float | None
    verdict_in_s: int | None


def health_of(
    *,
    sight: Sight,
    now: datetime,
    verdict_state: str | None = None,
    is_certain: bool = True,
    counted_s: float | None = None,
) -> Health:
    """verdict_state: of the routing verdict, where it is known; "off" is a warning once it holds for long enough.

    is_certain: as the verdict's; once in 20 windows chance alone looks like "off", and that is nobody's trouble.
    counted_s: the time whose reads were judged; None where that is not known, and the verdict counts as it is.
    """
    fresh = freshness_of(sight=sight, now=now)
    if fresh["state"] == "stale":
        return {"state": _STALE, "word": "Out of sight", "reasons": list(_unseen(sight, now))}
    if fresh["seen_at"] is None and not any(one.latest for one in sight.instances):
        return {"state": _IDLE, "word": "Collecting", "reasons": ["Registered; the first poll is under way."]}
    is_off = verdict_state == "off"
    is_too_early = is_off and counted_s is not None and counted_s < TROUBLE_AFTER_S
    is_trouble = is_off and is_certain and not is_too_early
    critical = [*_critical(sight), *_memcacheds(sight, now, MemcachedState.FROZEN)]
    warnings = [*_warnings(sight, is_off=is_trouble), *_memcacheds(sight, now, MemcachedState.GONE)]
    if critical:
        return {"state": _CRIT, "word": critical[0][0], "reasons": [sentence for _, sentence in critical + warnings]}
    if warnings:
        return {"state": _WARN, "word": warnings[0][0], "reasons": [sentence for _, sentence in warnings]}
    if is_too_early:
        reason = f"Off for {counted_s:.0f} s only: a warning once it lasts {TROUBLE_AFTER_S} s."
        return {"state": _IDLE, "word": "Waiting", "reasons": [reason]}
    if is_off and not is_trouble:
        reason = "Reads are off their weights by a little more than chance explains: a warning once that is certain."
        return {"state": _IDLE, "word": "Waiting", "reasons": [reason]}
    return {"state": _OK, "word": "Healthy", "reasons": []}


def freshness_of(*, sight: Sight, now: datetime) -> Freshness:
    seen_at = sight.seen_at
    if seen_at is None:
        is_new = now - sight.cluster.created_at < timedelta(seconds=FIRST_MINUTE_S)
        return {
            "state": "collecting" if is_new else "stale",
            "seen_at": None,
            "age_s": None,
            "verdict_in_s": FIRST_WINDOW_S if is_new else None,
        }
    age_s = max((now - seen_at).total_seconds(), 0.0)
    if age_s > STALE_AFTER_S:
        return {"state": "stale", "seen_at": seen_at, "age_s": age_s, "verdict_in_s": None}
    began = min((min(node.status_since, node.weight_since) for node in sight.nodes), default=now)
    missing_s = FIRST_WINDOW_S - (now - began).total_seconds()
    state, verdict_in_s = ("collecting", math.ceil(missing_s)) if missing_s > 0 else ("live", None)
    return {"state": state, "seen_at": seen_at, "age_s": age_s, "verdict_in_s": verdict_in_s}


def _unseen(sight: Sight, now: datetime) -> Iterator[str]:
    polled_at = sight.polled_at
    if not sight.instances:
        yield "No pgpool is registered."
    elif polled_at is None or now - polled_at > timedelta(seconds=STALE_AFTER_S):
        yield "Nobody asks its pgpools: the pollers of this installation are not running."
    else:
        # A pgpool whose every child waits for memcached answers nobody.
        yield from (reason for _, reason in _memcacheds(sight, now, MemcachedState.FROZEN))
        for one in sight.instances:
            yield _silence(one)


def _memcacheds(sight: Sight, now: datetime, state: MemcachedState) -> Iterator[tuple[str, str]]:
    seen = memcacheds_now(((one.instance.name, one.latest) for one in sight.instances), now=now)
    for one in in_state(seen, state):
        yield f"memcached {state}", one.in_short


def _critical(sight: Sight) -> Iterator[tuple[str, str]]:
    polled = [one for one in sight.instances if one.latest]
    for one in polled:
        if one.latest and one.is_renumbered:
            yield "Backends mixed up", f"{one.instance.name} {one.latest.reason}"
    if polled and not any(one.is_answering or one.is_renumbered for one in polled):
        yield "No pgpool answers", f"None of {len(polled)} pgpools answers: {_silence(polled[0])}"
    primaries = [one.name for one in sight.backends if one.role == "primary" and one.is_up]
    are_known = all(one.role != "unknown" for one in sight.backends)
    if are_known and sight.backends and not primaries:
        yield "No primary", "No backend is a primary that is up: writes fail."
    if len(primaries) > 1:
        yield "Two primaries", f"{' and '.join(primaries)} are primaries at the same time: writes may diverge."


def _warnings(sight: Sight, *, is_off: bool) -> Iterator[tuple[str, str]]:
    yield from _instances_in_trouble(sight)
    for backend in sight.backends:
        if any(node.status not in UP for node in backend.nodes):
            yield "A backend is down", f"{backend.name} is {backend.status}."
    if is_off:
        yield "Off weights", "Reads do not follow the weights."
    for one in sight.instances:
        if one.owes:
            yield "Owes a revision", one.owes
    for one in sight.instances:
        if one.drift:
            yield "Drifted", f"{one.drift}."
    for backend in sight.backends:
        if backend.is_up and sight.is_lagging(backend):
            yield "A standby lags", f"{_lagging(backend)} is over delay_threshold."


def _instances_in_trouble(sight: Sight) -> Iterator[tuple[str, str]]:
    if any(one.is_answering for one in sight.instances):
        for one in sight.instances:
            if one.latest and not one.is_answering and not one.is_renumbered:
                yield "A pgpool is down", _silence(one)
    for one in sight.instances:
        share = _share_of_children(one)
        if share is not None and share >= FULL_SHARE:
            yield "Nearly full", f"{one.instance.name} uses {share * 100:.0f} % of its children."


def _silence(one: InstanceSight) -> str:
    if one.latest is None:
        return f"{one.instance.name} was not asked yet."
    reason = one.latest.reason.rstrip(".")
    if one.is_renumbered:
        return f"{one.instance.name} {reason}."
    return f"{one.instance.name} is {one.latest.state}{f': {reason}' if reason else ''}."


def _lagging(backend: BackendSight) -> str:
    seconds = backend.latest.replay_lag_s if backend.latest else None
    return f"The replay lag of {backend.name}" + ("" if seconds is None else f" ({seconds:.1f} s)")


def _share_of_children(one: InstanceSight) -> float | None:
    latest = one.latest
    if latest is None or latest.children_used is None or not latest.children_total:
        return None
    return latest.children_used / latest.children_total
