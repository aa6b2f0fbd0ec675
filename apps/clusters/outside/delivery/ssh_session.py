"""One request to the script on a pgpool's host: connect, hold the host key to the pinned one, ask, hang up.

There is no password, no forwarded agent, no file of the worker's account: only what the account given here says.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import asyncssh

from apps.clusters.outside.delivery.outcomes import LARGEST_FILE_BYTES
from apps.clusters.outside.delivery.ssh_agent import OfferedKeys
from apps.clusters.outside.delivery.ssh_keys import fingerprint, public_line
from apps.clusters.outside.sockets import DeadlinePassed, Unreachable, by_deadline, resolve

SCRIPT = Path(__file__).with_name("node.sh")
GREETING = b"lifeguard-node 1\n"
CONNECT_DEADLINE_S = 3.0
LARGEST_ANSWER_BYTES = LARGEST_FILE_BYTES + 65536
NOT_FOUND = 127  # what a shell ends with that knows no such command
SshStep = Literal["ssh_host", "ssh_host_key", "ssh_account", "ssh_script"]


@dataclass(frozen=True)
class SshAccount:
    """host_key: the line that is pinned; without one, expected is the fingerprint that somebody has confirmed.

    agent: the socket of an ssh-agent, which then signs in the place of private_key; no other key is offered.
    """

    host: str
    port: int
    username: str
    private_key: str = field(repr=False)
    host_key: str = ""
    expected: str = ""
    has_sudo: bool = False
    agent: str | None = None

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.host_key) if self.host_key else self.expected

    @property
    def place(self) -> str:
        return f"{self.username}@{self.host}:{self.port}"


@dataclass(frozen=True)
class Answer:
    """said: without the greeting. host_key: the line of the key that the host presented."""

    said: bytes
    host_key: str


class SshFailed(Exception):
    """The script on the host could not be asked."""

    def __init__(self, step: SshStep, reason: str, fix: str = "") -> None:
        super().__init__(reason)
        self.step = step
        self.reason = reason
        self.fix = fix


def ask(
    account: SshAccount, words: tuple[str, ...], *, deadline_s: float, text: Callable[[], bytes] | None = None
) -> Answer:
    """words: a request of node.sh, without blanks in any of them. text: its input, made when the script is ready.

    Ends by deadline_s, whatever stands still on the other side. Raises SshFailed.
    """
    return asyncio.run(_ask(account, words, deadline_s=deadline_s, text=text))


class _PinnedHost(asyncssh.SSHClient):
    """Takes one host key only, and remembers which one it was shown. Offers the keys of an agent, if there is one."""

    def __init__(self, expected: str, offered: OfferedKeys | None) -> None:
        self._expected = expected
        self.presented = ""
        self.offered = offered

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.presented = public_line(key)
        return bool(self._expected) and key.get_fingerprint() == self._expected

    async def public_key_auth_requested(self) -> list[asyncssh.SSHKeyPair] | None:
        """Asked whenever no key is left to offer."""
        return await self.offered.take() if self.offered is not None else None


async def _ask(
    account: SshAccount, words: tuple[str, ...], *, deadline_s: float, text: Callable[[], bytes] | None
) -> Answer:
    end = time.monotonic() + deadline_s
    connection, host_key = await _connect(account, deadline_s=min(CONNECT_DEADLINE_S, deadline_s))
    try:
        talk = _talk(connection, account, words, text)
        said = await by_deadline(talk, deadline_s=max(end - time.monotonic(), 0.01), cut=connection.abort)
    except DeadlinePassed as error:
        reason = f"{account.place} signed in, but its script did not answer within {deadline_s:.3g} s"
        raise SshFailed("ssh_script", reason, "Look at the load of that machine and at its disks.") from error
    except (asyncssh.Error, OSError) as error:
        raise SshFailed("ssh_script", f"the connection to {account.place} was lost: {error}") from error
    finally:
        connection.abort()
    return Answer(said, host_key)


async def _connect(account: SshAccount, *, deadline_s: float) -> tuple[asyncssh.SSHClientConnection, str]:
    """(connection, the line of the host's key), at the first address of its name that answers.

    Each address has its share of the time that is left. Another host key, or a refused account, is an answer.
    """
    end = time.monotonic() + deadline_s
    try:
        addresses = await resolve(account.host, account.port, deadline_s=deadline_s)
    except Unreachable as error:
        raise SshFailed("ssh_host", error.reason, error.fix) from error
    failed: list[_NoAnswer] = []
    for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
        share_s = max(end - time.monotonic(), 0.01) / left
        try:
            return await _connect_to(account, address, deadline_s=share_s)
        except _NoAnswer as error:
            failed.append(error)
    raise _unreached(account, failed, deadline_s=deadline_s)


class _NoAnswer(Exception):
    """Nothing that speaks SSH answered at this address. reason: empty where it was silent."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address}: {reason or 'no answer in time'}")
        self.reason = reason


