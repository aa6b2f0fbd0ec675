"""What pgpools owe: made when a rollout ends without them, closed when another one writes there, or takes it back."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from apps.clusters.control import debts_taken_back, verified_files, whole_files
from apps.clusters.control.revisions import sha256_of
from apps.clusters.domain.rollout_waves import stored_plan
from apps.clusters.models import ConfigRevision, PgpoolInstance, RevisionDebt, Rollout, RolloutStep
from apps.clusters.outside.delivery import LiveFile

# A debt that could not be given is tried again after so long, and twice as long the next time; then somebody is asked.
TRIED_AGAIN_AFTER = timedelta(minutes=1)
MOST_TRIES = 3

_State = RevisionDebt.State
_Step = RolloutStep.State


@dataclass(frozen=True)
class OwedFile:
    """What a pgpool owes. stands: the hashes of the files that may stand there if nobody edited it meanwhile.

    is_adopted: the edit that it owes the adoption of may stand there as well.
    """

    instance: PgpoolInstance | None
    text: str
    stands: frozenset[str]
    is_adopted: bool

    def may_stand(self, found: LiveFile) -> bool:
        is_edit = self.is_adopted and whole_files.is_edit_of(self.instance, found.text, adopted=self.text)
        return is_edit or found.sha256 in self.stands


def owed_files(instances: Collection[PgpoolInstance]) -> dict[int, OwedFile]:
    """Instance id -> what it owes; those that owe nothing are missing."""
    found = RevisionDebt.objects.filter(instance__in=instances, state=_State.OPEN).select_related(
        "step__file__instance", "step__rollout__revision"
    )
    went_back = _gone_back([debt.step.file.instance for debt in found if debt.step.file.instance is not None])
    return {debt.instance_id: _owed_file(debt.step, went_back.get(debt.instance_id)) for debt in found}


def _owed_file(step: RolloutStep, went_back: str | None) -> OwedFile:
    file = step.file
    # One that fell silent has its old file with the defaults of what it leaves out, or still the new one.
    back = sha256_of(whole_files.way_back(file))
    stands = {file.base_sha256, back, file.sha256} | ({went_back} if went_back else set())
    is_adopted = step.rollout.revision.origin == ConfigRevision.Origin.ADOPTED
    return OwedFile(file.instance, file.text, frozenset(stands), is_adopted)


def _gone_back(instances: Collection[PgpoolInstance]) -> dict[int, str]:
    """Instance id -> the hash of its file, where that was verified latest by a rollback or a reversion.

    It is an older file, with the defaults of what it leaves out: those leave open what is owed.
    """
    if not instances:
        return {}
    newest = verified_files.newest_files(instances).defer("text", "base_text").select_related("revision")
    is_back = Q(rollback_of__isnull=False) | Q(revision__origin=ConfigRevision.Origin.REVERTED)
    # Such a one that was owed is given late by a rollout of another origin.
    owed = "settles__step__rollout"
    is_back |= Q(**{f"{owed}__rollback_of__isnull": False})
    is_back |= Q(**{f"{owed}__revision__origin": ConfigRevision.Origin.REVERTED})
    revisions = Rollout.objects.filter(is_back, revision__files__in=[file.pk for file in newest])
    numbers = set(revisions.values_list("revision__number", flat=True))
    verified = verified_files.verified_files(instances)
    return {pk: file.sha256 for pk, file in verified.items() if file.revision_number in numbers}


def stands_in(step: RolloutStep) -> bool:
    """Whether a file of the rollout stands, or may stand, on the pgpool of a step. The debt is loaded."""
    if step.state != _Step.OWED:
        return True
    debt: RevisionDebt | None = getattr(step, "debt", None)
    is_given = debt is not None and debt.state == _State.SETTLED
    return is_given or (step.is_touched and "restore" not in step.receipt)


def is_taken_back(step: RolloutStep) -> bool:
    """Whether rolling back has something to put there. An edit that was not adopted is nobody's to take away."""
    was_adopting = step.rollout.revision.origin == ConfigRevision.Origin.ADOPTED
    return stands_in(step) and (step.is_touched or not was_adopting)


