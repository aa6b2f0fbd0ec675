import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import apps.accounts.encryption


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="BackendSample",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "backend_id", "at", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("backend_id", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("is_answering", models.BooleanField()),
                ("is_in_recovery", models.BooleanField(null=True)),
                ("probe_ms", models.FloatField(null=True)),
                ("lsn_bytes", models.BigIntegerField(null=True)),
                ("replay_lag_s", models.FloatField(null=True)),
                ("replay_lag_bytes", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "clusters_backend_sample",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="InstanceSample",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "instance_id", "at", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("instance_id", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("is_answering", models.BooleanField()),
                ("probe_ms", models.FloatField(null=True)),
                ("children_used", models.IntegerField(null=True)),
                ("children_total", models.IntegerField(null=True)),
                ("session_count", models.BigIntegerField(null=True)),
                ("cache_hit_count", models.BigIntegerField(null=True)),
                ("cache_miss_count", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "clusters_instance_sample",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="NodeSample",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "instance_id", "node_id", "at", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("instance_id", models.BigIntegerField()),
                ("node_id", models.SmallIntegerField()),
                ("at", models.DateTimeField()),
                ("select_count", models.BigIntegerField(null=True)),
                ("lb_weight", models.FloatField(null=True)),
                ("is_up", models.BooleanField(null=True)),
            ],
            options={
                "db_table": "clusters_node_sample",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="Backend",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("node_id", models.PositiveSmallIntegerField()),
                ("hostname", models.CharField(help_text="as pgpool reaches it", max_length=253)),
                ("port", models.PositiveIntegerField()),
                (
                    "direct_host",
                    models.CharField(
                        blank=True, help_text="as Lifeguard reaches it, where that differs", max_length=253
                    ),
                ),
                ("direct_port", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "application_name",
                    models.CharField(blank=True, help_text="backend_application_name of pgpool.conf", max_length=64),
                ),
                ("az", models.CharField(blank=True, max_length=40)),
            ],
        ),
        migrations.CreateModel(
            name="PgpoolInstance",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(help_text="as pgpool-1; unique in the cluster", max_length=80)),
                ("host", models.CharField(max_length=253)),
                ("port", models.PositiveIntegerField()),
                ("az", models.CharField(blank=True, help_text="availability zone, as us-east-1a", max_length=40)),
                ("pcp_port", models.PositiveIntegerField(blank=True, null=True)),
                ("pcp_username", models.CharField(blank=True, max_length=63)),
                ("pcp_password", apps.accounts.encryption.EncryptedTextField(blank=True, default="")),
                (
                    "delivery_kind",
                    models.CharField(
                        choices=[("observe", "observe only"), ("local", "local file")], default="observe", max_length=10
                    ),
                ),
                (
                    "delivery_path",
                    models.CharField(blank=True, help_text="pgpool.conf, as it was registered", max_length=1000),
                ),
                (
                    "delivery_target",
                    models.CharField(
                        blank=True,
                        help_text="the same with links resolved: one writer per file",
                        max_length=1000,
                        null=True,
                    ),
                ),
                ("version", models.CharField(blank=True, help_text="as 4.3.5; empty while unknown", max_length=40)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="Shard",
            fields=[
                ("number", models.PositiveSmallIntegerField(primary_key=True, serialize=False)),
                (
                    "holder",
                    models.CharField(blank=True, help_text="host:pid:random of the watching worker", max_length=120),
                ),
                ("epoch", models.BigIntegerField(default=0, help_text="grows by 1 each time the lease changes hands")),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("ticked_at", models.DateTimeField(blank=True, help_text="latest finished tick", null=True)),
            ],
        ),
        migrations.CreateModel(
            name="BackendLatest",
            fields=[
                (
                    "backend",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="latest",
                        serialize=False,
                        to="clusters.backend",
                    ),
                ),
                ("polled_at", models.DateTimeField()),
                ("answered_at", models.DateTimeField(null=True)),
                ("reason", models.TextField(blank=True, help_text="why it does not answer, and what mends it")),
                ("is_in_recovery", models.BooleanField(null=True)),
                ("probe_ms", models.FloatField(help_text="round trip of SELECT 1 on a kept connection", null=True)),
                ("server_version", models.CharField(blank=True, max_length=40)),
                (
                    "lsn_bytes",
                    models.BigIntegerField(help_text="current (primary) or replayed (standby) WAL position", null=True),
                ),
                ("replay_lag_s", models.FloatField(null=True)),
                ("replay_lag_bytes", models.BigIntegerField(null=True)),
                ("lag_reason", models.TextField(blank=True, help_text="why the lag is not known")),
                ("replication_state", models.CharField(blank=True, max_length=40)),
                ("sync_state", models.CharField(blank=True, max_length=40)),
            ],
            options={
                "db_table": "clusters_backend_latest",
            },
        ),
        migrations.CreateModel(
            name="Cluster",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "slug",
                    models.SlugField(help_text="its name in addresses; unique in the organisation", max_length=60),
                ),
                ("name", models.CharField(max_length=120)),
                (
                    "username",
                    models.CharField(help_text="monitoring role on pgpool and on every backend", max_length=63),
                ),
                (
                    "password",
                    apps.accounts.encryption.EncryptedTextField(help_text="of the monitoring role; never shown again"),
                ),
                (
                    "sslmode",
                    models.CharField(
                        choices=[
                            ("disable", "disable"),
                            ("prefer", "prefer"),
                            ("require", "require"),
                            ("verify-ca", "verify-ca"),
                            ("verify-full", "verify-full"),
                        ],
                        default="prefer",
                        help_text="TLS towards pgpool and backends, as libpq names it",
                        max_length=11,
                    ),
                ),
                (
                    "has_synthetic_azs",
                    models.BooleanField(default=False, help_text="the AZs are made up: all runs on one machine"),
                ),
                (
                    "is_statement_level",
                    models.BooleanField(
                        default=False, help_text="statement_level_load_balance as the pgpools showed it latest"
                    ),
                ),
                (
                    "delay_threshold_bytes",
                    models.BigIntegerField(blank=True, help_text="as pgpool showed it; 0 ignores lag", null=True),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="clusters", to="accounts.organisation"
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="backend",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="backends", to="clusters.cluster"
            ),
        ),
        migrations.CreateModel(
            name="ConfigRevision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField(help_text="counts up in the cluster from 1")),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("live", "found on the pgpools"),
                            ("edit", "edited here"),
                            ("rollback", "rolled back to"),
                        ],
                        max_length=10,
                    ),
                ),
                ("note", models.CharField(blank=True, help_text="why, in the words of its author", max_length=500)),
                (
                    "weights",
                    models.JSONField(
                        help_text='instance name -> {node_id: integer weight}, as {"pgpool-1": {"0": 0, "1": 1}}'
                    ),
                ),
                ("author_name", models.CharField(max_length=254)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "author",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="revisions", to="clusters.cluster"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="InstanceLatest",
            fields=[
                (
                    "instance",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="latest",
                        serialize=False,
                        to="clusters.pgpoolinstance",
                    ),
                ),
                ("polled_at", models.DateTimeField(help_text="latest attempt")),
                ("answered_at", models.DateTimeField(help_text="latest SHOW that was answered", null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("answering", "answering"),
                            ("hanging", "hanging"),
                            ("unreachable", "unreachable"),
                            ("refused", "refused"),
                        ],
                        max_length=12,
                    ),
                ),
                ("state_since", models.DateTimeField()),
                ("reason", models.TextField(blank=True, help_text="why it does not answer, and what mends it")),
                (
                    "probe_ms",
                    models.FloatField(help_text="round trip of SHOW server_version through this pgpool", null=True),
                ),
                (
                    "children_used",
                    models.IntegerField(help_text="sessions of others; Lifeguard's own are subtracted", null=True),
                ),
                ("children_total", models.IntegerField(help_text="num_init_children", null=True)),
                ("session_count", models.BigIntegerField(help_text="sessions ended since watching began", null=True)),
                ("sessions_reason", models.TextField(blank=True, help_text="why sessions cannot be counted")),
                ("cache_hit_count", models.BigIntegerField(null=True)),
                ("cache_miss_count", models.BigIntegerField(null=True)),
                ("epoch", models.BigIntegerField(default=0, help_text="of the shard's lease")),
                ("tick", models.BigIntegerField(default=0)),
            ],
            options={
                "db_table": "clusters_instance_latest",
            },
        ),
        migrations.AddField(
            model_name="pgpoolinstance",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="instances", to="clusters.cluster"
            ),
        ),
        migrations.CreateModel(
            name="NodeLatest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("node_id", models.PositiveSmallIntegerField()),
                ("seen_at", models.DateTimeField()),
                (
                    "status",
                    models.CharField(help_text="pgpool's belief: up, down, waiting, unused, quarantine", max_length=20),
                ),
                ("status_since", models.DateTimeField()),
                (
                    "pg_status",
                    models.CharField(blank=True, help_text="pgpool's live probe: up, down, unknown", max_length=20),
                ),
                ("role", models.CharField(help_text="primary or standby, as pgpool believes", max_length=20)),
                ("pg_role", models.CharField(blank=True, max_length=20)),
                (
                    "lb_weight",
                    models.FloatField(help_text="share of new sessions, 0..1; null while all weights are 0", null=True),
                ),
                ("weight_since", models.DateTimeField(help_text="when lb_weight was first seen as it is")),
                ("select_count", models.BigIntegerField(help_text="since pgpool started", null=True)),
                ("replication_delay_bytes", models.BigIntegerField(null=True)),
                ("replication_delay_s", models.FloatField(null=True)),
                ("replication_state", models.CharField(blank=True, max_length=40)),
                ("replication_sync_state", models.CharField(blank=True, max_length=40)),
                (
                    "instance",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="nodes", to="clusters.pgpoolinstance"
                    ),
                ),
            ],
            options={
                "db_table": "clusters_node_latest",
            },
        ),
        migrations.CreateModel(
            name="RevisionFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("instance_name", models.CharField(max_length=80)),
                ("text", apps.accounts.encryption.EncryptedTextField()),
                ("sha256", models.CharField(help_text="of text, in hex", max_length=64)),
                (
                    "base_text",
                    apps.accounts.encryption.EncryptedTextField(help_text="the live file that this one was made from"),
                ),
                ("base_sha256", models.CharField(max_length=64)),
                (
                    "instance",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="clusters.pgpoolinstance",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="files", to="clusters.configrevision"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Rollout",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "pending"),
                            ("running", "running"),
                            ("paused", "paused"),
                            ("verified", "verified"),
                            ("failed", "failed"),
                            ("rolled_back", "rolled back"),
                            ("cancelled", "cancelled"),
                        ],
                        default="pending",
                        max_length=12,
                    ),
                ),
                (
                    "is_halting",
                    models.BooleanField(default=False, help_text="touched instances get their old file back"),
                ),
                ("halt_reason", models.TextField(blank=True)),
                ("is_cancel_requested", models.BooleanField(default=False)),
                ("requested_by_name", models.CharField(max_length=254)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "converged_at",
                    models.DateTimeField(blank=True, help_text="when the reads were first seen to follow", null=True),
                ),
                (
                    "convergence",
                    models.JSONField(blank=True, help_text="the latest verdict on new sessions", null=True),
                ),
                ("lease_holder", models.CharField(blank=True, max_length=120)),
                ("lease_expires_at", models.DateTimeField(blank=True, help_text="by the database's clock", null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rollouts", to="clusters.cluster"
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rollouts",
                        to="clusters.configrevision",
                    ),
                ),
                (
                    "rollback_of",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="rollbacks",
                        to="clusters.rollout",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ClusterEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("registered", "registered"),
                            ("registry", "registration changed"),
                            ("instance", "pgpool instance"),
                            ("backend", "backend"),
                            ("role", "role"),
                            ("weights", "weights"),
                            ("restart", "restart"),
                            ("rollout", "rollout"),
                        ],
                        max_length=12,
                    ),
                ),
                ("is_problem", models.BooleanField(default=False)),
                ("title", models.CharField(help_text="as pg2 went down", max_length=200)),
                ("detail", models.TextField(blank=True)),
                ("instance_name", models.CharField(blank=True, max_length=80)),
                ("node_id", models.PositiveSmallIntegerField(blank=True, null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="events", to="clusters.cluster"
                    ),
                ),
                (
                    "rollout",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="events",
                        to="clusters.rollout",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RolloutLog",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("instance_name", models.CharField(blank=True, max_length=80)),
                ("text", models.TextField()),
                ("is_problem", models.BooleanField(default=False)),
                (
                    "rollout",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="log", to="clusters.rollout"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RolloutStep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveSmallIntegerField()),
                ("instance_name", models.CharField(max_length=80)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "pending"),
                            ("written", "written"),
                            ("reloaded", "reloaded"),
                            ("verified", "verified"),
                            ("restored", "restored"),
                            ("restore_pending", "restore pending"),
                            ("failed", "failed"),
                            ("skipped", "skipped"),
                        ],
                        default="pending",
                        max_length=16,
                    ),
                ),
                ("is_touched", models.BooleanField(default=False, help_text="set before the first byte is written")),
                ("attempts", models.PositiveSmallIntegerField(default=0, help_text="of the action that is due now")),
                ("retry_at", models.DateTimeField(blank=True, null=True)),
                ("error", models.TextField(blank=True)),
                ("written_at", models.DateTimeField(blank=True, null=True)),
                ("reloaded_at", models.DateTimeField(blank=True, null=True)),
                ("verified_at", models.DateTimeField(blank=True, null=True)),
                ("restored_at", models.DateTimeField(blank=True, null=True)),
                (
                    "receipt",
                    models.JSONField(
                        blank=True, default=dict, help_text="hashes before and after, each value read back"
                    ),
                ),
                (
                    "file",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="clusters.revisionfile"
                    ),
                ),
                (
                    "instance",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="clusters.pgpoolinstance",
                    ),
                ),
                (
                    "rollout",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="steps", to="clusters.rollout"
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="cluster",
            constraint=models.UniqueConstraint(fields=("organisation", "slug"), name="cluster_slug_unique"),
        ),
        migrations.AddConstraint(
            model_name="backend",
            constraint=models.UniqueConstraint(fields=("cluster", "node_id"), name="backend_node_unique"),
        ),
        migrations.AddConstraint(
            model_name="backend",
            constraint=models.CheckConstraint(
                condition=models.Q(("port__gte", 1), ("port__lte", 65535)), name="backend_port_range"
            ),
        ),
        migrations.AddConstraint(
            model_name="configrevision",
            constraint=models.UniqueConstraint(fields=("cluster", "number"), name="revision_number_unique"),
        ),
        migrations.AddConstraint(
            model_name="pgpoolinstance",
            constraint=models.UniqueConstraint(fields=("cluster", "name"), name="instance_name_unique"),
        ),
        migrations.AddConstraint(
            model_name="pgpoolinstance",
            constraint=models.UniqueConstraint(fields=("cluster", "host", "port"), name="instance_address_unique"),
        ),
        migrations.AddConstraint(
            model_name="pgpoolinstance",
            constraint=models.UniqueConstraint(fields=("delivery_target",), name="instance_file_unique"),
        ),
        migrations.AddConstraint(
            model_name="pgpoolinstance",
            constraint=models.CheckConstraint(
                condition=models.Q(("port__gte", 1), ("port__lte", 65535)), name="instance_port_range"
            ),
        ),
        migrations.AddConstraint(
            model_name="pgpoolinstance",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("delivery_kind", "observe"), ("delivery_path", ""), ("delivery_target", None)),
                    models.Q(
                        ("delivery_kind", "local"),
                        ("delivery_target__isnull", False),
                        models.Q(("delivery_path", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="instance_delivery_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="nodelatest",
            constraint=models.UniqueConstraint(fields=("instance", "node_id"), name="node_latest_unique"),
        ),
        migrations.AddConstraint(
            model_name="revisionfile",
            constraint=models.UniqueConstraint(fields=("revision", "instance_name"), name="revision_file_unique"),
        ),
        migrations.AddConstraint(
            model_name="rollout",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ["pending", "running", "paused"])),
                fields=("cluster",),
                name="rollout_one_active_per_cluster",
            ),
        ),
        migrations.AddIndex(
            model_name="clusterevent",
            index=models.Index(fields=["cluster", "-at"], name="event_by_time"),
        ),
        migrations.AddConstraint(
            model_name="rolloutstep",
            constraint=models.UniqueConstraint(fields=("rollout", "position"), name="rollout_step_unique"),
        ),
    ]
