"""Campaigns: the same comparison again and again by a schedule, so that a change from one night to another is seen."""

from django.db import models
from django.db.models import Q

from apps.accounts.models import User
from apps.benchmarks.models.comparison import BenchmarkComparison
from apps.clusters.models import Cluster


class BenchmarkCampaign(models.Model):
    """What is compared, when, and how much load that may be. Its rounds are comparisons."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="benchmark_campaigns")
    name = models.CharField(max_length=200)
    arms = models.JSONField(help_text="as a comparison is asked for them")
    baseline = models.PositiveSmallIntegerField(default=0)
    repetitions = models.PositiveSmallIntegerField()
    over = models.CharField(max_length=60, blank=True)
    margin_percent = models.FloatField(default=5.0, help_text="the smallest change that matters")
    cron = models.CharField(max_length=100, help_text="minute hour day month weekday, UTC")
    window_min = models.PositiveIntegerField(help_text="minutes after which no run of a round begins any more")
    budget_min = models.PositiveIntegerField(help_text="minutes of load that one round may make")
    is_paused = models.BooleanField(default=False)
    next_at = models.DateTimeField(null=True, blank=True, help_text="when a round is due; null while it is paused")
    requested_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    requested_by_name = models.CharField(max_length=254)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["cluster", "-id"], name="campaign_of_cluster"),
            models.Index(fields=["next_at"], condition=Q(next_at__isnull=False), name="campaign_due"),
        ]

    def __str__(self) -> str:
        return self.name


class CampaignRound(models.Model):
    """One time that it was due. Without a comparison it was left out, and the reason says why."""

    class Kind(models.TextChoices):
        SCHEDULED = "scheduled", "scheduled"
        BY_HAND = "by_hand", "by hand"
        CONFIRMING = "confirming", "confirming"  # again, since the one before was slower than ever

    campaign = models.ForeignKey(BenchmarkCampaign, on_delete=models.CASCADE, related_name="rounds")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.SCHEDULED)
    due_at = models.DateTimeField()
    comparison = models.OneToOneField(
        BenchmarkComparison, on_delete=models.SET_NULL, null=True, blank=True, related_name="round"
    )
    reason = models.TextField(blank=True, help_text="why it was left out, or ended before its time")
    is_judged = models.BooleanField(default=False, help_text="held against the rounds before it")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "kind", "due_at"], name="campaign_round_once"),
        ]

    def __str__(self) -> str:
        return f"{self.campaign_id} at {self.due_at:%F %H:%M}"
