"""What a rollout does to one pgpool: look at its file, write it, reload, read the values back, put the old file back.

Every action may be done again after a worker died in the middle of it: it looks at what stands there first.
An action may run in a thread beside others and asks no database: what it reads is loaded with its step.
held_until: of time.monotonic(), when the lease of this worker ends. One that stood still and wakes up later must not
write any more: another has carried the rollout on, and whoever looks at the file alone could take it for untouched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.clusters.control import confirmation, deliveries, published, revisions, whole_files
from apps.clusters.control.confirmation import NotConfirmed
from apps.clusters.domain import pgpool_conf
from apps.clusters.models import ConfigRevision, PgpoolInstance, RolloutStep
from apps.clusters.outside.delivery import (
    Delivery,
    DryRunRejected,
    FileChanged,
    FileUnreadable,
    LiveFile,
    PathRefused,
    ReloadFailed,
    ReloadReceipt,
    UnknownDelivery,
    WriteFailed,
    WritesForbidden,
)
from apps.clusters.outside.pcp import PcpAddress

RELOAD_DEADLINE_S = 1.5
# An old file is put back although a pgpool may be frozen: nobody waits long for it.
RESTORE_RELOAD_DEADLINE_S = 1.0
READ_BACK_PATIENCE_S = 1.5
READ_BACK, RESTORED_READ_BACK = "read_back", "restored_read_back"
# In the receipt of a step whose file was edited by hand, and is adopted as it stands; and the hash of the one that was
# found, where lines are gone from it: a reload does not bring their defaults back, so those are written out.
AS_FOUND, WRITTEN_OUT = "as_found", "written_out"
# No action takes longer, whatever is frozen; confirming an old file reloads and reads back, and takes longest.
LONGEST_ACTION_S = 10.0


class ActionFailed(Exception):
    """An action on one pgpool did not succeed. is_final: trying again would end the same; is_silence: no answer.

    is_absent: nobody answers for the pgpool at all, and the plan lets it owe the revision.
    """

    is_absent = False

    def __init__(
        self, reason: str, *, is_final: bool, is_silence: bool = False, receipt: dict[str, Any] | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_final = is_final
        self.is_silence = is_silence
        self.receipt = receipt or {}


@dataclass(frozen=True)
class Done:
    """An action that succeeded: a line for the log, and what goes into the step's receipt."""

    text: str
    receipt: dict[str, Any] = field(default_factory=dict)


def check_base(step: RolloutStep, held_until: float) -> Done:
    """The live file must be the one that the revision was made from, and pgpool must be able to read the new one."""
    live = _read_file(_delivery(step))
    as_found = _as_found(step, live)
    if not as_found and live.sha256 not in {step.file.base_sha256, step.file.sha256}:
        raise ActionFailed(_base_changed(step), is_final=True)
    _refuse_nonsense(step.file.text)
    try:
        dry_run = _delivery(step).dry_run(step.file.text)
    except DryRunRejected as error:
        raise ActionFailed(str(error), is_final=True) from error
    facts: dict[str, Any] = {
        "base_sha256": step.file.base_sha256,
        "dry_run": dry_run.note,
        "delivery": _instance(step).get_delivery_kind_display(),
        **as_found,
    }
    return Done(f"The live file is the expected one; {dry_run.note}.", facts)


def _as_found(step: RolloutStep, live: LiveFile) -> dict[str, Any]:
    """What the receipt keeps of an edit that is adopted as it stands; nothing where the file is to be written."""
    is_adoption = step.rollout.revision.origin == ConfigRevision.Origin.ADOPTED
    if not is_adoption or live.sha256 == step.file.base_sha256:
        return {}
    if live.sha256 == step.file.sha256:
        return {AS_FOUND: True}
    is_edit = whole_files.is_edit_of(step.instance, live.text, adopted=step.file.text)
    return {AS_FOUND: True, WRITTEN_OUT: live.sha256} if is_edit else {}


