"""What each backend counted as cancelled, beside its other samples: a guard of rollouts compares how fast it grows."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("clusters", "0034_watchdog_events")]
    operations = [
        migrations.RunSQL(
            "ALTER TABLE clusters_backend_sample ADD COLUMN aborted_count bigint",
            "ALTER TABLE clusters_backend_sample DROP COLUMN aborted_count",
        ),
    ]
