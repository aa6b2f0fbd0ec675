"""Carries a revision to every pgpool, wave after wave: check, write, reload, read back; or puts the old files back.

Rows decide, so any worker goes on where another one died. The plan says what is next, a crew does it, this file takes
the lease, asks, begins, stores, and asks again.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction
from django.http import Http404

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.clusters.control import (
    debts,
    debts_taken_back,
    live_configs,
    revisions,
    rollout_holds,
    rollout_rows,
    rollout_turns,
    whole_files,
)
from apps.clusters.control.revisions import NewFile
from apps.clusters.control.rollout_crew import Crew
from apps.clusters.domain import pgpool_conf, rollout_plan
from apps.clusters.domain.rollout_plan import Finish, Hold, RolloutView
from apps.clusters.domain.rollout_waves import Absent, Plan, Strategy, parse_plan, stored_plan
from apps.clusters.models import ConfigRevision, Rollout, RolloutStep

logger = logging.getLogger(__name__)

# A worker waits this long for the next try itself; longer waits are left to the next tick.
LONGEST_PAUSE_S = 2.0
# An instance that did not confirm its old file is asked again for so long after the rollout ended.
RESTORE_FOR = timedelta(hours=1)


class RolloutRefused(Exception):
    """This cannot be done with the rollout as it stands."""


class NotRunning(RolloutRefused):
    """The rollout has ended already."""

    def __init__(self, rollout: Rollout) -> None:
        super().__init__(f"Rollout {rollout.pk} has ended already: it is {rollout.get_state_display()}.")
        self.rollout = rollout


class RollbackRefused(RolloutRefused):
    """There is nothing of this rollout that could be taken back."""


def advance(
    *,
    rollout_id: int,
    holder: str,
    clock: Callable[[], datetime],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Carry the rollout on until it ends or has to wait for long. Returns at once while another worker holds it."""
    try:
        with Crew() as crew:
            while True:
                held_until = time.monotonic() + rollout_rows.LEASE.total_seconds()
                if not rollout_rows.take_lease(rollout_id, holder):
                    break
                pause_s = _advance_once(rollout_id, holder, held_until, clock, crew)
                if pause_s is None or pause_s > LONGEST_PAUSE_S:
                    break
                if pause_s > 0:
                    sleep(pause_s)
    except rollout_rows.LeaseLost as error:
        logger.info("%s", error)
    rollout_rows.release_lease(rollout_id, holder)


def _advance_once(
    rollout_id: int, holder: str, held_until: float, clock: Callable[[], datetime], crew: Crew
) -> float | None:
    """Begin what is due, or store what has come to an end. Returns the seconds until the next look, None for none."""
    rollout = Rollout.objects.select_related("revision", "cluster").get(pk=rollout_id)
    steps = rollout_rows.steps_of(rollout)
    view = rollout_rows.view_of(rollout, steps)
    _note_halting(rollout, view, holder)
    actions = rollout_plan.next_actions(view)
    ripe, pause_s = rollout_turns.due_now(actions, steps, crew, clock)
    due = rollout_turns.allowed(rollout, ripe, crew)
    if due:
        rollout_turns.begin(rollout, due, holder, held_until, clock, crew)
    if due or crew.step_ids:
        rollout_turns.store(rollout, holder, clock, crew, timeout_s=pause_s)
        return 0.0
    if isinstance(actions[0], Hold):
        return rollout_holds.hold(rollout, due=actions[0], holder=holder, now=clock())
    if isinstance(actions[0], Finish):
        _finish(rollout, holder, Rollout.State(actions[0].state.value), now=clock())
    return pause_s


def _note_halting(rollout: Rollout, view: RolloutView, holder: str) -> None:
    if rollout.is_halting or rollout.state not in Rollout.ACTIVE or not rollout_plan.is_halting(view):
        return
    reason = _halting_because(view)
    with transaction.atomic():
        rollout_rows.change_rollout(rollout, holder, is_halting=True, halt_reason=reason)
        rollout_rows.log(rollout, f"Halted; {_what_goes_back(_with_files(rollout))}.", is_problem=True)
        rollout_rows.announce(rollout)


