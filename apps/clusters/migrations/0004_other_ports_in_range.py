"""The PCP port of a pgpool and the direct port of a backend are ports too, where they are given."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0003_shown_weights"),
    ]

    operations = [
        migrations.AddConstraint(
            model_name="pgpoolinstance",
            constraint=models.CheckConstraint(
                condition=Q(pcp_port__gte=1, pcp_port__lte=65535), name="instance_pcp_port_range"
            ),
        ),
        migrations.AddConstraint(
            model_name="backend",
            constraint=models.CheckConstraint(
                condition=Q(direct_port__gte=1, direct_port__lte=65535), name="backend_direct_port_range"
            ),
        ),
    ]
