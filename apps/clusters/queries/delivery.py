"""What is published for others to apply, and the key that Lifeguard shows to hosts; never its private half."""

from datetime import datetime
from typing import TypedDict

from django.http import Http404

from apps.accounts.models import Organisation
from apps.clusters.domain import pgpool_conf
from apps.clusters.models import PgpoolInstance, PublishedFile, SshKey
from apps.clusters.outside.delivery.ssh_keys import fingerprint
from apps.clusters.registry.ssh_accounts import authorized_line, key_of

EXAMPLE_PATH = "/etc/pgpool2/pgpool.conf"


class PublishedAnswer(TypedDict):
    """text: with its secrets masked."""

    instance: str
    sha256: str
    published_at: datetime
    text: str


class SshKeyAnswer(TypedDict):
    """authorized_keys: the line for the account on a host. is_own: given by an admin, not made here."""

    public_key: str
    fingerprint: str
    authorized_keys: str
    is_own: bool
    created_at: datetime


def published_file(*, instance: PgpoolInstance) -> PublishedFile:
    found = PublishedFile.objects.filter(instance=instance).first()
    if found is None:
        raise Http404(f"{instance.name} is not delivered by hand, so nothing is published for it.")
    return found


def published_answer(*, instance: PgpoolInstance) -> PublishedAnswer:
    found = published_file(instance=instance)
    return {
        "instance": instance.name,
        "sha256": found.sha256,
        "published_at": found.published_at,
        "text": pgpool_conf.mask_secrets(found.text),
    }


def ssh_key_answer(*, organisation: Organisation, key: SshKey | None = None) -> SshKeyAnswer:
    key = key or key_of(organisation)
    return {
        "public_key": key.public_key,
        "fingerprint": fingerprint(key.public_key),
        "authorized_keys": authorized_line(key, EXAMPLE_PATH),
        "is_own": key.is_own,
        "created_at": key.created_at,
    }