def _halting_because(view: RolloutView) -> str:
    silent = rollout_plan.fallen_silent(view)
    failed = next((step for step in view.steps if step.state == "failed"), None)
    if failed is not None:
        return rollout_rows.named_reason(failed.instance_name, failed.error)
    reason = rollout_rows.named_reason(silent[0].instance_name, silent[0].error)
    return (
        f"{reason} It fell silent after it was given the new file, which not enough others have verified: the file may "
        "be why, so no other gets it."
    )


def _what_goes_back(steps: Sequence[RolloutStep]) -> str:
    touched = [step for step in steps if step.is_touched]
    changed = [step.instance_name for step in touched if not step.file.is_as_before]
    same = [step.instance_name for step in touched if step.file.is_as_before]
    parts = [f"{', '.join(changed)} {'gets' if len(changed) == 1 else 'get'} the old file back"] if changed else []
    if same:
        parts.append(f"on {', '.join(same)} there is nothing to take back: the file was already so")
    return "; ".join(parts) or "nothing was touched"


def _with_files(rollout: Rollout) -> list[RolloutStep]:
    """The texts are encrypted: they are not read where only the hashes are compared."""
    kept_back = ("file__text", "file__base_text")
    return list(rollout.steps.select_related("file").defer(*kept_back).order_by("position"))


def _finish(rollout: Rollout, holder: str, state: Rollout.State, *, now: datetime) -> None:
    steps = _with_files(rollout)
    text = _ENDINGS[state].format(number=rollout.revision.number, names=_outcome(rollout, steps))
    if state == Rollout.State.VERIFIED and rollout.settles is not None:
        text = f"{steps[0].instance_name} returned and was given {rollout.settles.step.rollout.revision}"
    if state == Rollout.State.ROLLED_BACK and all(step.file.is_as_before for step in steps if step.is_touched):
        text = f"rollout of revision {rollout.revision.number} stopped; there was nothing to take back"
    is_left = state == Rollout.State.CANCELLED and not any(step.written_at for step in steps)
    if state in _NOT_DONE and not is_left and rollout.revision.origin == ConfigRevision.Origin.ADOPTED:
        text = _not_adopted(rollout.revision.number, steps)
    is_problem = state == Rollout.State.FAILED or (
        state == Rollout.State.ROLLED_BACK and not rollout.is_cancel_requested
    )
    # A rollback does not halt, so its reasons stand with its steps only.
    kept_from = {RolloutStep.State.FAILED, RolloutStep.State.OWED}
    failures = [rollout_rows.named_reason(step.instance_name, step.error) for step in steps if step.state in kept_from]
    reason = rollout.halt_reason or "\n".join(failures)
    if state == Rollout.State.VERIFIED and rollout.is_cancel_requested:
        text, reason = f"{text}; the request to cancel came too late", ""
    was_active = rollout.state in Rollout.ACTIVE
    with transaction.atomic():
        rollout_rows.change_rollout(rollout, holder, state=state, finished_at=now, halt_reason=reason)
        rollout.steps.filter(state__in=_BEGUN, is_touched=False).update(state=RolloutStep.State.SKIPPED)
        debts.note_end(rollout=rollout, state=state, was_active=was_active, now=now)
        rollout_rows.log(rollout, f"{text[0].upper()}{text[1:]}.", is_problem=is_problem)
        rollout_rows.add_event(rollout, text, at=now, detail=reason, is_problem=is_problem)
        rollout_rows.announce(rollout)


