"""delay_threshold_by_time, and since when a backend's lag is told to be over the threshold."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0004_other_ports_in_range"),
    ]

    operations = [
        migrations.AddField(
            model_name="cluster",
            name="delay_threshold_s",
            field=models.FloatField(
                blank=True,
                help_text="delay_threshold_by_time of Pgpool-II 4.4 and up; above 0 only it counts",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="backendlatest",
            name="lag_over_at",
            field=models.DateTimeField(
                help_text="when the lag was over delay_threshold latest; null once its end was told", null=True
            ),
        ),
    ]
