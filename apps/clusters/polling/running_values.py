"""Keeps what every pgpool runs, as it showed it latest: to the poller, or to a rollout that read it back."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from django.db.models import Q

from apps.clusters.models import InstanceConfig, RolloutStep
from apps.clusters.polling.readings import Tick

# What pgpool showed longer ago is not held against its file: polling asks every 30 s.
RUNNING_IS_OLD = timedelta(seconds=90)


def note_running(tick: Tick) -> None:
    """In the transaction of the tick that brought them. What was read back later than asked here stays."""
    shown = {one.instance_id: one.settings for one in tick.instances if one.settings is not None}
    InstanceConfig.objects.bulk_create((InstanceConfig(instance_id=pk) for pk in shown), ignore_conflicts=True)
    # In this order whoever else holds several of these rows takes them, too.
    for pk, settings in sorted(shown.items(), key=itemgetter(0)):
        asked_at = settings.asked_at or tick.at
        is_older = Q(running_at=None) | Q(running_at__lt=asked_at)
        if settings.running:
            InstanceConfig.objects.filter(is_older, pk=pk).update(running=dict(settings.running), running_at=asked_at)


def note_read_back(read: Sequence[tuple[RolloutStep, Sequence[Mapping[str, Any]]]], *, now: datetime) -> None:
    """What a rollout read on every session is newer than what the poller knows, or is asking for just now.

    In the transaction that stores the steps. read: per step, the parameters as the receipt of a read-back has them.
    """
    found = {step.instance_id: values for step, parameters in read if (values := _agreed(parameters))}
    if not found:
        return
    # Only what was shown lately is made newer: one answer does not vouch for all the others.
    lately = InstanceConfig.objects.filter(pk__in=found, running_at__gte=now - RUNNING_IS_OLD).exclude(running={})
    configs = list(lately.only("running").select_for_update().order_by("pk"))
    for config in configs:
        config.running, config.running_at = config.running | found[config.pk], now
    InstanceConfig.objects.bulk_update(configs, ["running", "running_at"])


def _agreed(parameters: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What every session showed alike."""
    shown = {one["name"]: one["seen"][0] for one in parameters if len(set(one["seen"])) == 1}
    return {name: value for name, value in shown.items() if value is not None}
