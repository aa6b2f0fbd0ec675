"""Rollouts: a revision carried to every pgpool, step by step, by any worker that holds the lease."""

from django.db import models
from django.db.models import Q

from apps.accounts.models import User
from apps.clusters.models.registry import Cluster, PgpoolInstance
from apps.clusters.models.revision import ConfigRevision, RevisionFile


class Rollout(models.Model):
    """The delivery of one revision; two results: *verified* (read back) and *converged* (reads follow)."""

    class State(models.TextChoices):
        PENDING = "pending", "pending"
        RUNNING = "running", "running"
        PAUSED = "paused", "paused"
        VERIFIED = "verified", "verified"
        FAILED = "failed", "failed"  # halted; at least one instance is not confirmed on its old file
        ROLLED_BACK = "rolled_back", "rolled back"  # every touched instance is confirmed on its old file
        CANCELLED = "cancelled", "cancelled"  # nothing was touched

    ACTIVE = (State.PENDING, State.RUNNING, State.PAUSED)

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="rollouts")
    revision = models.ForeignKey(ConfigRevision, on_delete=models.PROTECT, related_name="rollouts")
    rollback_of = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="rollbacks")
    settles = models.ForeignKey(
        "clusters.RevisionDebt", on_delete=models.SET_NULL, null=True, blank=True, related_name="settlements"
    )
    state = models.CharField(max_length=12, choices=State.choices, default=State.PENDING)
    is_halting = models.BooleanField(default=False, help_text="touched instances get their old file back")
    halt_reason = models.TextField(blank=True)
    is_cancel_requested = models.BooleanField(default=False)
    plan = models.JSONField(default=dict, blank=True, help_text="how it goes about its instances; empty: one by one")
    waves_released = models.PositiveSmallIntegerField(default=0, help_text="the latest wave whose hold is over")
    hold_started_at = models.DateTimeField(null=True, blank=True)
    hold_ends_at = models.DateTimeField(null=True, blank=True, help_text="null while nothing is held")
    hold_began_with = models.JSONField(default=dict, blank=True, help_text="what the guards compare with")
    hold_looked_at = models.DateTimeField(null=True, blank=True, help_text="when the guards looked latest")
    paused_at = models.DateTimeField(null=True, blank=True, help_text="null while it is not paused")
    paused_by_name = models.CharField(max_length=254, blank=True, help_text="empty: the guards of its plan")
    pause_reason = models.TextField(blank=True)
    requested_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    requested_by_name = models.CharField(max_length=254)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    converged_at = models.DateTimeField(null=True, blank=True, help_text="when the reads were first seen to follow")
    convergence = models.JSONField(null=True, blank=True, help_text="the latest verdict on new sessions")
    lease_holder = models.CharField(max_length=120, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True, help_text="by the database's clock")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"],
                condition=Q(state__in=["pending", "running", "paused"]),
                name="rollout_one_active_per_cluster",
            ),
        ]

    def __str__(self) -> str:
        return f"rollout {self.pk} {self.state}"


class RolloutStep(models.Model):
    """One instance in a rollout, with the receipt of what was done to it."""

    class State(models.TextChoices):
        PENDING = "pending", "pending"
        WRITTEN = "written", "written"
        RELOADED = "reloaded", "reloaded"
        VERIFIED = "verified", "verified"
        RESTORED = "restored", "restored"
        RESTORE_PENDING = "restore_pending", "restore pending"
        FAILED = "failed", "failed"
        ABSENT = "absent", "fell silent"  # after it was given the new file: the old one goes back
        OWED = "owed", "owed"  # nobody could reach it; what became of it stands in its RevisionDebt
        SKIPPED = "skipped", "skipped"

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="steps")
    position = models.PositiveSmallIntegerField()
    instance = models.ForeignKey(PgpoolInstance, on_delete=models.SET_NULL, null=True, related_name="+")
    instance_name = models.CharField(max_length=80)
    file = models.ForeignKey(RevisionFile, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=16, choices=State.choices, default=State.PENDING)
    is_touched = models.BooleanField(default=False, help_text="set before the first byte is written")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="of the action that is due now")
    retry_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True)
    waiting_for = models.TextField(blank=True, help_text="what the action that is due waits for; no try is counted")
    waiting_since = models.DateTimeField(null=True, blank=True)
    written_at = models.DateTimeField(null=True, blank=True)
    reloaded_at = models.DateTimeField(null=True, blank=True)
    verified_at = models.DateTimeField(null=True, blank=True)
    restored_at = models.DateTimeField(null=True, blank=True)
    receipt = models.JSONField(default=dict, blank=True, help_text="hashes before and after, each value read back")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["rollout", "position"], name="rollout_step_unique")]

    def __str__(self) -> str:
        return f"{self.instance_name} {self.state}"


class RolloutLog(models.Model):
    """What happened in a rollout, line by line."""

    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="log")
    at = models.DateTimeField(auto_now_add=True)
    instance_name = models.CharField(max_length=80, blank=True)
    text = models.TextField()
    is_problem = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.text