def write(step: RolloutStep, held_until: float) -> Done:
    """Put the new file in the place of the base; one that is adopted stands there, and is left as it is, but for the
    defaults of lines that are gone.
    """
    file, tag = step.file, f"{step.rollout_id}"
    if WRITTEN_OUT in step.receipt:
        found = step.receipt[WRITTEN_OUT]
        return _put(step, held_until, old=found, text=file.text, new=file.sha256, tag=tag)
    if AS_FOUND in step.receipt:
        if _read(_delivery(step)) != file.sha256:
            raise ActionFailed(_base_changed(step), is_final=True)
        facts = {"sha256_before": file.sha256, "sha256_after": file.sha256}
        return Done("The file is left as it was found.", facts)
    return _put(step, held_until, old=file.base_sha256, text=file.text, new=file.sha256, tag=tag)


def reload(step: RolloutStep, held_until: float) -> Done:
    receipt = _reload(step, deadline_s=RELOAD_DEADLINE_S)
    return Done(_sent(receipt) + ".", {"reload": {"channel": receipt.channel, "note": receipt.note}})


def verify_new(step: RolloutStep, held_until: float) -> Done:
    """Read back on several new sessions what the new file changes. NotYet where others have to apply the file first."""
    try:
        return _verify(step, step.file.text, _asked(step), name=READ_BACK)
    except ActionFailed as error:
        if error.is_final or not published.is_published(step.instance):
            raise
        raise published.not_applied(step, str(error)) from error


def restore(step: RolloutStep, held_until: float) -> Done:
    """Put the old file back where the new one stands, and ask for a reload; done also if nobody answers that."""
    file, tag = step.file, f"{step.rollout_id}-undone"
    text = whole_files.way_back(file)
    put = _put(
        step, held_until, old=file.sha256, text=text, new=revisions.sha256_of(text), tag=tag, never=file.base_sha256
    )
    note = _asked_to_reload(step)
    what = "There is nothing to take back: the file was already so" if file.is_as_before else "The old file is back"
    return Done(f"{what}. {note}.", {"restore": {**put.receipt, "reload": note}})


def confirm_restored(step: RolloutStep, held_until: float) -> Done:
    """Read back on several new sessions that the old values are used."""
    if step.attempts > 1:  # the first try comes right after the reload of restoring
        _asked_to_reload(step)
    text = whole_files.way_back(step.file)
    try:
        pgpool_conf.parse(text)
    except (pgpool_conf.ConfigSyntaxError, pgpool_conf.IncludeUnsupported) as error:
        reason = f"the old file is back, but what it says cannot be read back: {error}"
        raise ActionFailed(reason, is_final=True) from error
    # What stands in both files was there before, by whoever's hand: taking this rollout back has no part in it.
    changed = pgpool_conf.changed_names(step.file.text, text)
    return _verify(step, text, [name for name in _asked(step) if name in changed], name=RESTORED_READ_BACK)


