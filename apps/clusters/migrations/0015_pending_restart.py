"""What waits for a restart of a pgpool."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0014_revision_parameters")]
    operations = [
        migrations.CreateModel(
            name="PendingRestart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("wanted", models.TextField(help_text="as pgpool.conf says it")),
                ("running", models.TextField(help_text="as PGPOOL SHOW printed it")),
                (
                    "since",
                    models.DateTimeField(help_text="when the file and the running pgpool were first seen to differ"),
                ),
                (
                    "instance",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pending_restarts",
                        to="clusters.pgpoolinstance",
                    ),
                ),
                (
                    "rollout",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="clusters.rollout",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("instance", "name"), name="pending_restart_unique")],
            },
        ),
    ]
