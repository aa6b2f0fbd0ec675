"""Attach, detach and drain of a backend: carried to every pgpool by any worker that holds the lease."""

from django.db import models
from django.db.models import Q

from apps.accounts.models import User
from apps.clusters.models.registry import Cluster, PgpoolInstance
from apps.clusters.models.rollout import Rollout


class BackendOperation(models.Model):
    """One backend brought up or down at every pgpool; never beside a rollout of the cluster."""

    class Kind(models.TextChoices):
        ATTACH = "attach", "attach"
        DETACH = "detach", "detach"
        DRAIN = "drain", "drain"

    class State(models.TextChoices):
        WEIGHING = "weighing", "taking its weight to 0"
        WAITING = "waiting", "waiting for sessions"
        ASKING = "asking", "asking whether to go on"
        ACTING = "acting", "at work"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"

    ACTIVE = (State.WEIGHING, State.WAITING, State.ASKING, State.ACTING)
    CANCELLABLE = (State.WEIGHING, State.WAITING, State.ASKING)

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="backend_operations")
    node_id = models.PositiveSmallIntegerField()
    backend_name = models.CharField(max_length=320)
    kind = models.CharField(max_length=6, choices=Kind.choices)
    state = models.CharField(max_length=10, choices=State.choices)
    reason = models.CharField(max_length=500, blank=True, help_text="of the person who asked for it")
    risks = models.JSONField(default=list, blank=True, help_text="the sentences that were said before")
    rollout = models.ForeignKey(
        Rollout, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", help_text="takes the weight to 0"
    )
    way_back = models.ForeignKey(
        Rollout, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", help_text="gives the weights back"
    )
    wait_limit_s = models.PositiveIntegerField(default=1800, help_text="for sessions to end, before it is asked")
    waiting_since = models.DateTimeField(null=True, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True, help_text="when nothing stood in the way of acting")
    is_go_on = models.BooleanField(default=False, help_text="remaining sessions may be cut")
    outcome = models.TextField(blank=True, help_text="why it failed, or who ended it and what became of the weights")
    requested_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    requested_by_name = models.CharField(max_length=254)
    cancelled_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    cancelled_by_name = models.CharField(
        max_length=254,
        blank=True,
        help_text="while its rollout is under way, the end of that is awaited",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    next_look_at = models.DateTimeField(null=True, blank=True, help_text="nothing is due before")
    lease_holder = models.CharField(max_length=120, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True, help_text="by the database's clock")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"],
                condition=Q(state__in=["weighing", "waiting", "asking", "acting"]),
                name="backend_operation_one_active_per_cluster",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.backend_name} {self.state}"


class BackendOperationStep(models.Model):
    """One pgpool in an operation, with the receipt of what was done there."""

    class State(models.TextChoices):
        PENDING = "pending", "pending"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    operation = models.ForeignKey(BackendOperation, on_delete=models.CASCADE, related_name="steps")
    position = models.PositiveSmallIntegerField()
    instance = models.ForeignKey(PgpoolInstance, on_delete=models.SET_NULL, null=True, related_name="+")
    instance_name = models.CharField(max_length=80)
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)
    sessions_before = models.JSONField(null=True, help_text="the sessions that were there when the weight was gone")
    sessions_left = models.PositiveIntegerField(null=True, help_text="of those, how many may still read there")
    sessions_at = models.DateTimeField(null=True, help_text="when they were counted latest")
    sessions_reason = models.TextField(blank=True, help_text="why they could not be counted")
    confirmed_at = models.DateTimeField(null=True)
    receipt = models.JSONField(default=dict, blank=True, help_text="status before and after, what PCP said")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["operation", "position"], name="backend_operation_step_unique")]

    def __str__(self) -> str:
        return f"{self.instance_name} {self.state}"
