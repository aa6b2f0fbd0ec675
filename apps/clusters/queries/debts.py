"""What pgpools owe, as pages and REST tell it."""

from collections.abc import Collection
from datetime import datetime
from typing import TypedDict

from django.db.models import QuerySet

from apps.clusters.models import Cluster, InstanceLatest, RevisionDebt, Rollout

_State, _OnReturn = RevisionDebt.State, RevisionDebt.OnReturn
# Closed debts are history: the latest ones are enough to see what became of them.
MOST_CLOSED = 20


class DebtAnswer(TypedDict):
    """One pgpool that owes, or owed, a revision. state: open, settled, superseded, taken_back or forgiven.

    revision, rollout: which it owes, and which rollout went past it. on_return: give or ask. is_back: it answers.
    needs_person: it is not given without somebody who says so; reason: what kept it from being given latest.
    given_by: the rollout that gives it, or gave it, null without one; can_give: whether it can be given now.
    """

    id: int
    instance: str
    revision: int
    rollout: int
    state: str
    sentence: str
    reason: str
    on_return: str
    is_back: bool
    needs_person: bool
    owed_at: datetime
    returned_at: datetime | None
    closed_at: datetime | None
    closed_by: str
    given_by: int | None
    can_give: bool


class DebtsAnswer(TypedDict):
    """open: what is owed now, by the names of the pgpools; closed: what was owed, latest first."""

    open: list[DebtAnswer]
    closed: list[DebtAnswer]


def debts_answer(*, cluster: Cluster) -> DebtsAnswer:
    closed = _whole(RevisionDebt.objects.filter(instance__cluster=cluster).exclude(state=_State.OPEN))
    return {
        "open": open_debts(cluster=cluster),
        "closed": [debt_answer(debt) for debt in closed.order_by("-closed_at", "-pk")[:MOST_CLOSED]],
    }


def open_debts(*, cluster: Cluster) -> list[DebtAnswer]:
    found = _whole(RevisionDebt.objects.filter(instance__cluster=cluster, state=_State.OPEN))
    return [debt_answer(debt) for debt in found.order_by("instance__name", "pk")]


def debts_of_steps(*, rollouts: Collection[Rollout]) -> dict[int, DebtAnswer]:
    """Step id -> what its pgpool owes, or owed, since one of these rollouts."""
    found = _whole(RevisionDebt.objects.filter(step__rollout__in=[rollout.pk for rollout in rollouts]))
    return {debt.step_id: debt_answer(debt) for debt in found}


def sentences(*, cluster_ids: Collection[int]) -> dict[int, str]:
    """Instance id -> what it owes now, in a sentence."""
    found = _whole(RevisionDebt.objects.filter(instance__cluster__in=cluster_ids, state=_State.OPEN))
    return {debt.instance_id: _sentence(debt) for debt in found}


def _whole(found: QuerySet[RevisionDebt]) -> QuerySet[RevisionDebt]:
    whole = found.select_related("instance__latest", "step__rollout__revision").prefetch_related("settlements")
    return whole.defer("instance__pcp_password")


def debt_answer(debt: RevisionDebt) -> DebtAnswer:
    """The debt is loaded as _whole has it."""
    given_by = _given_by(debt)
    is_open = debt.state == _State.OPEN
    return {
        "id": debt.pk,
        "instance": debt.instance.name,
        "revision": debt.step.rollout.revision.number,
        "rollout": debt.step.rollout_id,
        "state": debt.state,
        "sentence": _sentence(debt),
        "reason": debt.reason if is_open else "",
        "on_return": debt.on_return,
        "is_back": _is_back(debt),
        "needs_person": is_open and _needs_person(debt),
        "owed_at": debt.owed_at,
        "returned_at": debt.returned_at,
        "closed_at": debt.closed_at,
        "closed_by": debt.closed_by_name,
        "given_by": given_by,
        "can_give": is_open and given_by is None and _is_back(debt),
    }


def _given_by(debt: RevisionDebt) -> int | None:
    counts = {state.value for state in Rollout.ACTIVE}
    if debt.state != _State.OPEN:  # an open one that was given before was taken back, and can be given again
        counts.add(Rollout.State.VERIFIED.value)
    return max((rollout.pk for rollout in debt.settlements.all() if rollout.state in counts), default=None)


def _is_back(debt: RevisionDebt) -> bool:
    latest: InstanceLatest | None = getattr(debt.instance, "latest", None)
    if latest is None or latest.state != InstanceLatest.State.ANSWERING:
        return False
    return latest.answered_at is not None and latest.answered_at > debt.owed_at


def _needs_person(debt: RevisionDebt) -> bool:
    return debt.needs_person or debt.on_return == _OnReturn.ASK


def _sentence(debt: RevisionDebt) -> str:
    name, revision = debt.instance.name, debt.step.rollout.revision
    if debt.state != _State.OPEN:
        return f"{name} {_CLOSED[_State(debt.state)].format(revision=revision, who=debt.closed_by_name)}."
    if not _is_back(debt):
        then = "somebody is asked when it returns" if _needs_person(debt) else "it is given it when it returns"
        return f"{name} cannot be reached and owes {revision}; {then}."
    if _given_by(debt) is not None:
        return f"{name} is back and is being given {revision}."
    if _needs_person(debt):
        return f"{name} is back and owes {revision}: give it, or let it go. Until then it goes by its old file."
    return f"{name} is back and owes {revision}, which it is about to be given. Until then it goes by its old file."


_CLOSED = {
    _State.SETTLED: "returned and was given {revision}",
    _State.SUPERSEDED: "owed {revision}; a newer one stands in its place",
    _State.TAKEN_BACK: "owed {revision} until that was rolled back",
    _State.FORGIVEN: "owed {revision}; {who} let it go",
}
