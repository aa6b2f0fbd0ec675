"""What a rollout just proved about weights: newer than what polling, which asks every ten seconds, has seen."""

from datetime import datetime, timedelta

from django.db.models import Exists, Max, OuterRef, Q

from apps.clusters.models import Cluster, ConfigRevision, NodeLatest, Rollout, RolloutStep

# By then polling has looked again, and knows better.
POLLING_LAG = timedelta(seconds=15)


def just_read_back(*, cluster: Cluster, now: datetime) -> dict[str, dict[int, float]]:
    """Instance name -> node_id -> share of new sessions, where a rollout read it back after polling saw it change."""
    seen = NodeLatest.objects.filter(instance__cluster=cluster).values_list("instance_id")
    since = dict(seen.annotate(latest=Max("weight_since")))
    lately = Q(verified_at__gt=now - POLLING_LAG) | Q(restored_at__gt=now - POLLING_LAG)
    steps = RolloutStep.objects.filter(lately, rollout__cluster=cluster, instance__isnull=False)
    found = {}
    for step in steps.select_related("instance").order_by("pk"):
        at, name = (step.restored_at, "restored_read_back") if step.restored_at else (step.verified_at, "read_back")
        if at is None or step.instance is None or step.instance.pk not in since or since[step.instance.pk] >= at:
            continue
        shown = step.receipt.get(name, {}).get("lb_weight", {})
        if shown and all(share is not None for share in shown.values()):
            found[step.instance.name] = {int(node_id): share for node_id, share in sorted(shown.items())}
    return found


def revision_in_force(*, cluster: Cluster) -> ConfigRevision | None:
    """The newest revision but for those that were taken back, or never written."""
    ended = [Rollout.State.CANCELLED, Rollout.State.ROLLED_BACK]
    revisions = ConfigRevision.objects.filter(cluster=cluster).exclude(rollouts__state__in=ended)
    # What one pgpool is given late is an earlier wish for all.
    revisions = revisions.exclude(origin=ConfigRevision.Origin.OWED)
    # An edit by hand that no pgpool took was not adopted.
    failed = Rollout.objects.filter(revision=OuterRef("pk"), state=Rollout.State.FAILED)
    not_adopted = Exists(failed.exclude(steps__state=RolloutStep.State.VERIFIED))
    revisions = revisions.exclude(not_adopted, origin=ConfigRevision.Origin.ADOPTED)
    return revisions.order_by("-number").first()
