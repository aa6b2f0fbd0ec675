"""What is found of every pgpool's configuration, held against what was verified."""

import django.db.models.deletion
from django.db import migrations, models

import apps.accounts.encryption


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0018_rollout_plans"),
    ]

    operations = [
        migrations.CreateModel(
            name="InstanceConfig",
            fields=[
                (
                    "instance",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="config",
                        serialize=False,
                        to="clusters.pgpoolinstance",
                    ),
                ),
                (
                    "running",
                    models.JSONField(default=dict, help_text="PGPOOL SHOW ALL: name -> value; passwords are masked"),
                ),
                ("running_at", models.DateTimeField(help_text="when it was shown latest", null=True)),
                ("file_text", apps.accounts.encryption.EncryptedTextField(blank=True, default="")),
                (
                    "file_sha256",
                    models.CharField(
                        blank=True, help_text="of file_text, in hex; empty until it was read", max_length=64
                    ),
                ),
                ("file_since", models.DateTimeField(help_text="when the file was first found as it is", null=True)),
                (
                    "first_text",
                    apps.accounts.encryption.EncryptedTextField(
                        blank=True, default="", help_text="the file as it was found first"
                    ),
                ),
                ("looked_at", models.DateTimeField(help_text="latest attempt", null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("looking", "looking"),
                            ("in_step", "in step"),
                            ("drifted", "drifted"),
                            ("unknown", "unknown"),
                        ],
                        default="looking",
                        max_length=8,
                    ),
                ),
                ("since", models.DateTimeField(help_text="when it was first found to differ as it does", null=True)),
                ("reason", models.TextField(blank=True, help_text="why it could not be looked at, and what mends it")),
                (
                    "differences",
                    models.JSONField(
                        default=list,
                        help_text='as [{"parameter": …, "verified": …, "file": …, "running": …, "kind": …}], masked',
                    ),
                ),
                (
                    "is_other_text",
                    models.BooleanField(default=False, help_text="the file is not, byte for byte, the verified one"),
                ),
                ("fault", models.TextField(blank=True, help_text="why the file could not be adopted as it stands")),
                (
                    "revision_number",
                    models.PositiveIntegerField(
                        help_text="compared with this revision; null: with the file as it was found first", null=True
                    ),
                ),
                ("lease_holder", models.CharField(blank=True, max_length=120)),
                ("lease_expires_at", models.DateTimeField(help_text="by the database's clock", null=True)),
            ],
            options={
                "db_table": "clusters_instance_config",
            },
        ),
        migrations.AlterField(
            model_name="clusterevent",
            name="kind",
            field=models.CharField(
                choices=[
                    ("registered", "registered"),
                    ("registry", "registration changed"),
                    ("instance", "pgpool instance"),
                    ("backend", "backend"),
                    ("role", "role"),
                    ("weights", "weights"),
                    ("restart", "restart"),
                    ("rollout", "rollout"),
                    ("writes", "writes stopped or allowed"),
                    ("drift", "changed by hand"),
                ],
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="configrevision",
            name="origin",
            field=models.CharField(
                choices=[
                    ("live", "found on the pgpools"),
                    ("edit", "edited here"),
                    ("rollback", "rolled back to"),
                    ("adopted", "edited by hand, adopted"),
                    ("reverted", "back to what was verified"),
                ],
                max_length=10,
            ),
        ),
    ]
