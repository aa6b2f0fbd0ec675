"""The index that events are read by: newest first by key, as their pages are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0005_delay_by_time"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="clusterevent", name="event_by_time"),
        migrations.AddIndex(
            model_name="clusterevent",
            index=models.Index(fields=["cluster", "-id"], name="event_newest_first"),
        ),
    ]
