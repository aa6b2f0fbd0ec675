"""Surveys of the functions of a database: asked for, carried out by a worker, kept with what they found."""

from django.db import models

from apps.clusters.models.registry import Cluster


class FunctionSurvey(models.Model):
    """One look at pg_proc. It only reads, so a worker that died is followed by another that begins anew."""

    class State(models.TextChoices):
        PENDING = "pending", "pending"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="function_surveys")
    database = models.CharField(max_length=63)
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    requested_by_name = models.CharField(max_length=254)
    requested_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    lease_holder = models.CharField(max_length=120, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True, help_text="by the database's clock")
    backend_name = models.CharField(max_length=80, blank=True, help_text="the one that was read")
    error = models.TextField(blank=True)
    result = models.JSONField(null=True, blank=True, help_text="findings, counts and what is proposed")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"],
                condition=models.Q(state__in=["pending", "running"]),
                name="function_survey_one_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"functions of {self.database}, {self.state}"
