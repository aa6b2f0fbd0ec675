"""Which worker watches which part of the clusters."""

from django.db import models


class Shard(models.Model):
    """A share of the clusters and the lease of the worker that watches it. All times are the database's clock."""

    number = models.PositiveSmallIntegerField(primary_key=True)
    holder = models.CharField(max_length=120, blank=True, help_text="host:pid:random of the watching worker")
    epoch = models.BigIntegerField(default=0, help_text="grows by 1 each time the lease changes hands")
    expires_at = models.DateTimeField(null=True, blank=True)
    ticked_at = models.DateTimeField(null=True, blank=True, help_text="latest finished tick")

    def __str__(self) -> str:
        return f"shard {self.number}"
