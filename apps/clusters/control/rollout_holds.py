"""The hold before the next pgpools, or the end, of a rollout: begun, watched, ended; and pausing by hand."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.http import Http404

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.clusters.control import rollout_guards, rollout_rows
from apps.clusters.domain import guards
from apps.clusters.domain.guards import Finding, Outcome
from apps.clusters.domain.rollout_plan import Hold
from apps.clusters.domain.rollout_waves import stored_plan
from apps.clusters.models import Rollout, RolloutStep

# How often the guards look, and how often at most during one hold.
SHORTEST_LOOK_S = 5.0
MOST_LOOKS = 60


class PauseRefused(Exception):
    """This rollout cannot be paused, or resumed, as it stands."""


def hold(rollout: Rollout, *, due: Hold, holder: str, now: datetime) -> float:
    """Look after the hold that is due. Returns the seconds until the next look. Raises LeaseLost."""
    if rollout.hold_started_at is None or rollout.hold_ends_at is None:
        return _begin(rollout, due, holder, now)
    left_s = (rollout.hold_ends_at - now).total_seconds()
    looked_at = rollout.hold_looked_at or rollout.hold_started_at
    next_s = _every_s(rollout) - (now - looked_at).total_seconds()
    if left_s > 0 and next_s > 0:
        return min(left_s, next_s)
    found = rollout_guards.look(rollout, before=rollout.hold_began_with, since=rollout.hold_started_at, now=now)
    outcome = guards.overall(found)
    with transaction.atomic():
        if found:
            is_bad = outcome is Outcome.BAD
            rollout_rows.log(rollout, f"Guards: {rollout_guards.words(found)}.", is_problem=is_bad)
        if outcome is Outcome.BAD:
            _stop(rollout, found, due, holder, now)
        elif left_s > 0:
            rollout_rows.change_rollout(rollout, holder, hold_looked_at=now)
        else:
            _end(rollout, found, due, holder, now)
        rollout_rows.announce(rollout)
    return max(0.0, min(left_s, _every_s(rollout))) if outcome is not Outcome.BAD else 0.0


def _every_s(rollout: Rollout) -> float:
    """A long hold need not fill the log."""
    return max(SHORTEST_LOOK_S, stored_plan(rollout.plan).hold_s / MOST_LOOKS)


def _begin(rollout: Rollout, due: Hold, holder: str, now: datetime) -> float:
    hold_s = stored_plan(rollout.plan).hold_s
    done = rollout.steps.filter(state=RolloutStep.State.VERIFIED).order_by("position")
    names = ", ".join(done.values_list("instance_name", flat=True))
    seen = rollout_guards.as_json(rollout_guards.seen(rollout, now=now))
    ends_at = now + timedelta(seconds=hold_s)
    with transaction.atomic():
        rollout_rows.change_rollout(
            rollout, holder, hold_started_at=now, hold_ends_at=ends_at, hold_looked_at=now, hold_began_with=seen
        )
        until = "it counts as verified" if due.is_last else "the next ones follow"
        rollout_rows.log(rollout, f"Watching for {hold_s} s with {names} on the new file before {until}.")
        rollout_rows.announce(rollout)
    return min(float(hold_s), _every_s(rollout))


def _stop(rollout: Rollout, found: Sequence[Finding], due: Hold, holder: str, now: datetime) -> None:
    """Halt. A way back or an adoption pauses: what it leaves is not put back because of what is seen meanwhile."""
    reason = "; ".join(guards.told(one) for one in found if one.outcome is Outcome.BAD)
    if rollout_rows.goes_past_failures(rollout):
        _pause(rollout, f"What was seen since is bad by {reason}.", due, holder, now, is_problem=True)
        return
    rollout_rows.change_rollout(
        rollout, holder, is_halting=True, halt_reason=f"Bad by {reason}.", hold_started_at=None, hold_ends_at=None
    )
    rollout_rows.log(rollout, f"Halted, the old files are put back. Bad by {reason}.", is_problem=True)


def _end(rollout: Rollout, found: Sequence[Finding], due: Hold, holder: str, now: datetime) -> None:
    """The next wave, or the end, may follow; where the guards could not say, somebody has to say so."""
    unsure = "; ".join(one.text for one in found if one.outcome is Outcome.INCONCLUSIVE)
    if not unsure:
        rollout_rows.change_rollout(rollout, holder, **_over(due))
        follows = "all pgpools are on the new file" if due.is_last else "the next pgpools follow"
        rollout_rows.log(rollout, f"The hold is over; {follows}.")
        return
    _pause(rollout, f"Too little was seen to say that it is good: {unsure}.", due, holder, now)


def _over(due: Hold) -> dict[str, Any]:
    return {"waves_released": due.wave, "hold_started_at": None, "hold_ends_at": None}


def _pause(rollout: Rollout, reason: str, due: Hold, holder: str, now: datetime, *, is_problem: bool = False) -> None:
    """Until somebody resumes it: then the wave, or the end, follows."""
    paused = {"state": Rollout.State.PAUSED, "paused_at": now, "paused_by_name": "", "pause_reason": reason}
    rollout_rows.change_rollout(rollout, holder, **_over(due), **paused)
    rollout_rows.log(rollout, f"Paused by its guards. {reason}", is_problem=is_problem)
    title = f"rollout of {rollout.revision} paused by its guards"
    rollout_rows.add_event(rollout, title, at=now, detail=reason, is_problem=is_problem)


def pause(*, caller: Caller, rollout: Rollout, now: datetime) -> Rollout:
    """Begin nothing more, and let no other rollout begin, until it is resumed. Raises PauseRefused."""

    def change(current: Rollout) -> None:
        if current.state == Rollout.State.PAUSED:
            raise PauseRefused(f"Rollout {current.pk} is paused already.")
        if current.is_halting or current.is_cancel_requested:
            raise PauseRefused(f"Rollout {current.pk} is putting the old files back, which is not paused.")
        current.state, current.paused_at = Rollout.State.PAUSED, now
        current.paused_by_name, current.pause_reason = caller.user.shown_name, ""

    return _change(caller, rollout, now, change, action="rollout.paused", words="paused")


def resume(*, caller: Caller, rollout: Rollout, now: datetime) -> Rollout:
    """Go on where it was paused; a hold lasts longer by the pause. Raises PauseRefused."""

    def change(current: Rollout) -> None:
        if current.state != Rollout.State.PAUSED or current.paused_at is None:
            raise PauseRefused(f"Rollout {current.pk} is not paused: it is {current.get_state_display()}.")
        if current.hold_ends_at is not None:
            current.hold_ends_at += now - current.paused_at
        current.state = Rollout.State.PENDING if current.started_at is None else Rollout.State.RUNNING
        current.paused_at, current.paused_by_name, current.pause_reason = None, "", ""

    return _change(caller, rollout, now, change, action="rollout.resumed", words="resumed")


def _change(
    caller: Caller, rollout: Rollout, now: datetime, change: Callable[[Rollout], None], *, action: str, words: str
) -> Rollout:
    with transaction.atomic():
        current = (
            Rollout.objects.select_for_update(of=("self",)).select_related("cluster").filter(pk=rollout.pk).first()
        )
        if current is None:
            raise Http404(f"Rollout {rollout.pk} was removed with its cluster.")
        if current.state not in Rollout.ACTIVE:
            raise PauseRefused(f"Rollout {current.pk} has ended already: it is {current.get_state_display()}.")
        change(current)
        current.save(update_fields=["state", "paused_at", "paused_by_name", "pause_reason", "hold_ends_at"])
        audit.record(
            caller=caller, action=action, target_type="rollout", target_id=current.pk, target_name=str(current.cluster)
        )
        said = f"{words} by {caller.user.shown_name}"
        rollout_rows.log(current, f"{said[0].upper()}{said[1:]}.")
        rollout_rows.add_event(current, f"rollout of {current.revision} {said}", at=now)
        rollout_rows.announce(current)
        transaction.on_commit(lambda: rollout_rows.nudge(current.pk), robust=True)
    return current