def _not_adopted(number: int, steps: Sequence[RolloutStep]) -> str:
    """What stands where an adoption did not succeed."""
    left = [step for step in steps if step.state != RolloutStep.State.VERIFIED]
    # The edit was gone when it was to be adopted, so that the whole file was written.
    anew = [step.instance_name for step in left if step.is_touched]
    added = [step.instance_name for step in left if not step.is_touched and step.written_at is not None]
    parts = [f"revision {number} was not adopted on {', '.join(step.instance_name for step in left)}"]
    if len(anew) < len(left):
        parts.append("what was edited there is left as it is")
    if added:
        parts.append(f"the defaults of removed lines were written out on {', '.join(added)}")
    if anew:
        parts.append(f"the edit was gone from {', '.join(anew)}, where the file was written")
    return "; ".join(parts)


def _outcome(rollout: Rollout, steps: Sequence[RolloutStep]) -> str:
    """on pgpool-1, pgpool-2; pgpool-3 owes it"""
    done = [step.instance_name for step in steps if step.state == RolloutStep.State.VERIFIED]
    owing = [step.instance_name for step in steps if step.state == RolloutStep.State.OWED]
    owes = f"; {', '.join(owing)} {'owes' if len(owing) == 1 else 'owe'} it" if owing else ""
    return f"{', '.join(done)}{owes}"


_NOT_DONE = {Rollout.State.FAILED, Rollout.State.CANCELLED}
# One whose file is adopted is begun, and not touched.
_BEGUN = (RolloutStep.State.PENDING, RolloutStep.State.WRITTEN, RolloutStep.State.RELOADED)
_ENDINGS: Mapping[Rollout.State, str] = {
    Rollout.State.VERIFIED: "revision {number} verified on {names}",
    Rollout.State.ROLLED_BACK: "revision {number} was taken back; every touched pgpool uses its old file again",
    Rollout.State.FAILED: "rollout of revision {number} failed",
    Rollout.State.CANCELLED: "rollout of revision {number} cancelled; nothing was touched",
}


def cancel(*, caller: Caller, rollout: Rollout, now: datetime) -> Rollout:
    """Stop a rollout; instances that were touched get their old file back. Raises NotRunning."""
    reason = f"cancelled by {caller.user.shown_name}"
    with transaction.atomic():
        current = (
            Rollout.objects.select_for_update(of=("self",)).select_related("cluster").filter(pk=rollout.pk).first()
        )
        if current is None:
            raise Http404(f"Rollout {rollout.pk} was removed with its cluster.")
        if current.state not in Rollout.ACTIVE:
            raise NotRunning(current)
        if current.is_cancel_requested:
            return current
        current.is_cancel_requested = True
        current.halt_reason = current.halt_reason or reason
        current.save(update_fields=["is_cancel_requested", "halt_reason"])
        audit.record(
            caller=caller,
            action="rollout.cancel_requested",
            target_type="rollout",
            target_id=current.pk,
            target_name=str(current.cluster),
        )
        # Whoever waits for somebody else need not wait for its next look.
        current.steps.exclude(waiting_for="").update(retry_at=None)
        rollout_rows.log(current, f"Cancel requested by {caller.user.shown_name}.")
        rollout_rows.add_event(current, f"rollout of {current.revision} {reason}", at=now)
        rollout_rows.announce(current)
        transaction.on_commit(lambda: rollout_rows.nudge(current.pk), robust=True)
    return current


def request_rollback(*, caller: Caller, rollout: Rollout, plan: object = None, now: datetime) -> Rollout:
    """A new rollout that puts the files back which stood there before this one.

    plan: what of plan_back is to be otherwise, as rollout_waves.parse_plan takes it.
    Raises PlanError, RollbackRefused (it changed nothing, a file was changed since, or a pgpool that owes would be left
    out) or rollout_rows.RolloutRunning.
    """
    cluster = rollout.cluster
    with rollout_rows.one_at_a_time(cluster), transaction.atomic():
        rollout_rows.hold(cluster)
        standing = _standing(rollout)
        _refuse_nothing(rollout, standing)
        _refuse_leaving_out(rollout)
        parsed = _plan_back(rollout, plan, [step.instance_name for step in standing])
        revision = revisions.store(
            cluster=cluster,
            origin=ConfigRevision.Origin.ROLLBACK,
            note=f"back to the files before rollout {rollout.pk}",
            author=caller.user,
            files=_files_before(rollout, standing, parsed),
        )
        return rollout_rows.create(
            caller=caller,
            cluster=cluster,
            revision=revision,
            weights_before=rollout.revision.weights,
            rollback_of=rollout,
            plan=parsed,
            now=now,
        )


