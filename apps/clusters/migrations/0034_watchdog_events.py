"""Changes of the watchdog are events; what it was like before is kept with the cluster, so that each is told once."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0033_absent_pgpools_by_role")]
    operations = [
        migrations.AddField(
            model_name="cluster",
            name="watchdog",
            field=models.JSONField(
                blank=True,
                default=dict,
                help_text="what the watchdogs agreed on latest: leader, has_quorum, gone; {} for nothing",
            ),
        ),
        migrations.AlterField(
            model_name="clusterevent",
            name="kind",
            field=models.CharField(
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
                ],
                max_length=12,
            ),
        ),
    ]