def read_parameters(receipt: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """What an action read back of each parameter; nothing if it read none."""
    found: Mapping[str, Any] = receipt.get(READ_BACK) or receipt.get(RESTORED_READ_BACK) or {}
    parameters: Sequence[Mapping[str, Any]] = found.get("parameters", [])
    return parameters


def _asked_to_reload(step: RolloutStep) -> str:
    try:
        return _sent(_reload(step, deadline_s=RESTORE_RELOAD_DEADLINE_S))
    except ActionFailed as error:
        return f"Nobody answered the reload: {error.reason.rstrip('.')}"


def _sent(receipt: ReloadReceipt) -> str:
    if receipt.channel == "by hand":
        return "No reload is sent: whoever applies the file reloads"
    return f"Reload sent: {receipt.note}"


def _instance(step: RolloutStep) -> PgpoolInstance:
    if step.instance is None:
        raise ActionFailed(f"{step.instance_name} is no longer registered", is_final=True)
    return step.instance


def _delivery(step: RolloutStep) -> Delivery:
    try:
        return deliveries.delivery_of(_instance(step))
    except (PathRefused, UnknownDelivery) as error:
        raise ActionFailed(str(error), is_final=True) from error


def _read(delivery: Delivery) -> str:
    """The hash of the live file."""
    return _read_file(delivery).sha256


def _read_file(delivery: Delivery) -> LiveFile:
    try:
        return delivery.read()
    except FileUnreadable as error:
        raise ActionFailed(str(error), is_final=False) from error
    except WritesForbidden as error:
        raise ActionFailed(str(error), is_final=True) from error


def _base_changed(step: RolloutStep) -> str:
    path = "" if step.instance is None else f" ({step.instance.delivery_path})"
    return (
        f"base_changed: the pgpool.conf of {step.instance_name}{path} is no longer the one that this change was made "
        "from. It was left as it is; look at it, and request the change again."
    )


def _refuse_nonsense(text: str) -> None:
    if fault := revisions.fault_of(text):
        raise ActionFailed(fault, is_final=True)


def _put(step: RolloutStep, held_until: float, *, old: str, text: str, new: str, tag: str, never: str = "") -> Done:
    """never: the hash of the file that stands there if the old one was never written."""
    delivery = _delivery(step)
    found = _read(delivery)
    facts: dict[str, Any] = {"sha256_before": found, "sha256_after": new}
    if found in {new, never}:
        return Done("The file stands there already.", {**facts, "sha256_after": found})
    if found != old:
        raise ActionFailed(_base_changed(step), is_final=True)
    try:
        backup = delivery.write(text, expected_sha256=old, rollout_tag=tag, not_after=held_until)
    except FileChanged as error:
        raise ActionFailed(_base_changed(step), is_final=True) from error
    except (FileUnreadable, WriteFailed) as error:
        raise ActionFailed(str(error), is_final=False) from error
    if backup is None:
        return Done(f"File published ({new[:12]}).", facts)
    text = f"File written ({new[:12]}), the one before is kept as {backup.name}."
    return Done(text, {**facts, "backup": str(backup)})


def _reload(step: RolloutStep, *, deadline_s: float) -> ReloadReceipt:
    """By PCP where it is known; a signal where that fails."""
    instance, delivery = _instance(step), _delivery(step)
    try:
        return delivery.reload(pcp=_pcp(instance), deadline_s=deadline_s)
    except ReloadFailed as error:
        refused = error
    try:
        if instance.pcp_port is not None:
            return delivery.reload(pcp=None, deadline_s=deadline_s)
    except (ReloadFailed, FileUnreadable):
        pass  # what PCP said is the better clue
    raise ActionFailed(f"{refused.reason}. {refused.fix}".strip(), is_final=False) from refused


def _pcp(instance: PgpoolInstance) -> PcpAddress | None:
    if instance.pcp_port is None:
        return None
    return PcpAddress(instance.host, instance.pcp_port, instance.pcp_username, instance.pcp_password)


def _asked(step: RolloutStep) -> Sequence[str]:
    asked: Sequence[str] = step.rollout.revision.parameters.get(step.instance_name, [])
    return asked


def _verify(step: RolloutStep, text: str, parameters: Sequence[str], *, name: str) -> Done:
    """Compare what pgpool uses with what the file says; whatever was read goes into the receipt."""
    try:
        found = confirmation.confirm(
            instance=_instance(step), text=text, parameters=parameters,
            patience_s=READ_BACK_PATIENCE_S, is_new=name == READ_BACK,
        )  # fmt: skip
    except NotConfirmed as error:
        receipt = {name: error.receipt} if error.receipt else {}
        raise ActionFailed(
            error.reason, is_final=error.is_final, is_silence=error.is_silence, receipt=receipt
        ) from error
    return Done(found.text, {name: found.receipt})
