"""What was seen latest: one row per pgpool instance, per backend, and per backend as one pgpool sees it.

Each is rewritten on every tick, in place: no index but the key, and room on the page for the next version.
"""

from datetime import datetime

from django.db import models

from apps.clusters.models.registry import Backend, PgpoolInstance


class InstanceLatest(models.Model):
    """A pgpool instance at the latest tick. A figure that could not be read is null, its reason stands in `reason`."""

    class State(models.TextChoices):
        ANSWERING = "answering", "answering"
        HANGING = "hanging", "hanging"  # SQL does not answer, PCP does
        UNREACHABLE = "unreachable", "unreachable"  # neither answers
        REFUSED = "refused", "refused"  # it is there, but serves no client, or not us
        RENUMBERED = "renumbered", "renumbered"  # it answers, but its numbers mean other backends than registered

    instance = models.OneToOneField(PgpoolInstance, on_delete=models.CASCADE, primary_key=True, related_name="latest")
    polled_at = models.DateTimeField(help_text="latest attempt")
    answered_at = models.DateTimeField(null=True, help_text="latest SHOW that was answered")
    state = models.CharField(max_length=12, choices=State.choices)
    state_since = models.DateTimeField()
    reason = models.TextField(blank=True, help_text="why it does not answer, and what mends it")
    probe_ms = models.FloatField(null=True, help_text="round trip of SHOW server_version through this pgpool")
    children_used = models.IntegerField(null=True, help_text="sessions of others; Lifeguard's own are subtracted")
    children_total = models.IntegerField(null=True, help_text="num_init_children")
    session_count = models.BigIntegerField(null=True, help_text="sessions ended since watching began")
    sessions_reason = models.TextField(blank=True, help_text="why sessions cannot be counted")
    cache_hit_count = models.BigIntegerField(null=True)
    cache_miss_count = models.BigIntegerField(null=True)
    cache_row = models.JSONField(null=True, help_text="SHOW POOL_CACHE as domain.show_rows.PoolCache names it")
    memcached = models.JSONField(
        null=True, help_text="what is seen of the memcached that it caches in, as domain.memcached_seen keeps it"
    )
    counted_since = models.DateTimeField(
        null=True, help_text="its counters were read without a break since then, and never restarted"
    )
    draws_per_read = models.FloatField(
        null=True, help_text="independent draws of a backend behind one read, of the latest half hour that told it"
    )
    draws_at = models.DateTimeField(null=True, help_text="when draws_per_read was measured latest")
    epoch = models.BigIntegerField(default=0, help_text="of the shard's lease")
    tick = models.BigIntegerField(default=0)

    class Meta:
        db_table = "clusters_instance_latest"

    def __str__(self) -> str:
        return f"{self.instance_id} {self.state}"


class NodeLatest(models.Model):
    """A backend as one pgpool instance sees it (SHOW POOL_NODES, POOL_BACKEND_STATS)."""

    instance = models.ForeignKey(PgpoolInstance, on_delete=models.CASCADE, related_name="nodes")
    node_id = models.PositiveSmallIntegerField()
    seen_at = models.DateTimeField()
    status = models.CharField(max_length=20, help_text="pgpool's belief: up, down, waiting, unused, quarantine")
    status_since = models.DateTimeField()
    pg_status = models.CharField(max_length=20, blank=True, help_text="pgpool's live probe: up, down, unknown")
    role = models.CharField(max_length=20, help_text="primary or standby, as pgpool believes")
    role_since = models.DateTimeField(null=True, help_text="when this role was first seen; null: as it ever was")
    pg_role = models.CharField(max_length=20, blank=True)
    lb_weight = models.FloatField(null=True, help_text="share of new sessions, 0..1; null while all weights are 0")
    weight_since = models.DateTimeField(help_text="when lb_weight was first seen as it is")
    figures_at = models.DateTimeField(null=True, help_text="when pg_status, lb_weight and the delay were told latest")
    select_count = models.BigIntegerField(null=True, help_text="since pgpool started")
    error_count = models.BigIntegerField(
        null=True, help_text="PANIC, FATAL and ERROR of this backend since pgpool started"
    )
    replication_delay_bytes = models.BigIntegerField(null=True)
    replication_delay_s = models.FloatField(null=True)
    replication_state = models.CharField(max_length=40, blank=True)
    replication_sync_state = models.CharField(max_length=40, blank=True)

    class Meta:
        db_table = "clusters_node_latest"
        constraints = [models.UniqueConstraint(fields=["instance", "node_id"], name="node_latest_unique")]

    def __str__(self) -> str:
        return f"{self.instance_id}/{self.node_id} {self.status}"

    @property
    def changed_at(self) -> datetime:
        """When its weight, status or role changed latest: reads from before obeyed other rules."""
        changes = (self.weight_since, self.status_since, self.role_since)
        return max(at for at in changes if at is not None)


class BackendLatest(models.Model):
    """A backend asked directly: the truth about recovery and replication."""

    backend = models.OneToOneField(Backend, on_delete=models.CASCADE, primary_key=True, related_name="latest")
    polled_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True, help_text="why it does not answer, and what mends it")
    is_in_recovery = models.BooleanField(null=True)
    probe_ms = models.FloatField(null=True, help_text="round trip of SELECT 1 on a kept connection")
    server_version = models.CharField(max_length=40, blank=True)
    lsn_bytes = models.BigIntegerField(null=True, help_text="current (primary) or replayed (standby) WAL position")
    replay_lag_s = models.FloatField(null=True)
    replay_lag_bytes = models.BigIntegerField(null=True)
    lag_reason = models.TextField(blank=True, help_text="why the lag is not known")
    lag_over_at = models.DateTimeField(
        null=True, help_text="when the lag was over delay_threshold latest; null once its end was told"
    )
    replication_state = models.CharField(max_length=40, blank=True)
    sync_state = models.CharField(max_length=40, blank=True)
    connection_limit = models.IntegerField(
        null=True, help_text="max_connections less what is reserved for superusers, as it said latest"
    )

    class Meta:
        db_table = "clusters_backend_latest"

    def __str__(self) -> str:
        return f"{self.backend_id} {self.reason or 'answers'}"


class WatchdogLatest(models.Model):
    """What the watchdog of one pgpool told of all pgpools, by PCP."""

    class State(models.TextChoices):
        ON = "on", "on"
        OFF = "off", "off"  # use_watchdog = off
        UNKNOWN = "unknown", "unknown"  # `reason` says why it told nothing

    instance = models.OneToOneField(PgpoolInstance, on_delete=models.CASCADE, primary_key=True, related_name="watchdog")
    asked_at = models.DateTimeField(help_text="latest attempt")
    state = models.CharField(max_length=8, choices=State.choices)
    since = models.DateTimeField(help_text="when this was told first, without a change or a silence since")
    reason = models.TextField(blank=True, help_text="why it told nothing, and what mends it")
    told = models.JSONField(default=dict, help_text="as domain.watchdog.Watchdog; what it told before, while unknown")

    class Meta:
        db_table = "clusters_watchdog_latest"

    def __str__(self) -> str:
        return f"{self.instance_id} {self.state}"
