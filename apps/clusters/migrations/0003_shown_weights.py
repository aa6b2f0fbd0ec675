"""Raw weights as PGPOOL SHOW prints them, beside the version of a pgpool."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0002_samples"),
    ]

    operations = [
        migrations.AddField(
            model_name="pgpoolinstance",
            name="shown_weights",
            field=models.JSONField(
                blank=True,
                default=dict,
                help_text='backend_weight as PGPOOL SHOW printed it latest, as {"0": 0, "1": 500}',
            ),
        ),
    ]
