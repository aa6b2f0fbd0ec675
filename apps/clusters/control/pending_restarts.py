"""What waits for a restart of a pgpool, as its latest read-back told."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apps.clusters.domain.verification import TruthState
from apps.clusters.models import PendingRestart, RolloutStep


def note(step: RolloutStep, parameters: Sequence[Mapping[str, Any]], *, now: datetime) -> None:
    """Keep what waits now, let go what was read back as used. parameters: as the receipt of a read-back has them.

    What waited before with another value keeps its "since": the restart has been owed since then.
    """
    if step.instance is None:
        return
    waiting = [one for one in parameters if one["state"] == TruthState.PENDING_RESTART]
    used = {one["name"] for one in parameters} - {one["name"] for one in waiting}
    PendingRestart.objects.filter(instance=step.instance, name__in=used).delete()
    PendingRestart.objects.bulk_create(
        (
            PendingRestart(
                instance=step.instance,
                name=one["name"],
                wanted=one["wanted"],
                running=one["seen"][0] or "",
                since=now,
                rollout_id=step.rollout_id,
            )
            for one in waiting
        ),
        update_conflicts=True,
        unique_fields=["instance", "name"],
        update_fields=["wanted", "running", "rollout"],
    )
