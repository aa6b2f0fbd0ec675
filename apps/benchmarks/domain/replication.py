"""How a primary replicates while a run is measured: which standbys its commits wait for, and whether they can."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from apps.benchmarks.domain.topologies import WAITING_LEVELS

NO_STANDBY = "no standby"
ASYNCHRONOUS = "asynchronous"
HIDDEN = "no account may see which standbys are synchronous: GRANT pg_monitor to that of the cluster lets it"
# A base backup is a row of pg_stat_replication, and no standby.
_STANDING_STATES = ("streaming", "catchup", None)
_LIST = re.compile(r"\s*(?:(?P<method>ANY|FIRST)\s+)?(?P<count>\d+)\s*\(", re.IGNORECASE)


class StandbySeen(TypedDict):
    """A row of pg_stat_replication. state, sync_state: null where the role may not see them."""

    application_name: str
    state: str | None
    sync_state: str | None


class ReplicationFacts(TypedDict):
    """synchronous_commit: of the sessions of the load. mode: in words; null where nobody can tell, as reason says."""

    synchronous_standby_names: str
    synchronous_commit: str
    fsync: bool
    standbys: list[StandbySeen]
    mode: str | None
    reason: str


class Wanted(NamedTuple):
    """What synchronous_standby_names asks for. number: of standbys that each commit waits for."""

    number: int
    is_quorum: bool


def facts(*, names: str, commit: str, fsync: bool, standbys: Sequence[StandbySeen]) -> ReplicationFacts:
    found = mode(names, standbys)
    return {
        "synchronous_standby_names": names,
        "synchronous_commit": commit,
        "fsync": fsync,
        "standbys": list(standbys),
        "mode": found,
        "reason": HIDDEN if found is None else "",
    }


def wanted(names: str) -> Wanted:
    """Source: PostgreSQL manual, synchronous_standby_names. A list without a number is FIRST 1."""
    if not names.strip():
        return Wanted(0, is_quorum=False)
    match = _LIST.match(names)
    if match is None:
        return Wanted(1, is_quorum=False)
    return Wanted(int(match["count"]), is_quorum=(match["method"] or "").upper() == "ANY")


def mode(names: str, standbys: Sequence[StandbySeen]) -> str | None:
    """As people call it: asynchronous; 1 synchronous, 1 potential; quorum of 2 of 3. None: states are hidden."""
    standing = _standing(standbys)
    asked = wanted(names)
    if not asked.number:
        return ASYNCHRONOUS if standing else NO_STANDBY
    if len(standing) >= asked.number and is_hidden(standing):
        return None
    waited_for = _count(standing, "quorum" if asked.is_quorum else "sync")
    if waited_for < asked.number:
        what = f"quorum of {asked.number}" if asked.is_quorum else f"{asked.number} synchronous"
        return f"{what} wanted, {waited_for or 'none'} connected"
    first = f"quorum of {asked.number} of {waited_for}" if asked.is_quorum else f"{waited_for} synchronous"
    others = ((_count(standing, state), word) for state, word in (("potential", "potential"), ("async", ASYNCHRONOUS)))
    return ", ".join([first, *(f"{count} {word}" for count, word in others if count)])


def is_hidden(standbys: Sequence[StandbySeen]) -> bool:
    return any(one["sync_state"] is None for one in standbys)


def waits_for_ever(found: ReplicationFacts, level: str) -> str:
    """Why a commit of this level would not come back; "" where it does, or where nobody can tell."""
    names = found["synchronous_standby_names"]
    asked, standing = wanted(names), _standing(found["standbys"])
    if level not in WAITING_LEVELS or (found["mode"] is None and len(standing) >= asked.number):
        return ""
    waited_for = _count(standing, "quorum" if asked.is_quorum else "sync")
    if waited_for >= asked.number:
        return ""
    return (
        f"Commits with synchronous_commit = {level} wait for ever on the primary: synchronous_standby_names is "
        f"'{names}', which asks for {asked.number}, and {waited_for or 'none'} of these standbys "
        f"{'are' if waited_for > 1 else 'is'} connected. Start the standby, or take it out of that list."
    )


def is_changed(before: ReplicationFacts, after: ReplicationFacts) -> bool:
    """A standby that catches up and then streams is the same one."""
    return _identity(before) != _identity(after)


def _identity(found: ReplicationFacts) -> tuple[object, ...]:
    pairs = sorted((one["application_name"], one["sync_state"] or "") for one in _standing(found["standbys"]))
    return found["synchronous_standby_names"], found["synchronous_commit"], found["mode"], pairs


def _standing(standbys: Sequence[StandbySeen]) -> list[StandbySeen]:
    return [one for one in standbys if one["state"] in _STANDING_STATES]


def _count(standing: Sequence[StandbySeen], sync_state: str) -> int:
    return sum(one["sync_state"] == sync_state for one in standing)
