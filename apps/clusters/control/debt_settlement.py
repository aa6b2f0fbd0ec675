"""A pgpool that owes a revision is given it when it returns: a rollout of that one pgpool; or it is let go."""

from datetime import datetime, timedelta
from typing import NoReturn

from django.db import transaction
from django.db.models import F, Q

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.clusters.control import debts, on_behalf, revisions, rollout_rows
from apps.clusters.control.backend_operation_rows import OperationRunning
from apps.clusters.control.restart_rows import RestartRunning
from apps.clusters.control.revisions import ConfigUnusable, NewFile, WeightsRefused
from apps.clusters.control.rollout_rows import RolloutRunning
from apps.clusters.control.writes import WritesStopped
from apps.clusters.models import Cluster, ClusterEvent, ConfigRevision, InstanceLatest, RevisionDebt, Rollout
from apps.live import events

OnReturn, _State = RevisionDebt.OnReturn, RevisionDebt.State
# A file that cannot be read may take its host's whole patience, so not every look asks for it.
READ_AGAIN_AFTER = timedelta(seconds=30)


class DebtRefused(WeightsRefused):
    """Nothing can be done about this debt as it stands."""


class EditedMeanwhile(DebtRefused):
    """The file of a pgpool that owes a revision was edited by hand while it was away."""

    def __init__(self, instance_name: str) -> None:
        super().__init__(
            f"The pgpool.conf of {instance_name} was edited by hand while it owed the revision, so it was left as it "
            "is. Revert the edit on the page Drift, then it is given; or adopt it, or let the debt go."
        )


def settle_returned(*, now: datetime) -> None:
    """Every debt of a pgpool that answers again: given, or told to those who are to be asked."""
    answering = Q(
        instance__latest__state=InstanceLatest.State.ANSWERING, instance__latest__answered_at__gt=F("owed_at")
    )
    is_new = Q(returned_at=None)
    is_due = Q(needs_person=False, on_return=OnReturn.GIVE) & (Q(retry_at=None) | Q(retry_at__lte=now))
    found = RevisionDebt.objects.filter(answering, is_new | is_due, state=_State.OPEN)
    for pk in found.order_by("pk").values_list("pk", flat=True):
        _note_return(pk, now=now)
        _settle(pk, now=now)


def _note_return(pk: int, *, now: datetime) -> None:
    with transaction.atomic():
        returned = RevisionDebt.objects.filter(pk=pk, state=_State.OPEN, returned_at=None).update(returned_at=now)
        if returned and (debt := _held(pk)) is not None and debt.on_return == OnReturn.ASK:
            _tell(debt, f"{_owing(debt)}: give it, or let it go", now=now)


def _settle(pk: int, *, now: datetime) -> None:
    try:
        with transaction.atomic():
            held = _held(pk, is_skipping=True)
            if held is None or held.needs_person or held.on_return == OnReturn.ASK:
                return
            _roll_out(_in_the_name_of(held), held, now=now)
    except (RolloutRunning, OperationRunning, RestartRunning, WritesStopped, ConfigUnusable) as error:
        # It passes: a rollout ends, writes are allowed again, a host answers.
        debt = RevisionDebt.objects.filter(pk=pk, state=_State.OPEN)
        debt.exclude(reason=str(error)).update(reason=str(error))
        if isinstance(error, ConfigUnusable):
            debt.update(retry_at=now + READ_AGAIN_AFTER)
    except WeightsRefused as error:
        _ask(pk, str(error), now=now)


def _ask(pk: int, reason: str, *, now: datetime) -> None:
    with transaction.atomic():
        asked = RevisionDebt.objects.filter(pk=pk, state=_State.OPEN, needs_person=False)
        if asked.update(needs_person=True, reason=reason) and (debt := _held(pk)) is not None:
            _tell(debt, f"{_owing(debt)}, which was not given", now=now, detail=reason)


def _in_the_name_of(debt: RevisionDebt) -> Caller:
    caller = on_behalf.operator(debt.step.rollout.requested_by, debt.instance.cluster)
    if caller is None:
        raise DebtRefused("Who rolled the revision out may not change this cluster any more: somebody has to give it.")
    return caller


