"""A draft: weights and parameters that one person gathers for one cluster, until they are rolled out or discarded."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction

from apps.accounts.access import Caller
from apps.clusters.control import draft_rows, own_weights, parameter_change
from apps.clusters.control.draft_rows import WEIGHTS, Draft, Place
from apps.clusters.control.parameter_change import ChangePreview, ParametersRefused
from apps.clusters.control.weight_change import KNOWN
from apps.clusters.domain.findings import Finding, error, shown_name
from apps.clusters.domain.parameter_wishes import read_wishes
from apps.clusters.domain.validation import MOST_PARAMETERS
from apps.clusters.domain.weights import WeightError, parse_weights
from apps.clusters.models import Cluster, Rollout

LONGEST_NAME = 100
# Of all values of a draft together, which every page of it reads.
MOST_CHARACTERS = 200_000


class NothingDrafted(ValueError):
    """There is no draft to roll out: it was rolled out or discarded already."""

    def __init__(self) -> None:
        super().__init__("The draft is empty: there is nothing to roll out.")


class DraftChanged(Exception):
    """The draft is not the one any more that was looked at."""

    def __init__(self, version: str) -> None:
        super().__init__(f"The draft was changed since you looked at it; it is version {version} now. Look again.")
        self.version = version


@dataclass(frozen=True)
class DraftChange:
    """What to do to a draft; what is let go goes first.

    parameters, per_instance, weights, weights_per_instance: as PUT parameters/ takes them, None to leave them; null
    instead of the weights of one pgpool lets those go. drops: changes to let go; drops_own_weights: the weights of all
    single pgpools. base_revision: the revision that somebody has looked at, None to leave it.
    """

    parameters: object = None
    per_instance: object = None
    weights: object = None
    weights_per_instance: object = None
    drops: Collection[Place] = ()
    drops_own_weights: bool = False
    base_revision: int | None = None


def draft_of(*, caller: Caller, cluster: Cluster) -> Draft:
    """An empty one where there is none."""
    return draft_rows.find(caller, cluster)


def change(
    *, caller: Caller, cluster: Cluster, wanted: DraftChange, expected: Collection[str] | None = None, now: datetime
) -> Draft:
    """The draft with these changes; the same ones again leave it as it is. expected: versions that it may have.

    Raises ParametersRefused for an odd shape, WeightError, or DraftChanged; whether pgpool takes the values is for
    preview to say.
    """
    with transaction.atomic():
        draft = _held(caller, cluster, expected)
        return draft_rows.store(caller, cluster, draft, _changed(cluster, draft, wanted), now=now)


def put_parameter(
    *, caller: Caller, cluster: Cluster, name: str, value: str | None, instance: str | None, now: datetime
) -> Draft:
    """Draft a value, None for the default; instance: of one pgpool only. Raises what change does."""
    values = {name: value}
    wanted = DraftChange(parameters=values) if instance is None else DraftChange(per_instance={instance: values})
    return change(caller=caller, cluster=cluster, wanted=wanted, now=now)


def put_weights(*, caller: Caller, cluster: Cluster, weights: Mapping[str, float], now: datetime) -> Draft:
    """The same on every pgpool: what was drafted for single ones goes."""
    wanted = DraftChange(weights=weights, drops_own_weights=True)
    return change(caller=caller, cluster=cluster, wanted=wanted, now=now)


def put_own_weights(
    *, caller: Caller, cluster: Cluster, weights: Mapping[str, Mapping[str, float]], now: datetime
) -> Draft:
    """weights: pgpool name -> node_id -> weight: what was drafted before goes; one that is left out keeps its own."""
    [first, *others] = weights.values() or [{}]
    if len(weights) == cluster.instances.count() and all(each == first for each in others):
        return put_weights(caller=caller, cluster=cluster, weights=first, now=now)
    wanted = DraftChange(weights_per_instance=weights or None, drops=[("", WEIGHTS)], drops_own_weights=True)
    return change(caller=caller, cluster=cluster, wanted=wanted, now=now)


def drop(*, caller: Caller, cluster: Cluster, name: str, instance: str | None, now: datetime) -> Draft:
    """Let go one change; name "weights": the weights, of one pgpool or those for all. What is not there is gone."""
    return change(caller=caller, cluster=cluster, wanted=DraftChange(drops=[(instance or "", name)]), now=now)


def discard(*, caller: Caller, cluster: Cluster, expected: Collection[str] | None = None) -> None:
    """Raises DraftChanged. One that is gone is discarded already."""
    with transaction.atomic():
        if draft_rows.find(caller, cluster).count:
            _held(caller, cluster, expected)
        draft_rows.delete(caller, cluster)


def preview(*, caller: Caller, cluster: Cluster, base: str = KNOWN, plan: object = None) -> ChangePreview:
    """What rolling it out would write. Raises NothingDrafted, or what parameter_change.preview does."""
    draft = draft_of(caller=caller, cluster=cluster)
    if not draft.count:
        raise NothingDrafted
    return parameter_change.preview(caller=caller, cluster=cluster, wish=draft.wish(base=base), plan=plan)


def roll_out(
    *,
    caller: Caller,
    cluster: Cluster,
    note: str,
    base: str,
    plan: object = None,
    expected: Collection[str] | None = None,
    now: datetime,
) -> Rollout:
    """The draft as a rollout; it is gone then, both or neither.

    Raises NothingDrafted, DraftChanged, or what parameter_change.request_change does.
    """
    with transaction.atomic():
        draft = _held(caller, cluster, expected)
        if not draft.count:
            raise NothingDrafted
        rollout = parameter_change.request_change(
            caller=caller, cluster=cluster, wish=draft.wish(base=base), note=note, plan=plan, now=now
        )
        draft_rows.delete(caller, cluster)
    return rollout


def _held(caller: Caller, cluster: Cluster, expected: Collection[str] | None) -> Draft:
    draft = draft_rows.held(caller, cluster)
    if expected is not None and draft.version not in expected:
        raise DraftChanged(draft.version)
    return draft


def _changed(cluster: Cluster, draft: Draft, wanted: DraftChange) -> Draft:
    instances = list(cluster.instances.order_by("name").values_list("name", flat=True))
    wishes, wrong = read_wishes(wanted.parameters, wanted.per_instance, instances)
    if wrong:
        _refuse(wrong)
    parameters = {name: value for name, value in draft.parameters.items() if ("", name) not in wanted.drops}
    own = {
        instance: {name: value for name, value in values.items() if (instance, name) not in wanted.drops}
        for instance, values in draft.per_instance.items()
    }
    for instance, values in wishes.per_instance.items():
        own[instance] = {**own.get(instance, {}), **values}
    changed = replace(
        draft,
        parameters={**parameters, **wishes.everywhere},
        per_instance=own,
        weights=_weights(cluster, draft, wanted),
        weights_per_instance=_own_weights(cluster, instances, draft, wanted),
        base_revision=_base_revision(cluster, draft, wanted.base_revision),
    )
    _refuse_too_much(draft, changed)
    return changed


def _weights(cluster: Cluster, draft: Draft, wanted: DraftChange) -> dict[str, float] | None:
    if wanted.weights is not None:
        parsed = parse_weights(wanted.weights, set(cluster.backends.values_list("node_id", flat=True)))
        return {str(node_id): weight for node_id, weight in sorted(parsed.items())}
    return None if ("", WEIGHTS) in wanted.drops or draft.weights is None else dict(draft.weights)


def _own_weights(
    cluster: Cluster, instances: Sequence[str], draft: Draft, wanted: DraftChange
) -> dict[str, dict[str, float]]:
    found = {
        instance: dict(weights)
        for instance, weights in draft.weights_per_instance.items()
        if (instance, WEIGHTS) not in wanted.drops and not wanted.drops_own_weights
    }
    node_ids = set(cluster.backends.values_list("node_id", flat=True))
    field = own_weights.BESIDE_PARAMETERS
    for name, raw in own_weights.of_known(wanted.weights_per_instance, instances, field=field).items():
        if raw is None:
            found.pop(name, None)
            continue
        parsed = own_weights.parsed(name, raw, node_ids, field=field)
        found[name] = {str(node_id): weight for node_id, weight in sorted(parsed.items())}
    return dict(sorted(found.items()))


def _base_revision(cluster: Cluster, draft: Draft, looked_at: int | None) -> int:
    latest = draft_rows.latest_revision(cluster)
    if looked_at is not None and looked_at != latest:
        raise WeightError("base_revision", looked_at, f"the latest revision, which is {latest}")
    return latest if looked_at is not None or not draft.count else draft.base_revision


def _refuse_too_much(before: Draft, after: Draft) -> None:
    if after.count > max(MOST_PARAMETERS, before.count):
        _refuse([error("parameters", f"a draft holds at most {MOST_PARAMETERS} changes", "fewer at once")])
    for name in {name for _, name in after.values}:
        if not 1 <= len(name) <= LONGEST_NAME:
            _refuse([error(shown_name(name), "a name of a parameter is too long or empty", "1 to 100 characters")])
    if sum(len(value) for value in after.values.values() if isinstance(value, str)) > MOST_CHARACTERS:
        _refuse([error("parameters", f"a draft holds at most {MOST_CHARACTERS:,} characters", "shorter values")])


def _refuse(wrong: Sequence[Finding]) -> None:
    raise ParametersRefused([parameter_change.named(None, finding) for finding in wrong])
