"""A state more of a pgpool: it answers, but its numbers mean other backends than registered."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("clusters", "0007_counted_since")]
    operations = [
        migrations.AlterField(
            model_name="instancelatest",
            name="state",
            field=models.CharField(
                choices=[
                    ("answering", "answering"),
                    ("hanging", "hanging"),
                    ("unreachable", "unreachable"),
                    ("refused", "refused"),
                    ("renumbered", "renumbered"),
                ],
                max_length=12,
            ),
        ),
    ]
