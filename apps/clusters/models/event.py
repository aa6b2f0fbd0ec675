"""What happened to a cluster, for the charts' letters and for people who ask what changed."""

from django.db import models

from apps.clusters.models.registry import Cluster
from apps.clusters.models.rollout import Rollout


class ClusterEvent(models.Model):
    """One thing that happened, in words."""

    class Kind(models.TextChoices):
        REGISTERED = "registered", "registered"
        REGISTRY = "registry", "registration changed"
        INSTANCE = "instance", "pgpool instance"
        BACKEND = "backend", "backend"
        ROLE = "role", "role"
        WEIGHTS = "weights", "weights"
        RESTART = "restart", "restart"
        ROLLOUT = "rollout", "rollout"
        WRITES = "writes", "writes stopped or allowed"
        DRIFT = "drift", "changed by hand"
        WATCHDOG = "watchdog", "watchdog"
        MEMCACHED = "memcached", "memcached"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    kind = models.CharField(max_length=12, choices=Kind.choices)
    is_problem = models.BooleanField(default=False)
    title = models.CharField(max_length=200, help_text="as pg2 went down")
    detail = models.TextField(blank=True)
    instance_name = models.CharField(max_length=80, blank=True)
    node_id = models.PositiveSmallIntegerField(null=True, blank=True)
    rollout = models.ForeignKey(Rollout, on_delete=models.SET_NULL, null=True, blank=True, related_name="events")

    class Meta:
        # Lists are read newest first by key, which no clock can put in another order.
        indexes = [models.Index(fields=["cluster", "-id"], name="event_newest_first")]

    def __str__(self) -> str:
        return self.title
