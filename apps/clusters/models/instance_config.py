"""What was found latest of a pgpool's configuration: its file, what it runs, and how both differ from the verified."""

from django.db import models

from apps.accounts.encryption import EncryptedTextField
from apps.clusters.models.registry import PgpoolInstance


class InstanceConfig(models.Model):
    """A pgpool's file and running values at the latest look. The file is encrypted: it holds passwords."""

    class State(models.TextChoices):
        LOOKING = "looking", "looking"  # not looked at yet
        IN_STEP = "in_step", "in step"
        DRIFTED = "drifted", "drifted"
        UNKNOWN = "unknown", "unknown"  # `reason` says who could not be looked at, and why

    instance = models.OneToOneField(PgpoolInstance, on_delete=models.CASCADE, primary_key=True, related_name="config")
    running = models.JSONField(default=dict, help_text="PGPOOL SHOW ALL: name -> value; passwords are masked")
    running_at = models.DateTimeField(null=True, help_text="when it was shown latest")
    file_text = EncryptedTextField(blank=True, default="")
    file_sha256 = models.CharField(max_length=64, blank=True, help_text="of file_text, in hex; empty until it was read")
    file_since = models.DateTimeField(null=True, help_text="when the file was first found as it is")
    first_text = EncryptedTextField(blank=True, default="", help_text="the file as it was found first")
    looked_at = models.DateTimeField(null=True, help_text="latest attempt")
    state = models.CharField(max_length=8, choices=State.choices, default=State.LOOKING)
    since = models.DateTimeField(null=True, help_text="when it was first found to differ as it does")
    reason = models.TextField(blank=True, help_text="why it could not be looked at, and what mends it")
    differences = models.JSONField(
        default=list, help_text='as [{"parameter": …, "verified": …, "file": …, "running": …, "kind": …}], masked'
    )
    is_other_text = models.BooleanField(default=False, help_text="the file is not, byte for byte, the verified one")
    fault = models.TextField(blank=True, help_text="why the file could not be adopted as it stands")
    revision_number = models.PositiveIntegerField(
        null=True, help_text="compared with this revision; null: with the file as it was found first"
    )
    lease_holder = models.CharField(max_length=120, blank=True)
    lease_expires_at = models.DateTimeField(null=True, help_text="by the database's clock")

    class Meta:
        db_table = "clusters_instance_config"

    def __str__(self) -> str:
        return f"{self.instance_id} {self.state}"
