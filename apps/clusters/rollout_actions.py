"""What a rollout does to one pgpool: look at its file, write it, reload, read the values back, put the old file back.

Every action may be done again after a worker died in the middle of it: it looks at what stands there first.
held_until: of time.monotonic(), when the lease of this worker ends. One that stood still and wakes up later must not
write any more: another has carried the rollout on, and whoever looks at the file alone could take it for untouched.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from typing import Any

from apps.clusters import read_back, revisions
from apps.clusters.delivery import (
    Delivery,
    DryRunRejected,
    FileChanged,
    FileUnreadable,
    PathRefused,
    ReloadFailed,
    ReloadReceipt,
    UnknownDelivery,
    WriteFailed,
    WritesForbidden,
)
from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.instance_numbering import differences
from apps.clusters.domain.show_rows import ShowRowError
from apps.clusters.domain.verification import TruthState, shares_are_live, verify
from apps.clusters.models import PgpoolInstance, RolloutStep
from apps.clusters.pcp import PcpAddress
from apps.clusters.pgpool_client import PgpoolAddress, PgpoolUnreachable
from apps.clusters.read_back import ReadBack
from apps.clusters.revisions import Weights

RELOAD_DEADLINE_S = 1.5
# An old file is put back although a pgpool may be frozen: nobody waits long for it.
RESTORE_RELOAD_DEADLINE_S = 1.0
READ_BACK_PATIENCE_S = 1.5
READ_BACK = "read_back"
# No action takes longer, whatever is frozen; confirming an old file reloads and reads back, and takes longest.
LONGEST_ACTION_S = 10.0


class ActionFailed(Exception):
    """An action on one pgpool did not succeed. is_final: trying again would end the same; is_silence: no answer."""

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
    found = _read(_delivery(step))
    if found not in {step.file.base_sha256, step.file.sha256}:
        raise ActionFailed(_base_changed(step), is_final=True)
    _refuse_nonsense(step.file.text)
    try:
        dry_run = _delivery(step).dry_run(step.file.text)
    except DryRunRejected as error:
        raise ActionFailed(str(error), is_final=True) from error
    facts = {"base_sha256": step.file.base_sha256, "dry_run": dry_run.note}
    return Done(f"The live file is the expected one; {dry_run.note}.", facts)


def write(step: RolloutStep, held_until: float) -> Done:
    """Put the new file in the place of the base."""
    file, tag = step.file, f"{step.rollout_id}"
    return _put(step, held_until, old=file.base_sha256, text=file.text, new=file.sha256, tag=tag)


def reload(step: RolloutStep, held_until: float) -> Done:
    receipt = _reload(step, deadline_s=RELOAD_DEADLINE_S)
    return Done(f"Reload sent: {receipt.note}.", {"reload": {"channel": receipt.channel, "note": receipt.note}})


def verify_new(step: RolloutStep, held_until: float) -> Done:
    """Read the new weights back on several new sessions."""
    return _verify(step, step.file.text, name=READ_BACK)


def restore(step: RolloutStep, held_until: float) -> Done:
    """Put the old file back where the new one stands, and ask for a reload; done also if nobody answers that."""
    file, tag = step.file, f"{step.rollout_id}-undone"
    put = _put(step, held_until, old=file.sha256, text=file.base_text, new=file.base_sha256, tag=tag)
    note = _asked_to_reload(step)
    what = "There is nothing to take back: the file was already so" if file.is_as_before else "The old file is back"
    return Done(f"{what}. {note}.", {"restore": {**put.receipt, "reload": note}})


def confirm_restored(step: RolloutStep, held_until: float) -> Done:
    """Read the old weights back on several new sessions."""
    if step.attempts > 1:  # the first try comes right after the reload of restoring
        _asked_to_reload(step)
    return _verify(step, step.file.base_text, name="restored_read_back")


def _asked_to_reload(step: RolloutStep) -> str:
    try:
        return f"Reload sent: {_reload(step, deadline_s=RESTORE_RELOAD_DEADLINE_S).note}"
    except ActionFailed as error:
        return f"Nobody answered the reload: {error.reason.rstrip('.')}"


def _instance(step: RolloutStep) -> PgpoolInstance:
    if step.instance is None:
        raise ActionFailed(f"{step.instance_name} is no longer registered", is_final=True)
    return step.instance


def _delivery(step: RolloutStep) -> Delivery:
    try:
        return revisions.delivery_of(_instance(step))
    except (PathRefused, UnknownDelivery) as error:
        raise ActionFailed(str(error), is_final=True) from error


def _read(delivery: Delivery) -> str:
    """The hash of the live file."""
    try:
        return delivery.read().sha256
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
    """pgpool takes a weight that is text for 0 and all weights 0 for node 0, without a word."""
    conf = pgpool_conf.parse(text)
    total = 0.0
    for node_id in conf.backend_node_ids():
        value = revisions.weight_text(conf, node_id)
        try:
            weight = float(value)
        except ValueError:
            weight = math.nan
        if not 0 <= weight < math.inf:
            raise ActionFailed(f"backend_weight{node_id} = {value!r} is no weight", is_final=True)
        total += weight
    if total <= 0:
        raise ActionFailed("all weights are 0: pgpool would send every read to node 0", is_final=True)


def _put(step: RolloutStep, held_until: float, *, old: str, text: str, new: str, tag: str) -> Done:
    delivery = _delivery(step)
    found = _read(delivery)
    facts: dict[str, Any] = {"sha256_before": found, "sha256_after": new}
    if found == new:
        return Done("The file stands there already.", facts)
    if found != old:
        raise ActionFailed(_base_changed(step), is_final=True)
    try:
        backup = delivery.write(text, expected_sha256=old, rollout_tag=tag, not_after=held_until)
    except FileChanged as error:
        raise ActionFailed(_base_changed(step), is_final=True) from error
    except (FileUnreadable, WriteFailed) as error:
        raise ActionFailed(str(error), is_final=False) from error
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


def _address(instance: PgpoolInstance) -> PgpoolAddress:
    cluster = instance.cluster
    return PgpoolAddress(instance.host, instance.port, cluster.username, cluster.password, sslmode=cluster.sslmode)


def _verify(step: RolloutStep, text: str, *, name: str) -> Done:
    """Compare what pgpool shows with what the file says, the raw weights and the shares made from them."""
    instance = _instance(step)
    weights = revisions.weights_of(pgpool_conf.parse(text))
    reading = _ask(instance, weights)
    receipt = {name: _receipt(reading)}
    if name == READ_BACK:
        _refuse_other_numbers(instance, reading, receipt)
    if _is_live(weights, reading):
        seen = ", ".join(f"{node_id}: {share:.3f}" for node_id, share in reading.shares.items() if share is not None)
        return Done(f"Read back on {len(reading.sessions)} new sessions: lb_weight {seen}.", receipt)
    raise ActionFailed(_deviation(instance, weights, reading), is_final=False, receipt=receipt)


def _refuse_other_numbers(instance: PgpoolInstance, reading: ReadBack, receipt: dict[str, Any]) -> None:
    """Weights of the right numbers are no proof where the numbers are other servers."""
    backends = instance.cluster.backends.order_by("node_id")
    known = {backend.node_id: (backend.hostname, backend.port) for backend in backends}
    if reading.addresses and (different := differences(known, reading.addresses)):
        text = f"{instance.name} numbers the backends differently: {'; '.join(different)}."
        raise ActionFailed(text, is_final=True, receipt=receipt)


def _ask(instance: PgpoolInstance, weights: Weights) -> ReadBack:
    try:
        return asyncio.run(
            read_back.read_back_until(
                _address(instance),
                weights,
                is_wanted=lambda reading: _is_live(weights, reading),
                patience_s=READ_BACK_PATIENCE_S,
            )
        )
    except PgpoolUnreachable as error:
        reason = f"{error.reason}. {error.fix}".strip()
        raise ActionFailed(reason, is_final=False, is_silence=error.is_silence) from error
    except ShowRowError as error:
        raise ActionFailed(f"{instance.name} shows its backends in an unknown way: {error}", is_final=False) from error


def _is_live(weights: Weights, reading: ReadBack) -> bool:
    truths = verify(_as_shown(weights), reading.sessions)
    return all(truth.is_live for truth in truths) and _shares_are_live(weights, reading)


def _shares_are_live(weights: Weights, reading: ReadBack) -> bool:
    if not any(weights.values()):
        # Only an old file can be so, and pgpool prints -nan for the shares then.
        return all(share is None for share in reading.shares.values())
    return shares_are_live(weights, {node_id: reading.shares.get(node_id) for node_id in weights})


def _as_shown(weights: Weights) -> dict[str, str]:
    return {f"backend_weight{node_id}": f"{weight:.9g}" for node_id, weight in weights.items()}


def _deviation(instance: PgpoolInstance, weights: Weights, reading: ReadBack) -> str:
    truths = [truth for truth in verify(_as_shown(weights), reading.sessions) if not truth.is_live]
    if truths:
        seen = "; ".join(f"{one.name} is {' or '.join(one.seen) or 'unknown'}, not {one.wanted}" for one in truths)
        is_mixed = any(truth.state is TruthState.MIXED for truth in truths)
        what = "its children do not agree" if is_mixed else "it keeps other values"
        return f"{instance.name} does not use the file that it was given, {what}: {seen}."
    shown = ", ".join(f"{node_id}: {share}" for node_id, share in sorted(reading.shares.items()))
    return f"{instance.name} shows the new backend_weights, but balances by others (lb_weight {shown})."


def _receipt(reading: ReadBack) -> dict[str, Any]:
    names = list(reading.sessions[0]) if reading.sessions else []
    return {
        "sessions": len(reading.sessions),
        "weights": {name: sorted({session.get(name, "") for session in reading.sessions}) for name in names},
        "lb_weight": {str(node_id): share for node_id, share in reading.shares.items()},
        "source": reading.source,
    }
