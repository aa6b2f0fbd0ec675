"""Rollouts that cannot be taken back any more because the files of newer ones stand on their pgpools."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Max, OuterRef, Q, Subquery

from apps.clusters.models import ConfigRevision, Rollout, RolloutStep

_State = Rollout.State


@dataclass(frozen=True)
class Newer:
    """The newest rollout that put other files on some of the pgpools."""

    rollout_id: int
    names: tuple[str, ...]


def latest_touching(cluster_ids: Collection[int]) -> dict[int, int]:
    """Cluster id -> the latest rollout that wrote to one of its pgpools; what one gives late is no newer wish."""
    steps = RolloutStep.objects.filter(rollout__cluster__in=cluster_ids, is_touched=True).exclude(
        rollout__revision__origin=ConfigRevision.Origin.OWED
    )
    return dict(steps.values_list("rollout__cluster").annotate(latest=Max("rollout")).order_by())


def newer_rollouts(rollouts: Collection[Rollout]) -> dict[int, Newer]:
    """Of each rollout the newer one that stands in its place; none where the same files stand there again."""
    later = RolloutStep.objects.filter(
        instance_id=OuterRef("instance_id"), rollout_id__gt=OuterRef("rollout_id"), is_touched=True
    )
    went_back = Q(state=RolloutStep.State.RESTORED) | Q(state=RolloutStep.State.OWED, receipt__has_key="restore")
    standing = later.exclude(went_back).order_by("-rollout_id")
    steps = RolloutStep.objects.filter(
        rollout__in=[rollout.pk for rollout in rollouts], rollout__state__in=[_State.VERIFIED, _State.FAILED]
    ).annotate(
        newer_id=Subquery(standing.values("rollout_id")[:1]), newer_sha256=Subquery(standing.values("file__sha256")[:1])
    )
    facts = ("rollout__state", "newer_id", "newer_sha256", "file__sha256", "file__base_sha256")
    found: dict[int, Newer] = {}
    for rollout_id, name, state, newer_id, newer_sha256, sha256, base_sha256 in (
        steps.filter(newer_id__isnull=False).order_by("position").values_list("rollout_id", "instance_name", *facts)
    ):
        # A failed rollout may have left the old file where it was.
        if newer_sha256 in ({sha256} if state == _State.VERIFIED else {sha256, base_sha256}):
            continue
        before = found.get(rollout_id, Newer(newer_id, ()))
        found[rollout_id] = Newer(max(before.rollout_id, newer_id), (*before.names, name))
    return found
