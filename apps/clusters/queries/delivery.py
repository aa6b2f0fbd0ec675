"""What is published for others to apply, and the key that Lifeguard shows to hosts; never its private half."""

from datetime import datetime
from typing import TypedDict

from django.http import Http404

from apps.accounts.models import Organisation
from apps.clusters.control import writes
from apps.clusters.domain import pgpool_conf
from apps.clusters.models import PgpoolInstance, PublishedFile, SshKey
from apps.clusters.outside.delivery import ssh_agent
from apps.clusters.outside.delivery.ssh_keys import fingerprint
from apps.clusters.registry.ssh_accounts import agent_of, authorized_line, key_of

EXAMPLE_PATH = "/etc/pgpool2/pgpool.conf"


class PublishedAnswer(TypedDict):
    """text: with its secrets masked. withheld: why nobody is given the file now; empty if it is given."""

    instance: str
    sha256: str
    published_at: datetime
    text: str
    withheld: str


class AgentKey(TypedDict):
    """authorized_keys: its line for the account on a host."""

    public_key: str
    fingerprint: str
    authorized_keys: str


class AgentAnswer(TypedDict):
    """The ssh-agent that signs. trouble: why its keys are not known here; empty where they are."""

    keys: list[AgentKey]
    trouble: str


class SshKeyAnswer(TypedDict):
    """public_key, fingerprint, is_own (given by an admin, not made here), created_at: of the stored key.

    agent: where one signs; the stored key is offered to no host then. authorized_keys: lines for the account on a host,
    one for each key that is offered.
    """

    public_key: str
    fingerprint: str
    authorized_keys: str
    is_own: bool
    created_at: datetime
    agent: AgentAnswer | None


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
        "withheld": writes.why_not(instance.cluster) or "",
    }


def ssh_key_answer(*, organisation: Organisation, key: SshKey | None = None) -> SshKeyAnswer:
    key = key or key_of(organisation)
    path = agent_of(organisation)
    agent = None if path is None else _agent_answer(path)
    offered = [authorized_line(key.public_key, EXAMPLE_PATH)]
    if agent is not None:
        offered = [each["authorized_keys"] for each in agent["keys"]]
    return {
        "public_key": key.public_key,
        "fingerprint": fingerprint(key.public_key),
        "authorized_keys": "\n".join(offered),
        "is_own": key.is_own,
        "created_at": key.created_at,
        "agent": agent,
    }


def _agent_answer(path: str) -> AgentAnswer:
    found = ssh_agent.look(path)
    keys: list[AgentKey] = [
        {
            "public_key": line,
            "fingerprint": fingerprint(line),
            "authorized_keys": authorized_line(line, EXAMPLE_PATH),
        }
        for line in found.lines
    ]
    return {"keys": keys, "trouble": found.trouble}