def give(*, caller: Caller, debt: RevisionDebt, now: datetime) -> Rollout:
    """Roll out what this pgpool owes, to it alone. Raises DebtRefused, or what a request of weights does.

    A file that is neither what stood there nor what is owed is never written over.
    """
    with transaction.atomic():
        return _roll_out(caller, _open(debt), now=now)


def forgive(*, caller: Caller, debt: RevisionDebt, now: datetime) -> None:
    """The pgpool keeps the file that it has, and owes nothing. Raises DebtRefused."""
    with transaction.atomic():
        current = _open(debt)
        if current.settlements.filter(state__in=Rollout.ACTIVE).exists():
            raise DebtRefused(f"{current.instance.name} is being given it now: wait for the end of the rollout.")
        RevisionDebt.objects.filter(pk=current.pk).update(
            state=_State.FORGIVEN, closed_at=now, closed_by_name=caller.user.shown_name
        )
        cluster, revision = current.instance.cluster, current.step.rollout.revision
        audit.record(
            caller=caller,
            action="debt.forgiven",
            target_type="cluster",
            target_id=cluster.pk,
            target_name=cluster.slug,
            before={"instance": current.instance.name, "revision": revision.number},
        )
        title = f"{caller.user.shown_name} let go that {current.instance.name} owes {revision}"
        _tell(current, title, now=now, is_problem=False)


def _roll_out(caller: Caller, debt: RevisionDebt, *, now: datetime) -> Rollout:
    """The debt's row is held. One rollout of a cluster at a time, so that it is given once."""
    instance, cluster, owed = debt.instance, debt.instance.cluster, debt.step.rollout.revision
    with rollout_rows.one_at_a_time(cluster), transaction.atomic():
        rollout_rows.hold(cluster)
        (live,) = revisions.read_live(cluster, [instance])
        file = debts.owed_files([instance])[instance.pk]
        if not file.may_stand(live.file):
            raise EditedMeanwhile(instance.name)
        revision = revisions.store(
            cluster=cluster,
            origin=ConfigRevision.Origin.OWED,
            note=f"what {instance.name} owed of {owed}",
            author=caller.user,
            files=[NewFile(instance=instance, text=file.text, base=live.file)],
            asked=owed.parameters.get(instance.name, []),
        )
        return rollout_rows.create(
            caller=caller,
            cluster=cluster,
            revision=revision,
            weights_before={instance.name: revisions.plain(revisions.weights_of(live.conf))},
            settles=debt,
            now=now,
        )


def _open(debt: RevisionDebt) -> RevisionDebt:
    return _held(debt.pk) or _refuse_closed(debt.pk)


def _refuse_closed(pk: int) -> NoReturn:
    found = RevisionDebt.objects.filter(pk=pk).first()
    how = "is gone" if found is None else f"is {found.get_state_display()}"
    raise DebtRefused(f"This debt {how}: nothing is owed any more.")


def _held(pk: int, *, is_skipping: bool = False) -> RevisionDebt | None:
    """An open debt, kept from others until the transaction ends, with all that a rollout of it needs."""
    rows = RevisionDebt.objects.select_for_update(of=("self",), skip_locked=is_skipping)
    whole = rows.select_related(
        "instance__cluster__organisation",
        "step__file__instance",
        "step__rollout__revision",
        "step__rollout__requested_by",
    )
    return whole.filter(pk=pk, state=_State.OPEN).first()


def _owing(debt: RevisionDebt) -> str:
    return f"{debt.instance.name} is back and owes {debt.step.rollout.revision}"


def _tell(debt: RevisionDebt, title: str, *, now: datetime, detail: str = "", is_problem: bool = True) -> None:
    cluster: Cluster = debt.instance.cluster
    ClusterEvent.objects.create(
        cluster=cluster,
        at=now,
        kind=ClusterEvent.Kind.ROLLOUT,
        is_problem=is_problem,
        title=title[:200],
        detail=detail,
        instance_name=debt.instance.name,
        rollout=debt.step.rollout,
    )
    events.announce(f"cluster.{cluster.pk}", "event", titles=[title])
