"""Values that stand in a pgpool.conf and that its pgpool will only use once it is restarted."""

from django.db import models

from apps.clusters.models.registry import PgpoolInstance
from apps.clusters.models.rollout import Rollout


class PendingRestart(models.Model):
    """One parameter that waits for a restart of one pgpool. It goes when the pgpool shows the value of its file."""

    instance = models.ForeignKey(PgpoolInstance, on_delete=models.CASCADE, related_name="pending_restarts")
    name = models.CharField(max_length=100)
    wanted = models.TextField(help_text="as pgpool.conf says it")
    running = models.TextField(help_text="as PGPOOL SHOW printed it")
    since = models.DateTimeField(help_text="when the file and the running pgpool were first seen to differ")
    rollout = models.ForeignKey(Rollout, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["instance", "name"], name="pending_restart_unique")]

    def __str__(self) -> str:
        return f"{self.name} of {self.instance_id}"
