"""Whether a cluster may be put under load at all, by which role, and how hard."""

from django.db import models
from django.db.models import Q

from apps.accounts.encryption import EncryptedTextField
from apps.clusters.models import Cluster


class BenchmarkAccess(models.Model):
    """The opt-in of one cluster. Without this row, or while it is off, nothing is run against it."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="benchmark_access")
    is_on = models.BooleanField(default=False)
    database = models.CharField(
        max_length=63, help_text="where the tables of the workloads are made, and dropped again"
    )
    username = models.CharField(max_length=63, help_text="a role that may create tables there")
    password = EncryptedTextField(help_text="of that role; never shown again")
    most_clients = models.PositiveIntegerField(default=32)
    most_duration_s = models.PositiveIntegerField(default=600, help_text="of one run, its warm-up included")
    most_lag_s = models.FloatField(
        null=True,
        blank=True,
        help_text="a run is aborted once the replay lag of a standby is longer; null: not watched",
    )
    most_failed_share = models.FloatField(
        null=True,
        blank=True,
        help_text="0..1: a run is aborted once more of its transactions failed; null: not watched",
    )
    queue = models.CharField(max_length=60, default="bench", help_text="of the workers that make the load")
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(most_clients__gte=1, most_duration_s__gte=1), name="benchmark_access_limits"
            ),
            models.CheckConstraint(
                condition=Q(most_failed_share=None) | Q(most_failed_share__gte=0, most_failed_share__lte=1),
                name="benchmark_access_failed_share",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cluster} {'on' if self.is_on else 'off'}"
