"""Hot samples: narrow rows in daily partitions, written by COPY, read by plain SQL. No foreign keys: they are dropped
by the day. The tables are made in a migration, since Django cannot declare partitions.
"""

from django.db import models


class InstanceSample(models.Model):
    """A pgpool instance at one tick."""

    pk = models.CompositePrimaryKey("instance_id", "at")
    instance_id = models.BigIntegerField()
    at = models.DateTimeField()
    is_answering = models.BooleanField()
    probe_ms = models.FloatField(null=True)
    children_used = models.IntegerField(null=True)
    children_total = models.IntegerField(null=True)
    session_count = models.BigIntegerField(null=True)
    cache_hit_count = models.BigIntegerField(null=True)
    cache_miss_count = models.BigIntegerField(null=True)
    counted_since = models.DateTimeField(null=True)
    cache_entry_count = models.BigIntegerField(null=True)

    class Meta:
        managed = False
        db_table = "clusters_instance_sample"

    def __str__(self) -> str:
        return f"{self.instance_id} at {self.at}"


class NodeSample(models.Model):
    """A backend as one pgpool instance saw it at one tick."""

    pk = models.CompositePrimaryKey("instance_id", "node_id", "at")
    instance_id = models.BigIntegerField()
    node_id = models.SmallIntegerField()
    at = models.DateTimeField()
    select_count = models.BigIntegerField(null=True)
    lb_weight = models.FloatField(null=True)
    is_up = models.BooleanField(null=True)

    class Meta:
        managed = False
        db_table = "clusters_node_sample"

    def __str__(self) -> str:
        return f"{self.instance_id}/{self.node_id} at {self.at}"


class BackendSample(models.Model):
    """A backend asked directly at one tick."""

    pk = models.CompositePrimaryKey("backend_id", "at")
    backend_id = models.BigIntegerField()
    at = models.DateTimeField()
    is_answering = models.BooleanField()
    is_in_recovery = models.BooleanField(null=True)
    probe_ms = models.FloatField(null=True)
    lsn_bytes = models.BigIntegerField(null=True)
    replay_lag_s = models.FloatField(null=True)
    replay_lag_bytes = models.BigIntegerField(null=True)
    aborted_count = models.BigIntegerField(null=True)

    class Meta:
        managed = False
        db_table = "clusters_backend_sample"

    def __str__(self) -> str:
        return f"{self.backend_id} at {self.at}"
