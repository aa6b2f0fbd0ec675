"""The key that an organisation shows to its hosts, and the account on each of them that takes it."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.models import Organisation
from apps.accounts.roles import Role
from apps.clusters.models import PgpoolInstance, SshKey
from apps.clusters.outside.delivery.ssh import SshFile
from apps.clusters.outside.delivery.ssh_keys import KeyPair, fingerprint, given_key, new_key
from apps.clusters.outside.delivery.ssh_session import SshAccount
from apps.clusters.registry.cluster_wanted import PgpoolWanted

SCRIPT_PLACE = "/usr/local/lib/lifeguard/node"


def key_of(organisation: Organisation) -> SshKey:
    """Made when it is needed first."""
    found: SshKey | None = getattr(organisation, "ssh_key", None)
    if found is not None:
        return found
    pair = new_key(_comment(organisation))
    given = {"private_key": pair.private, "public_key": pair.public}
    # Two requests at once: the constraint lets one of them make it, and the other takes that one.
    made, _ = SshKey.objects.get_or_create(organisation=organisation, defaults=given)
    return made


def make_key(*, caller: Caller) -> SshKey:
    """A new key in the place of the old one, which no host needs to know any more."""
    return _replace(caller, new_key(_comment(caller.organisation)), is_own=False)


def take_key(*, caller: Caller, private_key: str) -> SshKey:
    """A key of the organisation's own. Raises KeyRefused."""
    return _replace(caller, given_key(private_key, comment=_comment(caller.organisation)), is_own=True)


def _replace(caller: Caller, pair: KeyPair, *, is_own: bool) -> SshKey:
    caller.require(Role.ADMIN)
    with transaction.atomic():
        before = SshKey.objects.select_for_update().filter(organisation=caller.organisation).first()
        given = {"private_key": pair.private, "public_key": pair.public, "is_own": is_own}
        key, _ = SshKey.objects.update_or_create(organisation=caller.organisation, defaults=given)
        audit.record(
            caller=caller,
            action="ssh_key.replaced",
            target_type="ssh_key",
            target_id=key.pk,
            target_name=fingerprint(key.public_key),
            before=None if before is None else {"fingerprint": fingerprint(before.public_key)},
            after={"fingerprint": fingerprint(key.public_key), "own": is_own},
        )
    return key


def _comment(organisation: Organisation) -> str:
    return f"lifeguard@{organisation.slug}"


def authorized_line(public_key: str, paths: str) -> str:
    """What stands in authorized_keys of the account on the host, with the script as its forced command."""
    return f'command="{SCRIPT_PLACE} {paths}",restrict {public_key}'


def account_for(wanted: PgpoolWanted, organisation: Organisation) -> SshAccount:
    """The account as somebody describes it: its host key is known by the fingerprint that was confirmed."""
    ssh = wanted.delivery.ssh
    return SshAccount(
        host=ssh.host or wanted.host,
        port=ssh.port,
        username=ssh.username,
        private_key=key_of(organisation).private_key,
        expected=ssh.host_key,
        has_sudo=ssh.has_sudo,
        agent=agent_of(organisation),
    )


def target_of(organisation: Organisation, account: SshAccount, path: str) -> str:
    """One writer per file; what another organisation reaches at the same address is no concern of this one."""
    return f"ssh:{organisation.pk}:{account.host.lower()}:{account.port}:{path}"


def ssh_file_of(instance: PgpoolInstance) -> SshFile:
    organisation = instance.cluster.organisation
    account = SshAccount(
        host=instance.ssh_host,
        port=instance.ssh_port,
        username=instance.ssh_username,
        private_key=key_of(organisation).private_key,
        host_key=instance.ssh_host_key,
        has_sudo=instance.has_sudo,
        agent=agent_of(organisation),
    )
    target = instance.delivery_target or ""
    return SshFile(account, instance.delivery_path, target[target.index("/") :])


def agent_of(organisation: Organisation) -> str | None:
    """The socket of an ssh-agent that the installation lets this organisation use."""
    found = (each for each in settings.SSH_AGENTS if each.organisation in (None, organisation.slug))
    return next((str(each.path) for each in found), None)
