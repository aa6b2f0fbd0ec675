"""What a rollout wanted that does not stand becomes part of the caller's draft again."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.control import draft_rows, drafts, revisions
from apps.clusters.control.draft_rows import WEIGHTS, Draft
from apps.clusters.control.drafts import DraftChange
from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.pgpool_conf import PgpoolConf
from apps.clusters.models import ConfigRevision, Rollout

# name -> value, and node_id -> weight, as a draft has them.
Values = Mapping[str, str]
Weights = Mapping[str, float]


class NotRedrafted(ValueError):
    """Nothing of this rollout can be drafted again."""


@dataclass(frozen=True)
class _Wanted:
    """What a rollout changed on one pgpool. moves: whether that holds weights; weights: those of its file anyway."""

    pgpool: str
    values: Values
    weights: Weights
    moves: bool


def does_not_stand(rollout: Rollout, *, is_rolled_back: bool) -> bool:
    """Whether somebody asked for it, and it was taken back or never done. is_rolled_back: as taken_back has it."""
    if rollout.revision.origin != ConfigRevision.Origin.EDIT or rollout.rollback_of_id is not None:
        return False
    is_over = rollout.state not in Rollout.ACTIVE
    return is_over and (rollout.state != Rollout.State.VERIFIED or is_rolled_back)


def redraft(*, caller: Caller, rollout: Rollout, expected: Collection[str] | None = None, now: datetime) -> Draft:
    """Draft what the rollout changed; what the draft says already of a place stays as it is there.

    A draft that says all of it is left as it is. Raises NotRedrafted, or what drafts.change does, as where a backend
    was added meanwhile. expected: as there.
    """
    caller.require(Role.OPERATOR)
    _refuse_what_stands(rollout)
    wanted = _wanted_of(rollout)
    cluster = rollout.cluster
    names = list(cluster.instances.order_by("name").values_list("name", flat=True))
    with transaction.atomic():
        draft = draft_rows.held(caller, cluster)
        change = _change(wanted, names, draft)
        if change == DraftChange() and not _says(draft, wanted):
            raise NotRedrafted(f"Your draft says something else already of all that rollout {rollout.pk} changed.")
        return drafts.change(caller=caller, cluster=cluster, wanted=change, expected=expected, now=now)


def taken_back(rollout_ids: Collection[int]) -> set[int]:
    """Those of these rollouts that were rolled back by one that stands: a rollback can be taken back as well."""
    verified = Rollout.objects.filter(rollback_of__in=rollout_ids, state=Rollout.State.VERIFIED)
    rollbacks = dict(verified.values_list("pk", "rollback_of"))
    undone = taken_back(rollbacks) if rollbacks else set()
    return {rollout_id for pk, rollout_id in rollbacks.items() if rollout_id is not None and pk not in undone}


def _refuse_what_stands(rollout: Rollout) -> None:
    if does_not_stand(rollout, is_rolled_back=rollout.pk in taken_back([rollout.pk])):
        return
    if rollout.state in Rollout.ACTIVE:
        raise NotRedrafted(f"Rollout {rollout.pk} has not ended yet. Wait for its end, or cancel it.")
    if rollout.revision.origin != ConfigRevision.Origin.EDIT:
        raise NotRedrafted(f"Rollout {rollout.pk} carried files that stood somewhere before: there is no draft of it.")
    raise NotRedrafted(f"What rollout {rollout.pk} changed stands on the pgpools: it need not be drafted again.")


def _wanted_of(rollout: Rollout) -> list[_Wanted]:
    found = []
    for file in rollout.revision.files.select_related("instance").order_by("instance_name"):
        if file.instance is None:
            continue
        conf, base = pgpool_conf.parse(file.text), pgpool_conf.parse(file.base_text)
        before, weights = revisions.plain(revisions.weights_of(base)), revisions.plain(revisions.weights_of(conf))
        found.append(_Wanted(file.instance.name, _changed(conf, base), weights, moves=weights != before))
    if not found:
        raise NotRedrafted(f"No pgpool of rollout {rollout.pk} is registered any more.")
    if not any(one.values or one.moves for one in found):
        raise NotRedrafted(f"Rollout {rollout.pk} changed no line of any pgpool.conf: there is nothing to draft.")
    return found


def _changed(conf: PgpoolConf, base: PgpoolConf) -> dict[str, str]:
    before = base.values()
    return {
        name: value
        for name, value in conf.values().items()
        if before.get(name) != value and not name.startswith("backend_weight")
    }


def _change(wanted: Sequence[_Wanted], pgpools: Sequence[str], draft: Draft) -> DraftChange:
    """Once for all where every pgpool of now wanted the same, else one by one; less what is drafted already."""
    is_of_all = {one.pgpool for one in wanted} == set(pgpools)
    everywhere: dict[str, str] = {}
    own: dict[str, dict[str, str]] = {}
    for name in sorted({name for one in wanted for name in one.values}):
        if name in draft.parameters:
            continue
        values = {one.pgpool: one.values[name] for one in wanted if name in one.values}
        if is_of_all and len(values) == len(pgpools) and len(set(values.values())) == 1:
            everywhere[name] = next(iter(values.values()))
            continue
        for pgpool, value in values.items():
            if name not in draft.per_instance.get(pgpool, {}):
                own.setdefault(pgpool, {})[name] = value
    weights, own_weights = _weights(wanted, draft, is_of_all=is_of_all)
    return DraftChange(
        parameters=everywhere or None,
        per_instance=own or None,
        weights=weights,
        weights_per_instance=own_weights or None,
    )


def _weights(wanted: Sequence[_Wanted], draft: Draft, *, is_of_all: bool) -> tuple[Weights | None, dict[str, Weights]]:
    if ("", WEIGHTS) in draft.values or not any(one.moves for one in wanted):
        return None, {}
    if is_of_all and all(one.weights == wanted[0].weights for one in wanted):
        return wanted[0].weights, {}
    return None, {
        one.pgpool: one.weights for one in wanted if one.moves and one.pgpool not in draft.weights_per_instance
    }


def _says(draft: Draft, wanted: Sequence[_Wanted]) -> bool:
    """Whether the draft holds all of it for every pgpool, with these values."""
    return all(
        {**draft.parameters, **draft.per_instance.get(one.pgpool, {})}.items() >= one.values.items()
        and (not one.moves or draft.weights_per_instance.get(one.pgpool, draft.weights) == one.weights)
        for one in wanted
    )
