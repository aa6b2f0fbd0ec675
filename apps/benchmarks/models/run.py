"""Benchmark runs: one workload against one topology of a cluster, carried by any worker that holds the lease."""

from django.db import models
from django.db.models import Q

from apps.accounts.models import User
from apps.clusters.models import Cluster


class BenchmarkRun(models.Model):
    """What was asked for, how far it is, and what came of it."""

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        PREPARING = "preparing", "preparing"  # its data, its warm-up
        RUNNING = "running", "measuring"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        STOPPED = "stopped", "stopped"  # by hand or by a guard; what was measured until then is kept as partial

    UNDER_WAY = (State.PREPARING, State.RUNNING)
    ACTIVE = (State.QUEUED, *UNDER_WAY)

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="benchmark_runs")
    workload = models.CharField(max_length=40, help_text="its key, as pgbench-select-only")
    topology = models.CharField(max_length=120, help_text="its key, as pgpool:pgpool-1")
    clients = models.PositiveIntegerField()
    threads = models.PositiveIntegerField()
    duration_s = models.PositiveIntegerField(help_text="of the measurement")
    warm_up_s = models.PositiveIntegerField(default=0, help_text="of load before it that is not measured")
    parameters = models.JSONField(default=dict, blank=True, help_text="what the workload declares, as its scale")
    note = models.CharField(max_length=500, blank=True)
    queue = models.CharField(max_length=60, default="bench")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    phase = models.CharField(max_length=120, blank=True, help_text="what is done now, or waited for")
    log_tail = models.TextField(
        blank=True, help_text="the latest lines of its programs while it is under way, or of one whose worker died"
    )
    attempts = models.PositiveSmallIntegerField(default=0)
    is_stop_requested = models.BooleanField(default=False)
    stop_reason = models.TextField(blank=True, help_text="who stopped it, or which guard and why")
    error = models.TextField(blank=True, help_text="why it failed, and what mends it")
    requested_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    requested_by_name = models.CharField(max_length=254)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True, help_text="of the latest attempt")
    measured_at = models.DateTimeField(null=True, blank=True, help_text="when the measurement began")
    finished_at = models.DateTimeField(null=True, blank=True)
    is_partial = models.BooleanField(default=False, help_text="the measurement ended before its time")
    tps = models.FloatField(null=True, help_text="transactions per second, without the time to connect")
    result = models.JSONField(default=dict, blank=True, help_text="as domain.run_result.RunResult")
    environment = models.JSONField(default=dict, blank=True)
    findings = models.JSONField(default=list, blank=True, help_text="check, ok, sentence")
    lease_holder = models.CharField(max_length=120, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True, help_text="by the database's clock")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"],
                condition=Q(state__in=["preparing", "running"]),
                name="run_one_under_way_per_cluster",
            ),
        ]
        indexes = [models.Index(fields=["cluster", "-id"], name="run_of_cluster")]

    def __str__(self) -> str:
        return f"run {self.pk} {self.state}"


class RunSample(models.Model):
    """What the load generator told of one second, of all its processes together."""

    run = models.ForeignKey(BenchmarkRun, on_delete=models.CASCADE, related_name="samples")
    attempt = models.PositiveSmallIntegerField()
    at_s = models.FloatField(help_text="since the measurement began")
    tps = models.FloatField()
    latency_ms = models.FloatField(null=True)
    stddev_ms = models.FloatField(null=True)
    failed_count = models.IntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "attempt", "at_s"], name="run_sample_unique")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.at_s:.0f} s {self.tps:.1f} tps"


class RunOutput(models.Model):
    """What one process printed, as it printed it. Its command holds no secret: the password is in its environment."""

    run = models.ForeignKey(BenchmarkRun, on_delete=models.CASCADE, related_name="outputs")
    attempt = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=120, help_text="preparation, warm-up, or the target of its load")
    command = models.TextField()
    output = models.TextField(blank=True)
    exit_code = models.IntegerField(null=True, help_text="negative: the signal that ended it")
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.run_id} {self.name}"
