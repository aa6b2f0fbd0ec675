"""Drift in sentences: what happened to a parameter, what it means, and when there is something new to tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from apps.clusters.domain.conf_secrets import MASK
from apps.clusters.domain.drift import Difference, DriftKind

LONGEST_VALUE = 80


class StoredDifference(TypedDict):
    """As a row holds it; kind: of DriftKind. is_unanswered: no session could be asked whether all children agree."""

    parameter: str
    verified: str | None
    file: str | None
    running: str | None
    kind: str
    is_unanswered: NotRequired[bool]


@dataclass(frozen=True)
class News:
    title: str
    detail: str
    is_problem: bool = True


_MEANINGS: Mapping[DriftKind, str] = {
    DriftKind.EDITED_LIVE: "Edited in the file, and pgpool uses it.",
    DriftKind.NOT_RELOADED: "Edited in the file; pgpool still uses the verified value until it is reloaded.",
    DriftKind.EDITED: "Edited in the file.",
    DriftKind.MIXED: "pgpool's children disagree: each of these values was shown by a session of its own.",
    DriftKind.MISSING: "The line is gone: pgpool's children keep the old value or take the default, each for itself.",
    DriftKind.NOT_IN_FORCE: "The file is as verified, but pgpool uses another value: it awaits a reload or refuses it.",
    DriftKind.PENDING_RESTART: "The file is as verified; pgpool takes this in only when it is restarted.",
    DriftKind.UNREADABLE: "pgpool cannot read this file: it goes on with its old values, and would not start again.",
}


def meaning(found: StoredDifference) -> str:
    return _MEANINGS[DriftKind(found["kind"])]


def as_stored(found: Difference, *, is_unanswered: bool = False) -> StoredDifference:
    stored: StoredDifference = {
        "parameter": found.parameter,
        "verified": found.verified,
        "file": found.file,
        "running": found.running,
        "kind": found.kind.value,
    }
    if is_unanswered:
        stored["is_unanswered"] = True
    return stored


def drifted(differences: Sequence[StoredDifference]) -> list[StoredDifference]:
    """Those that are drift: what waits for a restart is none."""
    return [each for each in differences if each["kind"] != DriftKind.PENDING_RESTART]


def changed(found: StoredDifference) -> str:
    """backend_weight1 500 → 900"""
    if found["kind"] == DriftKind.UNREADABLE:
        return f"pgpool.conf cannot be read: {found['file']}"
    if _is_as_verified(found):
        return f"{found['parameter']} is {_short(found['running'])}, its file says {_short(found['file'])}"
    if found["verified"] == found["file"]:
        return f"{found['parameter']} was changed"  # a secret
    return f"{found['parameter']} {_short(found['verified'])} → {_short(found['file'])}"


def _is_as_verified(found: StoredDifference) -> bool:
    """Whether the file says what was verified, and pgpool, or some child of it, uses another value."""
    is_mixed = found["kind"] == DriftKind.MIXED and found["verified"] == found["file"] != MASK
    return found["kind"] == DriftKind.NOT_IN_FORCE or is_mixed


def headline(instance_name: str, differences: Sequence[StoredDifference]) -> str:
    """What was done to this pgpool, by its first difference."""
    found = drifted(differences)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    if all(_is_as_verified(each) for each in found):
        return f"{instance_name} does not use its file: {changed(found[0])}{more}"
    edited = next(each for each in found if not _is_as_verified(each))
    return f"Edited by hand on {instance_name}: {changed(edited)}{more}"


def news(
    instance_name: str,
    *,
    before: tuple[str, Sequence[StoredDifference]],
    after: tuple[str, Sequence[StoredDifference]],
) -> News | None:
    """What is to be told of two looks, (state, differences) each; every change once, however often it is looked at.

    How far a pgpool has taken an edit in is nothing new.
    """
    earlier, later = drifted(before[1]), drifted(after[1])
    if later:
        if _told(earlier) == _told(later):
            return None
        return News(headline(instance_name, later), "\n".join(f"{changed(each)}. {meaning(each)}" for each in later))
    if earlier and after[0] == "in_step":
        return News(f"{instance_name} is as it was verified again", "", is_problem=False)
    return None


def _told(differences: Sequence[StoredDifference]) -> list[tuple[str, str | None, str | None, bool]]:
    return [(each["parameter"], each["verified"], each["file"], _is_as_verified(each)) for each in differences]


def _short(value: str | None) -> str:
    if value is None:
        return "(no line)"
    if value == "":
        return "''"
    return value if len(value) <= LONGEST_VALUE else f"{value[: LONGEST_VALUE - 1]}…"
