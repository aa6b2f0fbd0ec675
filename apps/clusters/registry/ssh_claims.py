"""The way to a pgpool.conf by SSH, step by step: host, host key, account, script; then the file itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from apps.accounts.models import Organisation
from apps.clusters.outside.delivery import DryRunRejected, FileUnreadable, UnknownDelivery
from apps.clusters.outside.delivery.ssh import NodeFile, SshFile
from apps.clusters.outside.delivery.ssh_keys import fingerprint
from apps.clusters.outside.delivery.ssh_session import SshAccount, SshFailed
from apps.clusters.registry.cluster_wanted import PLAIN_PATH, PLAIN_USER
from apps.clusters.registry.connection_survey import AskedPgpool, State, SurveyStep
from apps.clusters.registry.ssh_accounts import account_for, authorized_line, key_of

STEPS = ("ssh_host", "ssh_host_key", "ssh_account", "ssh_script")
AT_ONCE = 16
# Step that failed -> field of the delivery that it is told at.
FIELDS = {"ssh_host": "host", "ssh_host_key": "host_key", "ssh_account": "user", "ssh_script": "user"}


@dataclass(frozen=True)
class SshLook:
    """steps: up to the one that failed. node: None if one did. field: where that is told."""

    account: SshAccount
    steps: tuple[SurveyStep, ...]
    node: NodeFile | None = None
    field: str = "path"
    error: str | None = None


@dataclass(frozen=True)
class SshHosts:
    """Those that are delivered to by SSH, and the account of each. line: of authorized_keys, with {path} in it."""

    pgpools: tuple[AskedPgpool, ...] = ()
    accounts: tuple[SshAccount, ...] = ()
    line: str = ""


def hosts_of(asked: Sequence[AskedPgpool], organisation: Organisation) -> SshHosts:
    by_ssh = tuple(each for each in asked if each.wanted.delivery.kind == "ssh")
    if not by_ssh:
        return SshHosts()
    accounts = tuple(account_for(each.wanted, organisation) for each in by_ssh)
    return SshHosts(by_ssh, accounts, authorized_line(key_of(organisation).public_key, "{path}"))


def look_at_all(hosts: SshHosts) -> Mapping[str, SshLook]:
    """Field of a pgpool -> what was found on its host. All hosts at once: one that is frozen delays no other."""
    if not hosts.pgpools:
        return {}
    with ThreadPoolExecutor(max_workers=AT_ONCE) as threads:
        looks = threads.map(_look, hosts.pgpools, hosts.accounts, [hosts.line] * len(hosts.pgpools))
        return {each.field: look for each, look in zip(hosts.pgpools, looks, strict=True)}


def _look(asked: AskedPgpool, account: SshAccount, line: str) -> SshLook:
    path = asked.wanted.delivery.path
    if not PLAIN_PATH.fullmatch(path) or not PLAIN_USER.fullmatch(account.username):
        raise UnknownDelivery(f"ssh {account.username} {path}")  # no door lets such a wish in
    file = SshFile(account, path)
    try:
        node = file.look()
    except FileUnreadable as error:
        return _unreadable(asked, account, error, line.replace("{path}", path))
    steps = [*_reached(asked, account, node), _written(asked, node)]
    if node.obstacle:
        return SshLook(account, tuple(steps), error=steps[-1].text)
    try:
        note = file.dry_run(node.live.text)
    except DryRunRejected as error:
        steps.append(SurveyStep(asked.target, "ssh_dry_run", "failed", str(error)))
        return SshLook(account, tuple(steps), error=str(error))
    state: State = "ok" if note.is_available else "warning"
    steps.append(SurveyStep(asked.target, "ssh_dry_run", state, note.note))
    return SshLook(account, tuple(steps), node)


def _unreadable(asked: AskedPgpool, account: SshAccount, error: FileUnreadable, line: str) -> SshLook:
    cause = error.__cause__
    if isinstance(cause, SshFailed):
        is_for_key = cause.step == "ssh_account" and account.agent is None
        return _failed(asked, account, cause.step, cause.reason, line if is_for_key else cause.fix)
    return _failed(asked, account, "delivery", str(error))


def _failed(asked: AskedPgpool, account: SshAccount, step: str, text: str, fix: str = "") -> SshLook:
    """The steps before it went well, those after it were not tried."""
    steps = []
    reached = STEPS.index(step) if step in STEPS else len(STEPS)
    if step != "delivery" or not text.startswith(asked.wanted.delivery.path):
        steps = [SurveyStep(asked.target, each, "ok", _words(each, account)) for each in STEPS[:reached]]
    steps.append(SurveyStep(asked.target, step, "failed", text, fix))
    skipped = "not tried, because an earlier step failed"
    steps += [SurveyStep(asked.target, each, "skipped", skipped) for each in STEPS[reached + 1 :]]
    told = f"{text}. {fix}" if fix else text
    return SshLook(account, tuple(steps), field=FIELDS.get(step, "path"), error=told)


def _reached(asked: AskedPgpool, account: SshAccount, node: NodeFile) -> list[SurveyStep]:
    steps = [SurveyStep(asked.target, each, "ok", _words(each, account)) for each in STEPS[:-1]]
    if node.is_open:
        text = f"{account.username} has a shell there, which the script was sent to"
        fix = "Give the key a forced command, as docs/ssh-delivery.md says: it can do anything the account may."
        return [*steps, SurveyStep(asked.target, "ssh_script", "warning", text, fix)]
    sudo = f", by sudo as {node.account}" if account.has_sudo else f" as {node.account}"
    return [*steps, SurveyStep(asked.target, "ssh_script", "ok", f"Lifeguard's script answers{sudo}")]


def _written(asked: AskedPgpool, node: NodeFile) -> SurveyStep:
    if node.obstacle:
        return SurveyStep(asked.target, "delivery", "failed", f"{node.path} cannot be replaced: {node.obstacle}")
    text = f"{node.path} ({node.live.mode}, {node.live.owner}) can be read and replaced"
    return SurveyStep(asked.target, "delivery", "ok", text)


def _words(step: str, account: SshAccount) -> str:
    shown = account.expected or fingerprint(account.host_key)
    return {
        "ssh_host": f"{account.host}:{account.port} answers",
        "ssh_host_key": f"it is the confirmed one, {shown}",
        "ssh_account": f"{account.username} takes Lifeguard's key",
        "ssh_script": "Lifeguard's script answers",
    }[step]
