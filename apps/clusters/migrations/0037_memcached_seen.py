"""Whether the memcached that a pgpool caches in answers, and its changes as events."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0036_cache_sizes")]
    operations = [
        migrations.AddField(
            "instancelatest",
            "memcached",
            models.JSONField(
                null=True,
                help_text="what is seen of the memcached that it caches in, as domain.memcached_seen keeps it",
            ),
        ),
        migrations.AlterField(
            "clusterevent",
            "kind",
            models.CharField(
                choices=[
                    ("registered", "registered"),
                    ("registry", "registration changed"),
                    ("instance", "pgpool instance"),
                    ("backend", "backend"),
                    ("role", "role"),
                    ("weights", "weights"),
                    ("restart", "restart"),
                    ("rollout", "rollout"),
                    ("writes", "writes stopped or allowed"),
                    ("drift", "changed by hand"),
                    ("watchdog", "watchdog"),
                    ("memcached", "memcached"),
                ],
                max_length=12,
            ),
        ),
    ]
