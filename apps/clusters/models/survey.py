"""What surveys of a database have in common: asked for, carried out by a worker, kept with what they found."""

from django.db import models


class Survey(models.Model):
    """It only reads, so a worker that died is followed by another that begins anew."""

    class State(models.TextChoices):
        PENDING = "pending", "pending"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    database = models.CharField(max_length=63)
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    requested_by_name = models.CharField(max_length=254)
    requested_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    lease_holder = models.CharField(max_length=120, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True, help_text="by the database's clock")
    backend_name = models.CharField(max_length=80, blank=True, help_text="the one that was read")
    error = models.TextField(blank=True)

    class Meta:
        abstract = True
