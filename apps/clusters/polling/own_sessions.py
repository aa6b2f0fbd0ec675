"""Sessions that Lifeguard opens beside those that polling keeps, where it waits for long: told by the rows that wait.

pgpool counts them like those of clients. A rollout or a restart under way opens a few more, which are counted.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from apps.clusters.models import BackendOperation, BackendOperationStep, RestartStep, Rollout, RolloutStep
from apps.clusters.outside.read_back import SESSIONS


@dataclass(frozen=True)
class Opened:
    """The latest look of one that waits. at: another instant with every look; sessions: what each look opens."""

    at: datetime
    sessions: int


# What waits -> its latest look.
OpenedBy = Mapping[str, Opened]


def opened_apart(cluster_ids: Collection[int]) -> dict[int, dict[str, Opened]]:
    """Instance id -> who waits there."""
    found: dict[int, dict[str, Opened]] = {}
    for what, instance_id, opened in _looks(cluster_ids):
        found.setdefault(instance_id, {})[what] = opened
    return found


def _looks(cluster_ids: Collection[int]) -> Iterator[tuple[str, int, Opened]]:
    drains = BackendOperationStep.objects.filter(
        instance__cluster__in=cluster_ids, operation__state__in=BackendOperation.ACTIVE, sessions_reason=""
    )
    # Whoever applies a file by hand, or restarts a pgpool, may take a day.
    read_back = RolloutStep.objects.filter(
        instance__cluster__in=cluster_ids, rollout__state__in=Rollout.ACTIVE, state=RolloutStep.State.RELOADED
    ).exclude(waiting_for="")
    restarts = RestartStep.objects.filter(instance__cluster__in=cluster_ids, state=RestartStep.State.ORDERED)
    for what, sessions, looks in (
        ("drain", 1, drains.values_list("instance_id", "sessions_at")),
        ("rollout", SESSIONS, read_back.values_list("instance_id", "retry_at")),
        ("restart", 1, restarts.values_list("instance_id", "answered_at")),
    ):
        for instance_id, at in looks:
            # Not while it looks just now, nor before its first look.
            if at is not None:
                yield what, instance_id, Opened(at, sessions)
