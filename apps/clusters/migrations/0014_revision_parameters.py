"""Which parameters a revision changes or confirms."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0013_writes_switch")]
    operations = [
        migrations.AddField(
            model_name="configrevision",
            name="parameters",
            field=models.JSONField(
                blank=True,
                default=dict,
                help_text="instance name -> names but weights that this revision changes or confirms; "
                "they are read back",
            ),
        ),
    ]
