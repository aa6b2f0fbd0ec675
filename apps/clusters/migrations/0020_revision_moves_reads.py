"""Whether a revision can move reads at all."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0019_instance_config")]
    operations = [
        migrations.AddField(
            model_name="configrevision",
            name="moves_reads",
            field=models.BooleanField(
                default=True,
                help_text="whether it changes weights, or parameters that decide where reads go, or none at all",
            ),
        ),
    ]
