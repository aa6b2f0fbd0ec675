"""How many entries a query cache had in a window of time."""

import datetime as dt

from django.db.models import Max

from apps.clusters.models import Cluster, InstanceSample


def most_entries(*, cluster: Cluster, start: dt.datetime, end: dt.datetime) -> dict[int, int]:
    """Key of a pgpool instance -> the most that any sample of it shows; those that told of none are left out."""
    instances = cluster.instances.values_list("pk", flat=True)
    samples = InstanceSample.objects.filter(instance_id__in=list(instances), at__gt=start, at__lte=end)
    counted = samples.exclude(cache_entry_count=None).order_by("instance_id").values("instance_id")
    return {one["instance_id"]: one["most"] for one in counted.annotate(most=Max("cache_entry_count"))}