def note_end(*, rollout: Rollout, state: Rollout.State, was_active: bool, now: datetime) -> None:
    """In the transaction in which the rollout ends in this state.

    was_active: false where it had failed already, and its old files were confirmed late.
    """
    if state != Rollout.State.VERIFIED:
        _owe_nothing(rollout)
        if rollout.settles is not None and was_active:
            _note_failure(rollout, rollout.settles, now=now)
    if state in {Rollout.State.VERIFIED, Rollout.State.FAILED}:
        debts_taken_back.take_back(rollout, now=now)
    was_adopting = rollout.revision.origin == ConfigRevision.Origin.ADOPTED
    if state == Rollout.State.VERIFIED or (state == Rollout.State.FAILED and was_adopting):
        steps = list(rollout.steps.select_related("instance").defer("instance__pcp_password").order_by("position"))
        _close(rollout, [step for step in steps if step.state == _Step.VERIFIED], now=now)
        for step in steps:
            if step.state == _Step.OWED:
                _owe(rollout, step, now=now)


def _owe_nothing(rollout: Rollout) -> None:
    """What no pgpool keeps is owed by none."""
    owing = rollout.steps.filter(state=_Step.OWED)
    owing.filter(is_touched=False).update(state=_Step.SKIPPED)
    owing.filter(is_touched=True).update(state=_Step.FAILED)


def _note_failure(rollout: Rollout, settles: RevisionDebt, *, now: datetime) -> None:
    """It is tried again, a few times; after that, or where somebody cancelled it, somebody has to say so."""
    debt = RevisionDebt.objects.filter(pk=settles.pk, state=_State.OPEN).first()
    if debt is None:
        return
    debt.tries += 1
    debt.retry_at = now + TRIED_AGAIN_AFTER * 2 ** (debt.tries - 1)
    errors = rollout.steps.exclude(error="").values_list("error", flat=True)
    debt.reason = f"Rollout {rollout.pk} did not give it: {rollout.halt_reason or '; '.join(errors) or 'cancelled'}"
    debt.needs_person = debt.tries >= MOST_TRIES or rollout.is_cancel_requested
    debt.save(update_fields=["tries", "retry_at", "reason", "needs_person"])


def _close(rollout: Rollout, verified: Sequence[RolloutStep], *, now: datetime) -> None:
    """A newer file was verified there, in which all that was owed stands, or which somebody wanted in its place."""
    if rollout.rollback_of_id is not None:
        return  # an older file: what was owed before is owed again
    instances = [step.instance for step in verified if step.instance is not None]
    found = RevisionDebt.objects.filter(instance__in=instances, state=_State.OPEN)
    if rollout.revision.origin == ConfigRevision.Origin.REVERTED:
        # Somebody wants the edit gone that was to be adopted there.
        adopted = found.filter(step__rollout__revision__origin=ConfigRevision.Origin.ADOPTED)
        adopted.update(state=_State.SUPERSEDED, closed_at=now)
        # What had been edited by hand is as it was: now it can be given.
        found.update(needs_person=False, reason="", retry_at=None)
        return
    given = found.filter(settlements=rollout.pk).select_related("step__rollout__revision").first()
    found.filter(settlements=rollout.pk).update(state=_State.SETTLED, closed_at=now, reason="")
    found.update(state=_State.SUPERSEDED, closed_at=now)
    if given is not None and _leads_back(given.step.rollout):
        debts_taken_back.reopen_earlier(given, now=now)  # an older file stands there now, without what it superseded


def _leads_back(rollout: Rollout) -> bool:
    return rollout.rollback_of_id is not None or rollout.revision.origin == ConfigRevision.Origin.REVERTED


def _owe(rollout: Rollout, step: RolloutStep, *, now: datetime) -> None:
    if step.instance is None:
        return  # removed meanwhile
    earlier = RevisionDebt.objects.filter(instance=step.instance, state=_State.OPEN).first()
    if earlier is not None:
        RevisionDebt.objects.filter(pk=earlier.pk).update(state=_State.SUPERSEDED, closed_at=now)
    # A request that does not say what becomes of it takes nothing back that an older one has asked for.
    as_before = RevisionDebt.OnReturn.GIVE if earlier is None else earlier.on_return
    on_return = stored_plan(rollout.plan).on_return or as_before
    debt = RevisionDebt.objects.create(instance=step.instance, step=step, on_return=on_return, owed_at=now)
    if earlier is not None:
        RevisionDebt.objects.filter(pk=earlier.pk).update(superseded_by=debt)
