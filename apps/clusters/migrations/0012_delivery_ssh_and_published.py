"""Two more ways of delivery: SSH, with a key for each organisation, and files that others apply."""

import django.db.models.deletion
from django.db import migrations, models

import apps.accounts.encryption


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_audit_newest_first"),
        ("clusters", "0011_figures_at"),
    ]

    operations = [
        migrations.CreateModel(
            name="PublishedFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", apps.accounts.encryption.EncryptedTextField(help_text="whole, with its passwords")),
                ("sha256", models.CharField(help_text="of text, in hex", max_length=64)),
                ("published_at", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name="SshKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "private_key",
                    apps.accounts.encryption.EncryptedTextField(
                        help_text="in OpenSSH's format, without a passphrase; never shown"
                    ),
                ),
                ("public_key", models.TextField(help_text="as in authorized_keys: ssh-ed25519 AAAA… lifeguard@acme")),
                ("is_own", models.BooleanField(default=False, help_text="given by an admin, not made here")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="pgpoolinstance",
            name="instance_delivery_whole",
        ),
        migrations.AddField(
            model_name="pgpoolinstance",
            name="has_sudo",
            field=models.BooleanField(default=False, help_text="the script on the pgpool's host runs by sudo"),
        ),
        migrations.AddField(
            model_name="pgpoolinstance",
            name="longest_wait_h",
            field=models.PositiveSmallIntegerField(
                default=24, help_text="hours that a rollout waits for a published file to be applied"
            ),
        ),
        migrations.AddField(
            model_name="pgpoolinstance",
            name="ssh_host",
            field=models.CharField(blank=True, help_text="where sshd answers; of SSH delivery only", max_length=253),
        ),
        migrations.AddField(
            model_name="pgpoolinstance",
            name="ssh_host_key",
            field=models.CharField(
                blank=True, help_text="as in known_hosts: ssh-ed25519 AAAA…; no other is talked to", max_length=2000
            ),
        ),
        migrations.AddField(
            model_name="pgpoolinstance",
            name="ssh_port",
            field=models.PositiveIntegerField(default=22),
        ),
        migrations.AddField(
            model_name="pgpoolinstance",
            name="ssh_username",
            field=models.CharField(blank=True, max_length=63),
        ),
        migrations.AlterField(
            model_name="pgpoolinstance",
            name="delivery_kind",
            field=models.CharField(
                choices=[("observe", "observe only"), ("local", "local file"), ("ssh", "SSH"), ("manual", "by hand")],
                default="observe",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="pgpoolinstance",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("delivery_kind__in", ["observe", "manual"]), ("delivery_path", ""), ("delivery_target", None)
                    ),
                    models.Q(
                        ("delivery_kind__in", ["local", "ssh"]),
                        ("delivery_target__isnull", False),
                        models.Q(("delivery_path", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="instance_delivery_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="pgpoolinstance",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("delivery_kind", "ssh"), _negated=True),
                    models.Q(
                        ("ssh_host", ""), ("ssh_username", ""), ("ssh_host_key", ""), _connector="OR", _negated=True
                    ),
                    _connector="OR",
                ),
                name="instance_ssh_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="pgpoolinstance",
            constraint=models.CheckConstraint(
                condition=models.Q(("ssh_port__gte", 1), ("ssh_port__lte", 65535)), name="instance_ssh_port_range"
            ),
        ),
        migrations.AddField(
            model_name="publishedfile",
            name="instance",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="published", to="clusters.pgpoolinstance"
            ),
        ),
        migrations.AddField(
            model_name="sshkey",
            name="organisation",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.organisation"
            ),
        ),
    ]
