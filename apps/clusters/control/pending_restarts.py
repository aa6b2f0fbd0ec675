"""What waits for a restart of a pgpool, as its latest read-back told."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

from apps.clusters.domain.verification import TruthState
from apps.clusters.models import PendingRestart, PgpoolInstance, RolloutStep


def note(read: Sequence[tuple[RolloutStep, Sequence[Mapping[str, Any]]]], *, now: datetime) -> None:
    """Keep what waits now, let go what was read back as used. read: per step, the parameters as the receipt has them.

    What waited before with another value keeps its "since": the restart has been owed since then.
    """
    waiting, used = list[PendingRestart](), set[tuple[int, str]]()
    for step, parameters in read:
        if step.instance is None:
            continue
        found = [one for one in parameters if one["state"] == TruthState.PENDING_RESTART]
        waiting += [_pending(step, one, now) for one in found]
        names = {one["name"] for one in parameters} - {one["name"] for one in found}
        used |= {(step.instance.pk, name) for name in names}
    _forget(used)
    if waiting:
        PendingRestart.objects.bulk_create(
            waiting,
            update_conflicts=True,
            unique_fields=["instance", "name"],
            update_fields=["wanted", "running", "rollout"],
        )


def settle(instance: PgpoolInstance, parameters: Sequence[Mapping[str, Any]]) -> None:
    """After a restart: let go what is in use now. parameters: as the receipt of a read-back has them."""
    used = (one["name"] for one in parameters if one["state"] != TruthState.PENDING_RESTART)
    _forget({(instance.pk, name) for name in used})


def _pending(step: RolloutStep, one: Mapping[str, Any], now: datetime) -> PendingRestart:
    return PendingRestart(
        instance=step.instance,
        name=one["name"],
        wanted=one["wanted"],
        running=one["seen"][0] or "",
        since=now,
        rollout_id=step.rollout_id,
    )


def _forget(used: AbstractSet[tuple[int, str]]) -> None:
    """used: (id of the instance, name)."""
    if not used:
        return
    kept = PendingRestart.objects.filter(instance_id__in={instance_id for instance_id, _ in used})
    gone = [pk for pk, *key in kept.values_list("pk", "instance_id", "name") if tuple(key) in used]
    if gone:
        PendingRestart.objects.filter(pk__in=gone).delete()
