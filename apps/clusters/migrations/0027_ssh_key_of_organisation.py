"""The key for SSH is found through its organisation, so that it can be loaded with it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0026_connection_limit")]
    operations = [
        migrations.AlterField(
            model_name="sshkey",
            name="organisation",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="ssh_key", to="accounts.organisation"
            ),
        ),
    ]
