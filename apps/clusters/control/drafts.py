"""A draft: weights and parameters that one person gathers for one cluster, until they are rolled out or discarded."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from apps.accounts.access import Caller
from apps.clusters.control import parameter_change
from apps.clusters.control.parameter_change import ChangePreview, ParametersRefused, Wish
from apps.clusters.control.weight_change import KNOWN
from apps.clusters.domain.findings import error
from apps.clusters.domain.validation import MOST_PARAMETERS, read_wish
from apps.clusters.models import Cluster, ConfigDraft, Rollout

Values = Mapping[str, str | None]


@dataclass(frozen=True)
class Draft:
    """What a draft holds. parameters, per_instance: as parameter_change.Wish has them; weights: None for unchanged.

    base_revision: the latest revision when it was begun.
    """

    parameters: dict[str, str | None] = field(default_factory=dict)
    per_instance: dict[str, dict[str, str | None]] = field(default_factory=dict)
    weights: dict[str, float] | None = None
    base_revision: int = 0

    @property
    def count(self) -> int:
        return len(self.parameters) + sum(map(len, self.per_instance.values())) + (self.weights is not None)

    def wish(self, *, base: str = KNOWN) -> Wish:
        return Wish(self.parameters, self.per_instance, self.weights, base=base)


class NothingDrafted(ValueError):
    """There is no draft to roll out: it was rolled out or discarded already."""


def draft_of(*, caller: Caller, cluster: Cluster) -> Draft:
    """An empty one where there is none."""
    row = ConfigDraft.objects.filter(cluster=cluster, author=caller.user).first()
    return Draft() if row is None else _read(row)


def put_parameter(
    *, caller: Caller, cluster: Cluster, name: str, value: str | None, instance: str | None, now: datetime
) -> Draft:
    """Draft a value, None for the default; instance: of one pgpool only. Raises ParametersRefused for an odd shape."""
    with transaction.atomic():
        draft = _held(caller, cluster)
        wished, wrong = read_wish({name: value})
        known = draft.parameters if instance is None else draft.per_instance.get(instance, {})
        if not wrong and name not in known and draft.count >= MOST_PARAMETERS:
            wrong = (error(name, f"a draft holds at most {MOST_PARAMETERS} changes", "one that is in it already"),)
        if wrong:
            raise ParametersRefused([parameter_change.named(instance, finding) for finding in wrong])
        if instance is None:
            draft.parameters.update(wished)
        else:
            draft.per_instance.setdefault(instance, {}).update(wished)
        return _store(caller, cluster, draft, now=now)


def put_weights(*, caller: Caller, cluster: Cluster, weights: Mapping[str, float], now: datetime) -> Draft:
    with transaction.atomic():
        draft = _held(caller, cluster)
        changed = Draft(draft.parameters, draft.per_instance, dict(weights), draft.base_revision)
        return _store(caller, cluster, changed, now=now)


def drop(*, caller: Caller, cluster: Cluster, name: str, instance: str | None, now: datetime) -> Draft:
    """Let go one change; name "weights": the weights. What is not drafted is let go already."""
    with transaction.atomic():
        draft = _held(caller, cluster)
        if name == "weights" and instance is None:
            draft = Draft(draft.parameters, draft.per_instance, None, draft.base_revision)
        elif instance is None:
            draft.parameters.pop(name, None)
        else:
            draft.per_instance.get(instance, {}).pop(name, None)
        return _store(caller, cluster, draft, now=now)


def discard(*, caller: Caller, cluster: Cluster) -> None:
    ConfigDraft.objects.filter(cluster=cluster, author=caller.user).delete()


def preview(*, caller: Caller, cluster: Cluster, base: str = KNOWN) -> ChangePreview | None:
    """What rolling it out would write; None for an empty draft. Raises what parameter_change.preview does."""
    draft = draft_of(caller=caller, cluster=cluster)
    if not draft.count:
        return None
    return parameter_change.preview(caller=caller, cluster=cluster, wish=draft.wish(base=base))


def roll_out(*, caller: Caller, cluster: Cluster, note: str, base: str, now: datetime) -> Rollout:
    """The draft as a rollout; it is gone then. Raises NothingDrafted, or what parameter_change.request_change does."""
    # Held until the end: what its author adds meanwhile in another window must not be discarded with it.
    with transaction.atomic():
        draft = _held(caller, cluster)
        if not draft.count:
            raise NothingDrafted("The draft is empty: there is nothing to roll out.")
        rollout = parameter_change.request_change(
            caller=caller, cluster=cluster, wish=draft.wish(base=base), note=note, now=now
        )
        discard(caller=caller, cluster=cluster)
        return rollout


def _held(caller: Caller, cluster: Cluster) -> Draft:
    """The draft, kept from other requests of its author until the transaction ends."""
    # The cluster's row, since a draft that is begun has none yet.
    Cluster.objects.select_for_update(no_key=True).filter(pk=cluster.pk).first()
    row = ConfigDraft.objects.filter(cluster=cluster, author=caller.user).first()
    if row is not None:
        return _read(row)
    latest = cluster.revisions.aggregate(latest=Max("number"))["latest"] or 0
    return Draft(base_revision=latest)


def _read(row: ConfigDraft) -> Draft:
    return Draft(**json.loads(row.wishes), base_revision=row.base_revision)


def _store(caller: Caller, cluster: Cluster, draft: Draft, *, now: datetime) -> Draft:
    if not draft.count:
        discard(caller=caller, cluster=cluster)
        return draft
    wishes = asdict(draft)
    del wishes["base_revision"]
    wishes["per_instance"] = {name: values for name, values in draft.per_instance.items() if values}
    changes = {"wishes": json.dumps(wishes), "count": draft.count, "changed_at": now}
    ConfigDraft.objects.update_or_create(
        cluster=cluster,
        author=caller.user,
        defaults=changes,
        create_defaults={**changes, "base_revision": draft.base_revision, "begun_at": now},
    )
    return draft
