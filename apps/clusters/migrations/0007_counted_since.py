"""Since when the counters of a pgpool are read without a break: long ranges need not read every sample then."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0006_events_newest_first")]
    operations = [
        migrations.RunSQL(
            "ALTER TABLE clusters_instance_sample ADD COLUMN counted_since timestamptz",
            "ALTER TABLE clusters_instance_sample DROP COLUMN counted_since",
        ),
        migrations.AddField(
            model_name="instancelatest",
            name="counted_since",
            field=models.DateTimeField(
                help_text="its counters were read without a break since then, and never restarted", null=True
            ),
        ),
    ]
