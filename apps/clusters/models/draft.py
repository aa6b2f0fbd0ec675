"""Changes that somebody has gathered and not rolled out."""

from django.db import models

from apps.accounts.encryption import EncryptedTextField
from apps.accounts.models import User
from apps.clusters.models.registry import Cluster


class ConfigDraft(models.Model):
    """One person's draft for one cluster: weights and parameters together."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="drafts")
    author = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    # Encrypted: a value may be a password.
    wishes = EncryptedTextField(
        help_text="JSON: parameters, per_instance and weights, as PUT parameters/ takes them, and who touched each"
    )
    count = models.PositiveSmallIntegerField(help_text="how many changes it holds")
    base_revision = models.PositiveIntegerField(
        help_text="the latest revision when it was begun or looked at since; 0 for none"
    )
    version = models.PositiveIntegerField(default=1, help_text="counts up with every change")
    begun_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "author"], name="draft_one_per_person")]

    def __str__(self) -> str:
        return f"draft of {self.author_id} for {self.cluster_id}"
