"""What delivery keeps besides the registration: files published for others to apply, and the keys for SSH."""

from django.db import models

from apps.accounts.encryption import EncryptedTextField
from apps.accounts.models import Organisation
from apps.clusters.models.registry import PgpoolInstance


class PublishedFile(models.Model):
    """The pgpool.conf of an instance that is delivered by hand: given when it was registered, then as published."""

    instance = models.OneToOneField(PgpoolInstance, on_delete=models.CASCADE, related_name="published")
    text = EncryptedTextField(help_text="whole, with its passwords")
    sha256 = models.CharField(max_length=64, help_text="of text, in hex")
    published_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.instance_id} {self.sha256[:12]}"


class SshKey(models.Model):
    """The key that Lifeguard shows to the hosts of one organisation."""

    organisation = models.OneToOneField(Organisation, on_delete=models.CASCADE, related_name="ssh_key")
    private_key = EncryptedTextField(help_text="in OpenSSH's format, without a passphrase; never shown")
    public_key = models.TextField(help_text="as in authorized_keys: ssh-ed25519 AAAA… lifeguard@acme")
    is_own = models.BooleanField(default=False, help_text="given by an admin, not made here")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.organisation_id}"
