"""Rolling restarts of pgpools: one after the other, carried by any worker that holds the lease."""

from django.db import models
from django.db.models import Q

from apps.accounts.models import User
from apps.clusters.models.registry import Cluster, PgpoolInstance


class RollingRestart(models.Model):
    """Pgpools of one cluster restarted in turn; never beside a rollout or a backend operation of the cluster."""

    class State(models.TextChoices):
        RUNNING = "running", "under way"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="restarts")
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    note = models.CharField(max_length=500, blank=True, help_text="of the person who asked for it")
    risks = models.JSONField(default=list, blank=True, help_text="the sentences that were said before")
    is_cancel_requested = models.BooleanField(default=False, help_text="it ends once the pgpool under way is done")
    outcome = models.TextField(blank=True, help_text="what it waits for, or what came of it and what to do")
    requested_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    requested_by_name = models.CharField(max_length=254)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    next_look_at = models.DateTimeField(null=True, blank=True, help_text="nothing is due before")
    lease_holder = models.CharField(max_length=120, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True, help_text="by the database's clock")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"], condition=Q(state="running"), name="restart_one_running_per_cluster"
            ),
        ]

    def __str__(self) -> str:
        return f"restart {self.pk} {self.state}"


class RestartStep(models.Model):
    """One pgpool in a rolling restart, with the receipt of it."""

    class State(models.TextChoices):
        PENDING = "pending", "waiting for its turn"
        ORDERED = "ordered", "restarting"
        RESTARTED = "restarted", "reading back"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        SKIPPED = "skipped", "skipped"

    class Way(models.TextChoices):
        COMMAND = "command", "by a command of the installation"
        SCRIPT = "script", "by the script on its host"
        HAND = "hand", "by hand"

    restart = models.ForeignKey(RollingRestart, on_delete=models.CASCADE, related_name="steps")
    position = models.PositiveSmallIntegerField()
    instance = models.ForeignKey(PgpoolInstance, on_delete=models.SET_NULL, null=True, related_name="+")
    instance_name = models.CharField(max_length=80)
    way = models.CharField(max_length=7, choices=Way.choices)
    parameters = models.JSONField(default=list, help_text="names that waited for this restart when it was asked for")
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0, help_text="looks before its turn, then commands begun")
    error = models.TextField(blank=True)
    before = models.JSONField(null=True, help_text="the run of pgpool that is to end, and the backends that it has up")
    ordered_at = models.DateTimeField(null=True, help_text="when it was told to restart, or a person asked to do it")
    ended_at = models.DateTimeField(null=True, help_text="when the command ended")
    answered_at = models.DateTimeField(null=True, help_text="when the run of before answered latest")
    silent_at = models.DateTimeField(null=True, help_text="when it was first found away since then")
    returned_at = models.DateTimeField(null=True, help_text="when another run answered first")
    serves_at = models.DateTimeField(null=True, help_text="when it had every backend up again that it had before")
    receipt = models.JSONField(default=dict, blank=True, help_text="what was checked, done and read back")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["restart", "position"], name="restart_step_unique"),
            models.UniqueConstraint(
                fields=["restart"], condition=Q(state__in=["ordered", "restarted"]), name="restart_one_pgpool_at_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.instance_name} {self.state}"
