"""Keeps what every pgpool runs, as it showed it latest."""

from apps.clusters.models import InstanceConfig
from apps.clusters.polling.readings import Tick


def note_running(tick: Tick) -> None:
    """In the transaction of the tick that brought them."""
    InstanceConfig.objects.bulk_create(
        [
            InstanceConfig(instance_id=one.instance_id, running=dict(one.settings.running), running_at=tick.at)
            for one in tick.instances
            if one.settings is not None and one.settings.running
        ],
        update_conflicts=True,
        unique_fields=["instance"],
        update_fields=["running", "running_at"],
    )
