"""Drafts as rows: read, held against other requests of their author, stored with who touched what and when."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db.models import Max

from apps.accounts.access import Caller
from apps.clusters.control.parameter_change import Wish
from apps.clusters.control.weight_change import KNOWN
from apps.clusters.models import Cluster, ConfigDraft

# What an empty draft answers with as its version.
NO_VERSION = "0"
# How the weights are called among the names of parameters.
WEIGHTS = "weights"

# The pgpool, empty for all of them, and the name of the parameter.
Place = tuple[str, str]


@dataclass(frozen=True)
class Touch:
    """Who drafted a change, with the name of the token if it was one, and when."""

    by: str
    at: datetime


@dataclass(frozen=True)
class Draft:
    """What a draft holds, as parameter_change.Wish has it. weights: None for unchanged.

    base_revision: the latest revision when it was begun, or looked at since. version: another one with every change.
    """

    parameters: Mapping[str, str | None] = field(default_factory=dict)
    per_instance: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    weights: Mapping[str, float] | None = None
    weights_per_instance: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    base_revision: int = 0
    version: str = NO_VERSION
    begun_at: datetime | None = None
    changed_at: datetime | None = None
    touches: Mapping[Place, Touch] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.values)

    @property
    def values(self) -> dict[Place, Any]:
        """Every change by its place, the weights too."""
        found: dict[Place, Any] = {("", name): value for name, value in self.parameters.items()}
        for instance, values in self.per_instance.items():
            found |= {(instance, name): value for name, value in values.items()}
        found |= {(instance, WEIGHTS): dict(weights) for instance, weights in self.weights_per_instance.items()}
        return found if self.weights is None else {**found, ("", WEIGHTS): dict(self.weights)}

    def wish(self, *, base: str = KNOWN) -> Wish:
        return Wish(self.parameters, self.per_instance, self.weights, self.weights_per_instance, base=base)


def find(caller: Caller, cluster: Cluster) -> Draft:
    """An empty one where there is none."""
    row = ConfigDraft.objects.filter(cluster=cluster, author=caller.user).first()
    return Draft(base_revision=latest_revision(cluster)) if row is None else _read(row)


def held(caller: Caller, cluster: Cluster) -> Draft:
    """The draft, kept from other requests of its author until the transaction ends."""
    # The cluster's row, since a draft that is begun has none yet.
    Cluster.objects.select_for_update(no_key=True).filter(pk=cluster.pk).first()
    return find(caller, cluster)


def latest_revision(cluster: Cluster) -> int:
    """Its number; 0 for none."""
    return cluster.revisions.aggregate(latest=Max("number"))["latest"] or 0


def store(caller: Caller, cluster: Cluster, before: Draft, after: Draft, *, now: datetime) -> Draft:
    """What was changed is told as touched by this caller now; a draft that stays as it is keeps its version."""
    if before.values == after.values and before.base_revision == after.base_revision:
        return before
    if not after.count:
        delete(caller, cluster)
        return Draft(base_revision=latest_revision(cluster))
    touches = _touches(caller, before, after, now)
    wishes = {
        "parameters": dict(after.parameters),
        "per_instance": {name: dict(values) for name, values in after.per_instance.items() if values},
        "weights": None if after.weights is None else dict(after.weights),
        "weights_per_instance": {name: dict(weights) for name, weights in after.weights_per_instance.items()},
        "touches": [[*place, touch.by, touch.at.isoformat()] for place, touch in touches.items()],
    }
    changes = {
        "wishes": json.dumps(wishes),
        "count": after.count,
        "base_revision": after.base_revision,
        "version": _number(before) + 1,
        "changed_at": now,
    }
    row, _ = ConfigDraft.objects.update_or_create(
        cluster=cluster, author=caller.user, defaults=changes, create_defaults={**changes, "begun_at": now}
    )
    return replace(after, version=_version(row), touches=touches, begun_at=row.begun_at, changed_at=row.changed_at)


def delete(caller: Caller, cluster: Cluster) -> None:
    ConfigDraft.objects.filter(cluster=cluster, author=caller.user).delete()


def _touches(caller: Caller, before: Draft, after: Draft, now: datetime) -> dict[Place, Touch]:
    by = caller.user.shown_name if caller.token is None else f"{caller.user.shown_name} (token {caller.token.name})"
    own, known = Touch(by, now), before.values
    return {
        place: before.touches.get(place, own) if place in known and known[place] == value else own
        for place, value in after.values.items()
    }


def _read(row: ConfigDraft) -> Draft:
    kept = json.loads(row.wishes)
    touches = {
        (instance, name): Touch(by, datetime.fromisoformat(at)) for instance, name, by, at in kept.pop("touches", ())
    }
    return Draft(
        **kept,
        base_revision=row.base_revision,
        version=_version(row),
        begun_at=row.begun_at,
        changed_at=row.changed_at,
        touches=touches,
    )


def _version(row: ConfigDraft) -> str:
    # A draft that is begun anew counts from 1 again, so the row's number goes first.
    return f"{row.pk}.{row.version}"


def _number(draft: Draft) -> int:
    return int(draft.version.partition(".")[2] or 0)
