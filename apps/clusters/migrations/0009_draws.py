"""How many draws of a backend stand behind the reads of a pgpool."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0008_renumbered")]
    operations = [
        migrations.AddField(
            model_name="instancelatest",
            name="draws_per_read",
            field=models.FloatField(
                help_text="independent draws of a backend behind one read, of the latest half hour that told it",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="instancelatest",
            name="draws_at",
            field=models.DateTimeField(help_text="when draws_per_read was measured latest", null=True),
        ),
    ]
