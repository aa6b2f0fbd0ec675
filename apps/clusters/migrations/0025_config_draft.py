"""Changes that somebody has gathered and not rolled out."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import apps.accounts.encryption


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("clusters", "0024_backend_operations"),
    ]
    operations = [
        migrations.CreateModel(
            name="ConfigDraft",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "wishes",
                    apps.accounts.encryption.EncryptedTextField(
                        help_text="JSON: parameters, per_instance and weights, as PUT parameters/ takes them"
                    ),
                ),
                ("count", models.PositiveSmallIntegerField(help_text="how many changes it holds")),
                (
                    "base_revision",
                    models.PositiveIntegerField(help_text="the latest revision when it was begun; 0 for none"),
                ),
                ("begun_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="drafts", to="clusters.cluster"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("cluster", "author"), name="draft_one_per_person")],
            },
        ),
    ]