async def _connect_to(
    account: SshAccount, address: str, *, deadline_s: float
) -> tuple[asyncssh.SSHClientConnection, str]:
    """Raises _NoAnswer, where another address may answer, or SshFailed."""
    offered = OfferedKeys(account.agent) if account.agent is not None else None
    client = _PinnedHost(account.fingerprint, offered)
    attempt = asyncssh.connect(address, account.port, **_options(account, client))
    try:
        return await by_deadline(_awaited(attempt), deadline_s=deadline_s), client.presented
    except DeadlinePassed as error:
        if offered is not None and offered.is_asking:
            raise _agent_failed("does not answer") from error
        raise _NoAnswer(address, "") from error
    except asyncssh.HostKeyNotVerifiable as error:
        raise _other_host_key(account, client.presented) from error
    except asyncssh.PermissionDenied as error:
        raise _not_let_in(account, offered) from error
    except (asyncssh.Error, OSError) as error:
        raise _NoAnswer(address, str(getattr(error, "reason", "") or error)) from error
    finally:
        if offered is not None:
            offered.close()


def _unreached(account: SshAccount, failed: Sequence[_NoAnswer], *, deadline_s: float) -> SshFailed:
    place = f"{account.host}:{account.port}"
    if len(failed) > 1:
        told = "; ".join(map(str, failed))
        return SshFailed(
            "ssh_host", f"{place} answers at none of its addresses: {told}", "Check that sshd runs and listens there."
        )
    [only] = failed
    if only.reason:
        return SshFailed(
            "ssh_host", f"{place} cannot be reached: {only.reason}", "Check that sshd runs and listens there."
        )
    fix = f"Check that a firewall lets this machine reach it, and that sshd is not frozen: ssh -v {account.host}"
    return SshFailed("ssh_host", f"{place} did not answer within {deadline_s:.3g} s", fix)


def _not_let_in(account: SshAccount, offered: OfferedKeys | None) -> SshFailed:
    authorized = f"~{account.username}/.ssh/authorized_keys"
    refused = f"{account.host}:{account.port} does not let {account.username} in"
    if offered is None:
        fix = f"Put the line that is shown beside the key into {authorized} there."
        return SshFailed("ssh_account", f"{refused} with Lifeguard's key", fix)
    if offered.trouble:
        return _agent_failed(offered.trouble)
    if not offered.count:
        return _agent_failed("holds no key")
    fix = f"Put the line of one of its keys, as Settings → SSH key shows them, into {authorized} there."
    return SshFailed("ssh_account", f"{refused} with a key of Lifeguard's ssh-agent ({offered.count} offered)", fix)


def _agent_failed(what: str) -> SshFailed:
    fix = "Look at LIFEGUARD_SSH_AGENT and at that agent: SSH_AUTH_SOCK=… ssh-add -l, as the worker's account."
    return SshFailed("ssh_account", f"the ssh-agent that signs for Lifeguard {what}", fix)


async def _awaited(attempt: Any) -> asyncssh.SSHClientConnection:
    """asyncssh gives an object that can be awaited and entered; a task needs a coroutine."""
    connection: asyncssh.SSHClientConnection = await attempt
    return connection


