"""What a rollback does to debts: nobody owes what it took back, and what that had superseded is owed again."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Q

from apps.clusters.models import RevisionDebt, Rollout, RolloutStep

_State = RevisionDebt.State
_Step = RolloutStep.State
_PUT_BACK = Q(state=_Step.VERIFIED) | Q(state=_Step.FAILED, written_at__isnull=False)


def take_back(rollback: Rollout, *, now: datetime) -> None:
    """In the transaction in which a rollback ends verified, or failed."""
    rolled_back = rollback.rollback_of
    if rolled_back is None or not _has_put_back(rollback):
        return
    # What is not back yet, and is owed by the rollback, is taken for back: its debt stands in the place of the older.
    is_back = _PUT_BACK | Q(state=_Step.OWED)
    found = rollback.steps.filter(is_back, instance__isnull=False)
    instances = list(found.values_list("instance_id", flat=True))
    _owe_again_what_it_closed(rolled_back, instances, now=now)
    _owe_no_more(rolled_back, instances, now=now)
    _owe_again_what_it_took_back(rolled_back, now=now)
    _ask_about_what_it_gave(rolled_back, instances, now=now)


def reopen_earlier(debt: RevisionDebt, *, now: datetime) -> None:
    """What this one had superseded is owed again."""
    for earlier in debt.earlier.filter(state=_State.SUPERSEDED).order_by("pk"):
        _reopen(earlier, now=now)


def left_out(rollback: Rollout) -> list[RevisionDebt]:
    """Debts that rolling this rollback back would not put right, with their instance, rollout and revision."""
    if rollback.rollback_of_id is None:
        return []
    older = Q(state=_State.OPEN) | Q(state=_State.SUPERSEDED, superseded_by__step__rollout=rollback.pk)
    found = older & Q(step__rollout__lt=rollback.rollback_of_id)
    if rollback.state != Rollout.State.VERIFIED:
        found |= _taken_back_by(rollback)
    debts = RevisionDebt.objects.filter(found, instance__cluster=rollback.cluster_id)
    whole = debts.select_related("instance", "step__rollout__revision").defer("instance__pcp_password")
    return list(whole.order_by("instance__name", "pk"))


def _has_put_back(rollback: Rollout) -> bool:
    if rollback.state == Rollout.State.VERIFIED:
        return True
    was_undone = rollback.is_cancel_requested or rollback.is_halting
    return not was_undone and rollback.steps.filter(_PUT_BACK).exists()


def _owe_again_what_it_closed(rolled_back: Rollout, instances: Collection[int], *, now: datetime) -> None:
    """Where it was verified it held what was owed; the file that is back there does not."""
    closed = RevisionDebt.objects.filter(
        instance__in=instances, state=_State.SUPERSEDED, superseded_by=None, closed_at=rolled_back.finished_at
    )
    for debt in closed.order_by("pk"):
        _reopen(debt, now=now)


def _owe_no_more(rolled_back: Rollout, instances: Collection[int], *, now: datetime) -> None:
    owing = RevisionDebt.objects.filter(step__rollout=rolled_back)
    for debt in owing.filter(state=_State.OPEN).order_by("pk"):
        RevisionDebt.objects.filter(pk=debt.pk).update(state=_State.TAKEN_BACK, closed_at=now)
        reopen_earlier(debt, now=now)
    for debt in owing.filter(state=_State.SETTLED, instance__in=instances).order_by("pk"):
        reopen_earlier(debt, now=now)


def _owe_again_what_it_took_back(rolled_back: Rollout, *, now: datetime) -> None:
    """A rollback that is rolled back; left_out has refused what this cannot put right."""
    if rolled_back.rollback_of_id is None or rolled_back.state != Rollout.State.VERIFIED:
        return
    for debt in RevisionDebt.objects.filter(_taken_back_by(rolled_back)).order_by("pk"):
        _reopen(debt, now=now)


def _ask_about_what_it_gave(rolled_back: Rollout, instances: Collection[int], *, now: datetime) -> None:
    """Somebody took away what it gave: it is not given again without a word."""
    debt = rolled_back.settles
    if debt is None or debt.state != _State.SETTLED or debt.instance_id not in instances:
        return
    _reopen(debt, now=now)
    reason = f"Rollout {rolled_back.pk} gave it, and was rolled back."
    RevisionDebt.objects.filter(pk=debt.pk).update(needs_person=True, reason=reason)


def _taken_back_by(rollback: Rollout) -> Q:
    return Q(step__rollout=rollback.rollback_of_id, state=_State.TAKEN_BACK, closed_at=rollback.finished_at)


def _reopen(debt: RevisionDebt, *, now: datetime) -> None:
    """At most one debt of a pgpool is open, so any other gives way."""
    others = RevisionDebt.objects.filter(instance=debt.instance_id, state=_State.OPEN).exclude(pk=debt.pk)
    others.update(state=_State.SUPERSEDED, closed_at=now, superseded_by=debt)
    RevisionDebt.objects.filter(pk=debt.pk).update(state=_State.OPEN, closed_at=None, superseded_by=None)
