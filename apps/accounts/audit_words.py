"""The audit trail in sentences, for people. The rows, and what REST answers, stay as they were recorded."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.accounts.models import AuditEntry

SPACE = "\u00a0"
NOTHING = "–"
# Longer ones are read in the list of what changed.
LONGEST_WEIGHTS = 120
Facts = Mapping[str, Any]
# name of the target, facts before, facts after -> the sentence
Words = Callable[[str, Facts, Facts], str]


@dataclass(frozen=True)
class Change:
    """One fact before and after, each as the lines it is shown in; no line: it was not there."""

    name: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class ShownEntry:
    row: AuditEntry
    sentence: str
    changes: tuple[Change, ...]
    rollout_id: int | None  # which it began, with its receipts


def shown(entry: AuditEntry) -> ShownEntry:
    before, after = entry.before or {}, entry.after or {}
    changes = (
        Change(name.replace("_", " "), _lines(before, name), _lines(after, name)) for name in {**before, **after}
    )
    rollout_id = after.get("rollout")
    return ShownEntry(entry, sentence(entry), tuple(changes), rollout_id if isinstance(rollout_id, int) else None)


def sentence(entry: AuditEntry) -> str:
    """What was done, to what. An action that has no words here is told by its name."""
    words = _WORDS.get(entry.action)
    if words is None:
        return f"{entry.action}: {entry.target_name}"
    return words(entry.target_name, entry.before or {}, entry.after or {})


def _whole(verb: str) -> Words:
    """A cluster with what belonged to it."""

    def words(target: str, before: Facts, after: Facts) -> str:
        facts = after or before
        number = len(facts.get("pgpools") or ())
        return f"{verb} cluster {facts.get('name') or target} with {number} pgpool{'s' * (number != 1)}"

    return words


def _changed_cluster(target: str, before: Facts, after: Facts) -> str:
    names = ", ".join(name.replace("_", " ") for name in {**before, **after})
    return f"Changed cluster {target}" + (f": {names}" if names else "")


def _weights(target: str, _before: Facts, after: Facts) -> str:
    said = after.get("shares") or _text(after.get("weights") or {})
    return f"Started a rollout of new weights on {target}" + (f": {said}" if len(said) <= LONGEST_WEIGHTS else "")


def _parameters(target: str, _before: Facts, after: Facts) -> str:
    names = ", ".join(map(str, after.get("parameters", [])))
    said = f": {names}" if len(names) <= LONGEST_WEIGHTS else ""
    return f"Started a rollout of parameters on {target}{said}"


def _member(target: str, before: Facts, after: Facts) -> str:
    role = after.get("role", NOTHING)
    if not before:
        return f"Made {target} a member as {role}"
    if before.get("role") != role:
        return f"Changed the role of {target} to {role}"
    return f"Changed the password of {target}" if after.get("password_set") else f"Left {target} as {role}"


def _role_weights(target: str, _before: Facts, after: Facts) -> str:
    if "primary_share" not in after:
        return f"Ended the weights by role of {target}"
    itself = ", without a person" if after.get("applies_itself") else ""
    return f"Set the weights by role of {target}: primary {after['primary_share'] * 100:g} %{itself}"


def _forgiven(target: str, before: Facts, _after: Facts) -> str:
    return f"Let go that {before.get('instance')} of {target} owed revision {before.get('revision')}"


def _restart(target: str, _before: Facts, after: Facts) -> str:
    return f"Requested a restart of {', '.join(map(str, after.get('pgpools', [])))} of {target}, one after the other"


def _plain(template: str) -> Words:
    """template: with {target}, and {scope} or {rollout} of the row after the change."""
    return lambda target, _before, after: template.format(
        target=target, scope=after.get("scope", NOTHING), rollout=after.get("rollout", NOTHING)
    )


_WORDS: Mapping[str, Words] = {
    "cluster.register": _whole("Registered"),
    "cluster.remove": _whole("Removed"),
    "cluster.change": _changed_cluster,
    "cluster.pgpool.add": _plain("Added pgpool {target}"),
    "cluster.pgpool.remove": _plain("Removed pgpool {target}"),
    "weights.requested": _weights,
    "parameters.requested": _parameters,
    "drift.adopted": _plain("Adopted what was edited by hand on {target}, as rollout #{rollout}"),
    "drift.reverted": _plain("Reverted what was edited by hand on {target}, as rollout #{rollout}"),
    "rollout.rollback_requested": _plain("Started a rollback on {target}, as rollout #{rollout}"),
    "rollout.cancel_requested": _plain("Asked to cancel the rollout on {target}"),
    "rollout.paused": _plain("Paused the rollout on {target}"),
    "rollout.resumed": _plain("Resumed the rollout on {target}"),
    "writes.stopped": _plain("Stopped all writes to the pgpools of {target}"),
    "writes.allowed": _plain("Allowed writes to the pgpools of {target} again"),
    "debt.given": _plain("Gave a pgpool of {target} what it owed, as rollout #{rollout}"),
    "debt.forgiven": _forgiven,
    "role_weights.changed": _role_weights,
    "role_weights.dismissed": _plain("Left the weights of {target} as they are after a change of roles"),
    "functions.survey_requested": _plain("Asked for a survey of the functions of {target}"),
    "tables.survey_requested": _plain("Asked for a survey of how often tables of {target} are written"),
    **{
        f"backend.{kind}.{what}": _plain(f"{said} the {kind} of {{target}}")
        for kind in ("attach", "detach", "drain")
        for what, said in (("requested", "Requested"), ("cancelled", "Cancelled"), ("went_on", "Went on with"))
    },
    "pgpools.restart.requested": _restart,
    "pgpools.restart.cancelled": _plain("Cancelled the restart of pgpools of {target}"),
    "token.created": _plain("Made the token {target}, which may {scope}"),
    "token.revoked": _plain("Revoked the token {target}"),
    "organisation.observe_only": _plain("Made {target} observe only"),
    "organisation.changes_allowed": _plain("Allowed changes in {target} again, which was observe only"),
    "ssh_key.replaced": _plain("Replaced the SSH key by {target}"),
    "organisation.created": _plain("Made the organisation {target}"),
    "member.added": _member,
    "member.changed": _member,
    "sign_in_link.created": _plain("Made a one-time sign-in link for {target}"),
    "password.changed": _plain("Changed the password of {target}"),
}


def _lines(facts: Facts, name: str) -> tuple[str, ...]:
    if name not in facts:
        return ()
    value = facts[name]
    if isinstance(value, list):
        return tuple(_listed(each) for each in value) or (NOTHING,)
    return (_text(value),)


def _listed(value: Any) -> str:
    """One of several things: {"name": "pgpool-1", "port": 9999, "az": ""} -> name pgpool-1, port 9999"""
    if not isinstance(value, Mapping):
        return _text(value)
    said = (
        f"{name.replace('_', SPACE)}{SPACE}{_inner(each)}" for name, each in value.items() if each not in (None, "")
    )
    return ", ".join(said)


def _inner(value: Any) -> str:
    return f"({_listed(value)})" if isinstance(value, Mapping) else _text(value)


def _text(value: Any) -> str:
    if value is None or value == "":
        return NOTHING
    if isinstance(value, Mapping):
        return _nested(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _nested(value: Facts) -> str:
    """What stands per backend is said in order, what stands per pgpool once if it is the same for all.

    {"pgpool-1": {"0": 0, "1": 3}, "pgpool-2": {"0": 0, "1": 3}} -> 0 / 3 on pgpool-1, pgpool-2
    """
    if all(name.isdecimal() for name in value):
        return " / ".join(_text(each) for each in value.values()) or NOTHING
    where: dict[str, list[str]] = {}
    for name, each in value.items():
        where.setdefault(_text(each), []).append(name)
    return "; ".join(f"{said} on {', '.join(names)}" for said, names in where.items())
