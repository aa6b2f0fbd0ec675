"""How full the query cache of a pgpool is: its whole row as it stands, and its entries over time."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0035_aborted_reads")]
    operations = [
        migrations.AddField(
            "instancelatest",
            "cache_row",
            models.JSONField(null=True, help_text="SHOW POOL_CACHE as domain.show_rows.PoolCache names it"),
        ),
        migrations.RunSQL(
            "ALTER TABLE clusters_instance_sample ADD COLUMN cache_entry_count bigint",
            "ALTER TABLE clusters_instance_sample DROP COLUMN cache_entry_count",
        ),
    ]