def _standing(rollout: Rollout) -> list[RolloutStep]:
    """Those that owe it, and have nothing of it, have nothing to take back."""
    steps = rollout.steps.select_related("file", "instance", "debt", "rollout__revision").order_by("position")
    return [step for step in steps if debts.is_taken_back(step)]


def names_back(rollout: Rollout) -> list[str]:
    """The pgpools that rolling this one back takes."""
    steps = rollout.steps.select_related("debt", "rollout__revision").order_by("instance_name")
    return [step.instance_name for step in steps if debts.is_taken_back(step)]


def plan_back(rollout: Rollout) -> Plan:
    """How this one is rolled back unless told: a frozen pgpool keeps no other from its way back."""
    plan = Plan(strategy=Strategy.ALL_AT_ONCE)
    return replace(plan, absent=Absent.OWE) if stored_plan(rollout.plan).lets_owe else plan


def _plan_back(rollout: Rollout, plan: object, names: Sequence[str]) -> Plan:
    usual = plan_back(rollout)
    if plan is None:
        return usual
    unless_told = {"strategy": usual.strategy.value, "absent": usual.absent.value}
    return parse_plan({**unless_told, **plan} if isinstance(plan, Mapping) else plan, names)


def _refuse_nothing(rollout: Rollout, steps: Sequence[RolloutStep]) -> None:
    if rollout.state not in {Rollout.State.VERIFIED, Rollout.State.FAILED} or not any(s.is_touched for s in steps):
        raise RollbackRefused(
            f"Rollout {rollout.pk} is {rollout.get_state_display()}: nothing of it stands on a pgpool any more."
        )
    gone = [step.instance_name for step in steps if step.instance is None]
    if gone:
        raise RollbackRefused(f"{', '.join(gone)} is no longer registered, so its old file cannot be put back.")


def _refuse_leaving_out(rollout: Rollout) -> None:
    if rollout.rollback_of is None or not (found := debts_taken_back.left_out(rollout)):
        return
    owing = ", ".join(f"{debt.instance.name} ({debt.step.rollout.revision})" for debt in found)
    number = rollout.rollback_of.revision.number
    raise RollbackRefused(
        f"Rollout {rollout.pk} changed what is owed by {owing}, which rolling it back would leave out. "
        f"Go back to revision {number} instead: that takes every pgpool."
    )


def _files_before(rollout: Rollout, steps: Sequence[RolloutStep], plan: Plan) -> list[NewFile]:
    files = {step.instance_id: step.file for step in steps}
    instances = [each for each in revisions.writable_instances(rollout.cluster) if each.pk in files]
    found = []
    for live in live_configs.read(rollout.cluster, instances, plan):
        file = files[live.instance.pk]
        ours = {file.sha256}
        if rollout.state != Rollout.State.VERIFIED:
            ours |= {file.base_sha256, revisions.sha256_of(whole_files.way_back(file))}
        if live.file.sha256 not in ours:
            raise RollbackRefused(
                f"The pgpool.conf of {live.instance.name} is not the one that rollout {rollout.pk} wrote: it was "
                "changed since. Change the weights instead; that starts from the file as it is."
            )
        if not pgpool_conf.is_readable(file.base_text):
            raise RollbackRefused(
                f"The pgpool.conf that stood on {live.instance.name} before rollout {rollout.pk} cannot be read, or "
                "includes another file, so it is not put back."
            )
        found.append(NewFile(instance=live.instance, text=file.base_text, base=live.file))
    return found
