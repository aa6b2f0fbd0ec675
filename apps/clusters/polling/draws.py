"""Measures once a minute how many draws of a backend stand behind the reads of each pgpool, for every verdict on it."""

import datetime as dt

from apps.clusters.history.blocks import measured_draws_per_read
from apps.clusters.models import InstanceLatest, NodeLatest

MEASURED_EVERY = dt.timedelta(seconds=60)


def measure_draws(cluster_id: int, *, now: dt.datetime) -> None:
    """What cannot be told anew stays: how unequal sessions are belongs to the application, not to the moment."""
    due = InstanceLatest.objects.filter(instance__cluster_id=cluster_id).exclude(draws_at__gt=now - MEASURED_EVERY)
    changed_at: dict[int, dt.datetime | None] = dict.fromkeys(due.values_list("instance_id", flat=True))
    for node in NodeLatest.objects.filter(instance_id__in=changed_at):
        change = node.changed_at
        changed_at[node.instance_id] = max(changed_at[node.instance_id] or change, change)
    measured = measured_draws_per_read(changed_at=changed_at, now=now)
    for instance_id in changed_at:
        values = {"draws_per_read": measured[instance_id]} if instance_id in measured else {}
        InstanceLatest.objects.filter(instance_id=instance_id).update(draws_at=now, **values)
