"""The index that the audit trail is read by: newest first by key, as its pages are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="auditentry", name="audit_by_time"),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["organisation", "-id"], name="audit_newest_first"),
        ),
    ]