def _options(account: SshAccount, client: _PinnedHost) -> dict[str, Any]:
    options: dict[str, Any] = {
        "client_factory": lambda: client,
        "config": None,
        "username": account.username,
        "known_hosts": ([], [], []),
        # None, and nothing that is merely empty: asyncssh would look for keys in the home of the worker's account.
        "client_keys": [asyncssh.import_private_key(account.private_key)] if account.agent is None else None,
        "agent_path": None,
        "agent_forwarding": False,
        "preferred_auth": "publickey",
        "gss_kex": False,
        "gss_auth": False,
        "keepalive_interval": 0,
        "compression_algs": None,
    }
    if account.host_key:
        # The host is asked for the kind of key that is pinned first; it may have gained better ones since.
        options["server_host_key_algs"] = f"^{_algorithms(account.host_key)}"
    return options


def _algorithms(line: str) -> str:
    kind = line.split(" ", 1)[0]
    return "rsa-sha2-256,rsa-sha2-512" if kind == "ssh-rsa" else kind


def _other_host_key(account: SshAccount, presented: str) -> SshFailed:
    kind, shown = presented.split(" ", 1)[0], fingerprint(presented)
    place = f"{account.host}:{account.port}"
    if not account.fingerprint:
        reason = f"{place} presents the host key {shown} ({kind}), which nobody has confirmed yet"
        fix = f"ssh-keygen -lf /etc/ssh/ssh_host_{kind.removeprefix('ssh-').split('-')[0]}_key.pub"
        return SshFailed("ssh_host_key", reason, fix)
    reason = (
        f"{place} presents another host key than the one that was confirmed: {shown} ({kind}), not "
        f"{account.fingerprint}. It may be another machine; nothing was sent to it"
    )
    fix = "If the host was set up anew, confirm its new key where the pgpool is changed."
    return SshFailed("ssh_host_key", reason, fix)


async def _talk(
    connection: asyncssh.SSHClientConnection,
    account: SshAccount,
    words: tuple[str, ...],
    text: Callable[[], bytes] | None,
) -> bytes:
    request = " ".join(["lifeguard-node", *(["sudo"] if account.has_sudo else []), *words])
    code, said, complaint = await _run(connection, request, text)
    if code == NOT_FOUND and not said.startswith(GREETING):
        # No forced command, but a shell: it is given the script, which then touches this one file.
        code, said, complaint = await _run(connection, _with_script(words, has_sudo=account.has_sudo), text)
    if not said.startswith(GREETING):
        told = " ".join((complaint or said).decode(errors="replace").split())[:200] or f"code {code}"
        reason = f"{account.place} runs something else than Lifeguard's script: {told}"
        fix = "Install the script and its forced command as docs/ssh-delivery.md says, with the sudoers line for sudo."
        raise SshFailed("ssh_script", reason, fix)
    return said.removeprefix(GREETING)


def _with_script(words: tuple[str, ...], *, has_sudo: bool) -> str:
    request = [words[1], "--", *(["sudo"] if has_sudo else []), *words]
    return shlex.join(["env", "LIFEGUARD_SENT=1", "sh", "-c", SCRIPT.read_text(), "lifeguard-node", *request])


async def _run(
    connection: asyncssh.SSHClientConnection, command: str, text: Callable[[], bytes] | None
) -> tuple[int | None, bytes, bytes]:
    process = await connection.create_process(command, encoding=None)
    said = b""
    if text is not None:
        said = await _until_ready(process.stdout)
        if said.endswith(b"ready\n"):
            process.stdin.write(text())
    process.stdin.write_eof()
    while len(said) < LARGEST_ANSWER_BYTES and (more := await process.stdout.read(65536)):
        said += more
    complaint = await process.stderr.read(2000)
    process.close()
    await process.wait_closed()
    return process.exit_status, said, complaint


async def _until_ready(output: asyncssh.SSHReader[bytes]) -> bytes:
    """What the script says before it takes its input; whatever delays it, the time left is told only then."""
    said = b""
    while line := await output.readline():
        said += line
        if line == b"ready\n" or line.startswith(b"refused ") or len(said) > 4000:
            break
    return said
