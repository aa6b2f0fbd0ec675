"""Comparisons: several arms on one cluster, each of whose blocks measures every arm once, in an order drawn anew."""

from django.db import models
from django.db.models import Q

from apps.accounts.models import User
from apps.benchmarks.models.run import BenchmarkRun
from apps.clusters.models import Cluster


class BenchmarkComparison(models.Model):
    """What is compared. Its figures are those of its runs, computed when somebody looks."""

    class State(models.TextChoices):
        UNDER_WAY = "under_way", "under way"
        DONE = "done", "done"
        FAILED = "failed", "failed"  # too few runs have a figure
        STOPPED = "stopped", "stopped"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="benchmark_comparisons")
    name = models.CharField(max_length=200)
    arms = models.JSONField(help_text="list of domain.comparison_plan.Arm")
    baseline = models.PositiveSmallIntegerField(help_text="position of the arm that the others are compared with")
    repetitions = models.PositiveSmallIntegerField(help_text="blocks that count; 0: runs that somebody picked")
    over = models.CharField(max_length=60, blank=True, help_text="of a sweep: what varies from arm to arm")
    margin_percent = models.FloatField(default=5.0, help_text="the smallest difference that matters")
    order_seed = models.BigIntegerField(help_text="the order within each block is drawn from it")
    extra_blocks = models.PositiveSmallIntegerField(default=0, help_text="measured since others had no figure")
    is_cut_short = models.BooleanField(default=False, help_text="no block is measured again")
    state = models.CharField(max_length=10, choices=State.choices, default=State.UNDER_WAY)
    reason = models.TextField(blank=True, help_text="why it was stopped or failed")
    requested_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    requested_by_name = models.CharField(max_length=254)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["cluster", "-id"], name="comparison_of_cluster"),
            models.Index(fields=["id"], condition=Q(state="under_way"), name="comparison_under_way"),
        ]

    def __str__(self) -> str:
        return f"comparison {self.pk} {self.state}"


class ComparisonRun(models.Model):
    """One run's place. A run that somebody picked may stand in several comparisons."""

    comparison = models.ForeignKey(BenchmarkComparison, on_delete=models.CASCADE, related_name="members")
    run = models.ForeignKey(BenchmarkRun, on_delete=models.CASCADE, related_name="places")
    arm = models.PositiveSmallIntegerField()
    block = models.PositiveSmallIntegerField(help_text="0: the first one, that is shown and does not count")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["comparison", "run"], name="comparison_run_once"),
            models.UniqueConstraint(fields=["comparison", "arm", "block"], name="comparison_place_once"),
        ]

    def __str__(self) -> str:
        return f"{self.comparison_id}: arm {self.arm}, block {self.block}"
