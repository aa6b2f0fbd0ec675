"""Drafts count their changes, so that nobody rolls out another draft than the one that was looked at."""

from django.db import migrations, models

import apps.accounts.encryption


class Migration(migrations.Migration):
    dependencies = [("clusters", "0027_ssh_key_of_organisation")]
    operations = [
        migrations.AddField(
            model_name="configdraft",
            name="version",
            field=models.PositiveIntegerField(default=1, help_text="counts up with every change"),
        ),
        migrations.AlterField(
            model_name="configdraft",
            name="base_revision",
            field=models.PositiveIntegerField(
                help_text="the latest revision when it was begun or looked at since; 0 for none"
            ),
        ),
        migrations.AlterField(
            model_name="configdraft",
            name="wishes",
            field=apps.accounts.encryption.EncryptedTextField(
                help_text="JSON: parameters, per_instance and weights, as PUT parameters/ takes them, and who touched each"
            ),
        ),
    ]
