"""Revisions of a cluster's configuration: the whole pgpool.conf of every instance, immutable."""

from django.db import models

from apps.accounts.encryption import EncryptedTextField
from apps.accounts.models import User
from apps.clusters.models.registry import Cluster, PgpoolInstance


class ConfigRevision(models.Model):
    """What the pgpools of a cluster shall run, or were found running."""

    class Origin(models.TextChoices):
        LIVE = "live", "found on the pgpools"
        EDIT = "edit", "edited here"
        ROLLBACK = "rollback", "rolled back to"
        ADOPTED = "adopted", "edited by hand, adopted"
        REVERTED = "reverted", "back to what was verified"
        OWED = "owed", "owed, given on return"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField(help_text="counts up in the cluster from 1")
    origin = models.CharField(max_length=10, choices=Origin.choices)
    note = models.CharField(max_length=500, blank=True, help_text="why, in the words of its author")
    weights = models.JSONField(
        help_text='instance name -> {node_id: integer weight}, as {"pgpool-1": {"0": 0, "1": 1}}'
    )
    parameters = models.JSONField(
        default=dict,
        blank=True,
        help_text="instance name -> names but weights that this revision changes or confirms; they are read back",
    )
    moves_reads = models.BooleanField(
        default=True, help_text="whether it changes weights, or parameters that decide where reads go, or none at all"
    )
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    author_name = models.CharField(max_length=254)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "number"], name="revision_number_unique")]

    def __str__(self) -> str:
        return f"revision {self.number}"

    @property
    def parameter_names(self) -> list[str]:
        """Of all pgpools, but for weights."""
        return sorted(set[str]().union(*self.parameters.values()))


class RevisionFile(models.Model):
    """One instance's pgpool.conf in a revision. Encrypted: it holds passwords."""

    revision = models.ForeignKey(ConfigRevision, on_delete=models.CASCADE, related_name="files")
    # The history outlives the instance: its name stands in instance_name.
    instance = models.ForeignKey(PgpoolInstance, on_delete=models.SET_NULL, null=True, related_name="+")
    instance_name = models.CharField(max_length=80)
    text = EncryptedTextField()
    sha256 = models.CharField(max_length=64, help_text="of text, in hex")
    base_text = EncryptedTextField(help_text="the live file that this one was made from")
    base_sha256 = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["revision", "instance_name"], name="revision_file_unique")]

    def __str__(self) -> str:
        return f"{self.instance_name} in {self.revision_id}"

    @property
    def is_as_before(self) -> bool:
        """Whether carrying it there changes no byte."""
        return self.sha256 == self.base_sha256
