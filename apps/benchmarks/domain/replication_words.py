"""The replication that a run was measured under, for people: facts, what its figures do not carry, its condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.benchmarks.domain import replication, told_apart
from apps.benchmarks.domain.replication import ReplicationFacts
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.topologies import COMMIT, WAITING_LEVELS

NOT_KNOWN = "replication not known"


@dataclass(frozen=True)
class Waits:
    """What commits of an arm waited for, and where, as its runs told. None: they do not tell, or not all the same."""

    mode: str | None
    level: str | None
    address: str | None = None


def rows(environment: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(what, its value) for the page of a run; none of a run that was measured before this was kept."""
    found: ReplicationFacts | None = environment.get("replication")
    if not found:
        return []
    standbys = ", ".join(
        " ".join(part for part in (one["application_name"], one["sync_state"] or "") if part)
        for one in found["standbys"]
    )
    return [
        ("Replication", found["mode"] or f"not known; {found['reason']}"),
        ("Standbys of the primary", standbys),
        ("synchronous_standby_names", found["synchronous_standby_names"]),
        ("synchronous_commit", found["synchronous_commit"]),
    ]


def findings(
    before: ReplicationFacts | None, after: ReplicationFacts | None, *, commit_level: str, writes: bool
) -> list[RunFinding]:
    """commit_level: that the run asked for, "" for none. before, after: None where it could not be read."""
    if before is None:
        return []
    found = [_of_level(before, commit_level, writes=writes)] if commit_level else []
    if commit_level not in {"", "off"} and writes and not before["fsync"]:
        sentence = "fsync is off on the primary: no commit waits for its disk, so local costs nothing here."
        found.append({"check": "fsync_off", "ok": False, "sentence": sentence})
    if after is not None and replication.is_changed(before, after):
        sentence = f"Replication changed while it was measured: {_told(before)} before, {_told(after)} after."
        found.append({"check": "replication_changed", "ok": False, "sentence": sentence})
    return found


def of_comparison(environments: Iterable[Mapping[str, Any]]) -> list[RunFinding]:
    """Of runs that were to be measured alike: whether they were replicated alike. Those that tell nothing are left."""
    told = told_apart.counted(mode_of(environment) for environment in environments)
    if not told:
        return []
    sentence = f"These runs were measured under different replication modes ({told}): that is a difference, too."
    return [{"check": "replication_differs", "ok": False, "sentence": sentence}]


def mode_of(environment: Mapping[str, Any]) -> str:
    """ "" where it is not known."""
    found: ReplicationFacts | None = environment.get("replication")
    return (found["mode"] or "") if found else ""


def level_of(environment: Mapping[str, Any]) -> str:
    """ "" where it is not known."""
    found: ReplicationFacts | None = environment.get("replication")
    return found["synchronous_commit"] if found else ""


def condition(environment: Mapping[str, Any], topology: str) -> dict[str, str | None]:
    """What sets runs apart that were asked to be the same; None where the topology says it already."""
    found: ReplicationFacts | None = environment.get("replication")
    level = None if found is None or topology.startswith(f"{COMMIT}:") else found["synchronous_commit"]
    return {"replication": mode_of(environment) or NOT_KNOWN, "synchronous_commit": level}


def _of_level(before: ReplicationFacts, level: str, *, writes: bool) -> RunFinding:
    ok, sentence = True, f"Commits did not wait for a standby, as synchronous_commit = {level} says."
    if not writes:
        ok, sentence = False, "This load only reads: its commits wait for nothing, whatever synchronous_commit is."
    elif level in WAITING_LEVELS and not replication.wanted(before["synchronous_standby_names"]).number:
        ok = False
        sentence = (
            "No standby is synchronous (synchronous_standby_names is empty), so commits with synchronous_commit = "
            f"{level} waited for no more than with local."
        )
    elif level in WAITING_LEVELS:
        sentence = f"Commits waited for standbys at synchronous_commit = {level}: {_told(before)}."
    return {"check": "commit_level", "ok": ok, "sentence": sentence}


def _told(found: ReplicationFacts) -> str:
    """1 synchronous, 1 potential (pg2 sync, pg3 potential)"""
    standbys = ", ".join(f"{one['application_name']} {one['sync_state'] or ''}".strip() for one in found["standbys"])
    return f"{found['mode'] or 'a mode that is not known'}{f' ({standbys})' if standbys else ''}"
