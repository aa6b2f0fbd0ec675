"""How a rollout is told to people."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apps.clusters.control import writes
from apps.clusters.control.convergence import GIVE_UP_AFTER, Finding
from apps.clusters.control.rollout_actions import AS_FOUND, WRITTEN_OUT
from apps.clusters.domain.rollout_plan import CheckBase, ConfirmRestored, Reload, Restore, StepAction, Verify, Write
from apps.clusters.domain.routing import RoutingState
from apps.clusters.domain.routing_words import listed
from apps.clusters.domain.verification import TruthState
from apps.clusters.models import ConfigRevision, Rollout, RolloutStep, WritesSwitch
from apps.clusters.queries.superseded import Newer

_State = Rollout.State


def sentence(
    rollout: Rollout, steps: Sequence[RolloutStep], stop: WritesSwitch | None = None, *, ended: str = ""
) -> str:
    """The headline: what this rollout has come to. stop: what keeps it from writing now; ended: as reads_ended."""
    verified = sum(step.state == RolloutStep.State.VERIFIED for step in steps)
    if rollout.state in Rollout.ACTIVE and stop is not None:
        return f"Waiting. {writes.words(stop)} {_after_the_stop(rollout)}"
    if rollout.state in Rollout.ACTIVE:
        return _under_way(rollout, steps, verified)
    if rollout.state == _State.VERIFIED:
        done, owing = _counted(verified), _owing(steps)
        if rollout.converged_at is not None:
            reads = _standing(rollout.convergence)
            return f"Verified on {done}{_with_waiting(steps)}, and the reads {reads}{owing}."
        return f"Verified on {done}{_with_waiting(steps)}{owing}. {ended or _READS_TO_COME}"
    if rollout.state == _State.ROLLED_BACK:
        if _is_all_as_before(steps):
            return "Halted. There was nothing to take back: the files were already so."
        return "Halted: every touched pgpool uses its old file again."
    if rollout.state == _State.CANCELLED:
        return "Cancelled" + _before(steps, "touched")
    return _failed(steps, verified)


def _failed(steps: Sequence[RolloutStep], verified: int) -> str:
    unsure = [step.instance_name for step in steps if step.is_touched and step.state not in _CERTAIN]
    if unsure:
        return f"Failed: what {listed(unsure)} {'use' if len(unsure) > 1 else 'uses'} is not confirmed."
    failed = [step.instance_name for step in steps if step.state == "failed"]
    if verified and not failed:
        return f"Cancelled after {verified} of {len(steps)} pgpools {'was' if verified == 1 else 'were'} verified."
    if verified:
        return f"Failed on {listed(failed)}."
    return "Failed" + _before(steps, "written")


def _before(steps: Sequence[RolloutStep], what: str) -> str:
    if any(step.written_at for step in steps if WRITTEN_OUT in step.receipt):
        return ". Nothing was written but the defaults of removed lines."
    return f" before anything was {what}."


def _after_the_stop(rollout: Rollout) -> str:
    """What it does when writes are allowed again."""
    if rollout.is_cancel_requested or rollout.is_halting:
        return "Touched pgpools get their old file back when they are allowed again."
    if rollout.state == _State.PAUSED:
        return "It is paused as well: resume it when they are allowed again."
    return "It goes on when they are allowed again."


def _owing(steps: Sequence[RolloutStep]) -> str:
    """Who was passed by; what became of their debts stands with their steps."""
    names = [step.instance_name for step in steps if step.state == RolloutStep.State.OWED]
    return f"; {listed(names)} could not be reached" if names else ""


def _with_waiting(steps: Sequence[RolloutStep]) -> str:
    """, with 2 values waiting for a restart"""
    names = {name for step in steps for name in _waiting(step.receipt)}
    return f", with {len(names)} value{'s' * (len(names) != 1)} waiting for a restart" if names else ""


def _waiting(receipt: Mapping[str, Any]) -> list[str]:
    parameters = (receipt.get("read_back") or {}).get("parameters", [])
    return [one["name"] for one in parameters if one["state"] == TruthState.PENDING_RESTART]


def pending_text(receipt: Mapping[str, Any]) -> str:
    """What was in the file but not in use when it was read back; empty if nothing was."""
    names = _waiting(receipt)
    return f"{listed(names)} {'wait' if len(names) > 1 else 'waits'} for a restart" if names else ""


_READS_TO_COME = "The reads follow as sessions turn over."


def reads_ended(rollout: Rollout, *, is_superseded: bool, now: datetime) -> str:
    """Why nobody waits for the reads of a verified rollout to follow; empty while somebody does, or they did."""
    if rollout.state != _State.VERIFIED or rollout.converged_at is not None or rollout.finished_at is None:
        return ""
    if not rollout.revision.moves_reads:
        return "This change does not move reads."
    is_late = now - rollout.finished_at > GIVE_UP_AFTER
    if not is_superseded and not is_late:
        return ""
    finding = rollout.convergence
    needed = _needed(finding) if finding is not None else ""
    until = "before the next change" if is_superseded else "within an hour"
    return f"The reads were not seen to follow {until}{needed}."


def _needed(finding: Finding) -> str:
    if reads := finding.get("missing_reads"):
        return f"; it needed about {reads:,} more reads"
    sessions = finding["missing_sessions"]
    return f"; it needed about {sessions:,} more sessions" if sessions else ""


def _standing(finding: Finding | None) -> str:
    """How near the reads came to the weights when they were judged to follow."""
    if finding is None or finding["state"] != RoutingState.WITHIN_NOISE:
        return "follow"
    room = _room(finding)
    allow = "" if room is None else f": {finding['evidence']} allow ±{room * 100:.0f} points"
    return f"are within noise of the weights{allow}"


_CERTAIN = {RolloutStep.State.VERIFIED, RolloutStep.State.RESTORED}


def way_back(rollout: Rollout, steps: Sequence[RolloutStep], *, has_active: bool, newer: Newer | None) -> str:
    """What cancelling or rolling back would do, or why there is nothing to do."""
    touched = [step.instance_name for step in steps if step.is_touched]
    if rollout.state in Rollout.ACTIVE:
        return _cancelling_adoption(steps) if _is_adoption(rollout) else _cancelling(rollout, steps, touched)
    if rollout.state in {_State.ROLLED_BACK, _State.CANCELLED} or not touched:
        return "Nothing of this rollout stands on a pgpool."
    gone = [step.instance_name for step in steps if step.instance_id is None]
    if gone:
        return f"{listed(gone)} is no longer registered, so its old file cannot be put back."
    if has_active:
        return "Another rollout of this cluster is running; wait for its end."
    if newer is not None:
        where = listed(list(newer.names))
        return f"A newer rollout, #{newer.rollout_id}, stands on {where}: only the newest can be rolled back."
    return f"Rolling back puts the files from before on {listed(touched)}, as a rollout of its own."


def _cancelling(rollout: Rollout, steps: Sequence[RolloutStep], touched: Sequence[str]) -> str:
    if _is_all_as_before(steps):
        return "There is nothing to take back: the files were already so."
    if rollout.is_cancel_requested or rollout.is_halting:
        return "The old files are being put back."
    if touched:
        others = "" if len(touched) == len(steps) else "; the others are left as they are"
        return f"Cancelling puts the old file of {listed(touched)} back{others}."
    return "Nothing is written yet: cancelling leaves every pgpool as it is."


def _cancelling_adoption(steps: Sequence[RolloutStep]) -> str:
    if written := _written_anew(steps):
        return f"Cancelling puts the old file of {listed(written)} back; elsewhere edits are left as they are."
    stays = " The default that is written for a removed line stays." if _is_written_out(steps) else ""
    return f"Cancelling leaves what was edited by hand as it is; where it is verified by then, it is adopted.{stays}"


def adoption_words(rollout: Rollout) -> dict[str, bool]:
    """is_adoption: edits by hand were adopted as they were found; is_written_out: but for lines that were removed."""
    steps = list(rollout.steps.all())
    is_adoption = _is_adoption(rollout) and not _written_anew(steps)
    return {"is_adoption": is_adoption, "is_written_out": is_adoption and _is_written_out(steps)}


def _written_anew(steps: Sequence[RolloutStep]) -> list[str]:
    """Where an adoption did not find the edit any more, and wrote the whole file."""
    return [step.instance_name for step in steps if step.is_touched and AS_FOUND not in step.receipt]


def _is_written_out(steps: Sequence[RolloutStep]) -> bool:
    return any(WRITTEN_OUT in step.receipt for step in steps)


def is_as_before(step: RolloutStep) -> bool:
    """Whether the file that was to be carried there is, byte for byte, the one that stood there."""
    after = step.receipt.get("sha256_after")
    return after is not None and after == step.receipt.get("base_sha256")


def _is_all_as_before(steps: Sequence[RolloutStep]) -> bool:
    touched = [step for step in steps if step.is_touched]
    return bool(touched) and all(map(is_as_before, touched))


_DOING: Mapping[type[StepAction], str] = {
    CheckBase: "comparing its file with the expected one",
    Write: "writing the new file",
    Reload: "asking it to reload",
    Verify: "reading back what it uses",
    Restore: "putting the old file back",
    ConfirmRestored: "asking whether it uses the old file",
}


def doing(step: RolloutStep, action: StepAction) -> str:
    """What a worker does to this pgpool, once more if it failed before."""
    tried = step.attempts > 1 and bool(step.error)
    return f"{_DOING[type(action)]}{', once more' if tried else ''}"


def read_back_text(receipt: Mapping[str, Any]) -> str:
    """The shares that were read back, as 0 / 25 / 75 %; empty before."""
    shares = (receipt.get("read_back") or {}).get("lb_weight") or {}
    known = [shares[node_id] for node_id in sorted(shares, key=int) if shares[node_id] is not None]
    if not known:
        return ""
    return " / ".join(f"{share * 100:.1f}".removesuffix(".0") for share in known) + " %"


def reads_text(finding: Finding | None) -> str:
    """What was observed, what the weights ask for, and how far chance may move it: 24.0 / 76.0 vs 25 / 75 %, ±19 pp."""
    if finding is None or not finding["reads"]:
        return "no reads yet"
    shown = [one for one in finding["nodes"] if one["effective_share"] > 0 or (one["observed_share"] or 0) > 0.01]
    observed = " / ".join(f"{(one['observed_share'] or 0) * 100:.1f}" for one in shown)
    wanted = " / ".join(f"{one['effective_share'] * 100:.0f}" for one in shown)
    room = _room(finding)
    return f"{observed} vs {wanted} %{'' if room is None else f', ±{room * 100:.0f} pp'}"


def _room(finding: Finding) -> float | None:
    """How far chance may move a share at most, 0..1."""
    rooms = [
        max(node["high"] - node["effective_share"], node["effective_share"] - node["low"])
        for node in finding["nodes"]
        if node["high"] is not None and node["low"] is not None
    ]
    return max(rooms, default=None)


def _under_way(rollout: Rollout, steps: Sequence[RolloutStep], verified: int) -> str:
    if rollout.is_cancel_requested or rollout.is_halting:
        return f"{'Cancelling' if rollout.is_cancel_requested else 'Halted'}: {_what_goes_back(rollout, steps)}."
    if rollout.state == _State.PENDING:
        return f"Waiting for a worker to carry revision {rollout.revision.number} to {_counted(len(steps))}."
    if rollout.state == _State.PAUSED:
        whom = f" by {rollout.paused_by_name}" if rollout.paused_by_name else ""
        why = f" {rollout.pause_reason}" if rollout.pause_reason else ""
        return f"Paused{whom}: {verified} of {_counted(len(steps))} verified.{why}"
    if rollout.hold_ends_at is not None:
        until = "it counts as verified" if is_last_hold(steps) else "the next follow"
        return f"Watching before {until}: {verified} of {_counted(len(steps))} verified."
    waiting = [step.instance_name for step in steps if step.waiting_for]
    waits = f"; {listed(waiting)} {'wait' if len(waiting) > 1 else 'waits'}" if waiting else ""
    return f"Rolling out: {verified} of {_counted(len(steps))} verified{waits}."


def is_last_hold(steps: Sequence[RolloutStep]) -> bool:
    """Of a rollout that has not ended: whether nothing but its end follows."""
    return {step.state for step in steps} <= {RolloutStep.State.VERIFIED, RolloutStep.State.OWED}


def _what_goes_back(rollout: Rollout, steps: Sequence[RolloutStep]) -> str:
    if _is_adoption(rollout) and not _written_anew(steps):
        return "what was edited by hand is left as it is"
    return "the files were already so" if _is_all_as_before(steps) else "touched pgpools get their old file back"


def _is_adoption(rollout: Rollout) -> bool:
    return rollout.revision.origin == ConfigRevision.Origin.ADOPTED


def _counted(pgpools: int) -> str:
    return f"{pgpools} pgpool{'' if pgpools == 1 else 's'}"
