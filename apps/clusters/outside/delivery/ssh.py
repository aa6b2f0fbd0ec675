"""A pgpool.conf on another host, which the script node.sh there reads, tries, replaces and reloads."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from apps.clusters.outside.delivery.dry_run import DryRun, judged
from apps.clusters.outside.delivery.outcomes import (
    LARGEST_FILE_BYTES,
    FileChanged,
    FileUnreadable,
    LiveFile,
    ReloadFailed,
    ReloadReceipt,
    WriteFailed,
    as_text,
    leads_elsewhere,
    reload_by_pcp,
    sha256_of,
)
from apps.clusters.outside.delivery.restart import LONGEST_S, CommandEnded, RestartNotBegun, words_of
from apps.clusters.outside.delivery.ssh_session import SshAccount, SshFailed, ask
from apps.clusters.outside.pcp import PcpAddress

# Two of them and a reload make an action of a rollout, which must end before its lease.
READ_DEADLINE_S = 3.0
WRITE_DEADLINE_S = 3.5
DRY_RUN_DEADLINE_S = 5.5
RESTART_DEADLINE_S = LONGEST_S + 10.0


@dataclass(frozen=True)
class NodeFile:
    """What the script sees of the file. obstacle: why it cannot be replaced; program: pgpool's, empty without one.

    is_open: the account has a shell and no forced command. host_key: the line that the host presented.
    """

    path: str
    live: LiveFile
    obstacle: str
    program: str
    account: str
    is_open: bool
    host_key: str


class Refused(Exception):
    """The script did nothing, and says why."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(words)
        self.code = code


class SshFile:
    """path: as registered, one of those that the forced command names. target: the file that it led to then."""

    def __init__(self, account: SshAccount, path: str, target: str | None = None) -> None:
        self.account = account
        self.path = path
        self.target = target

    def read(self) -> LiveFile:
        """Raises FileUnreadable."""
        return self.look().live

    def look(self) -> NodeFile:
        """The file and what the account may do with it. Raises FileUnreadable; SshFailed or Refused is its cause."""
        try:
            facts, content, host_key = self._ask("read", deadline_s=READ_DEADLINE_S)
        except (SshFailed, Refused) as error:
            raise FileUnreadable(f"{self._place}: {error}") from error
        found = facts.get("file", "")
        if self.target is not None and found != self.target:
            raise FileUnreadable(f"{self._place} {leads_elsewhere(found, self.target)}")
        mode, _, owner = facts.get("facts", "").partition(" ")
        live = LiveFile(as_text(content, self._place), sha256_of(content), mode.zfill(4), owner)
        return NodeFile(
            path=found,
            live=live,
            obstacle=facts.get("obstacle", ""),
            program=facts.get("pgpool", ""),
            account=facts.get("account", ""),
            is_open=facts.get("shell") == "yes",
            host_key=host_key,
        )

    def dry_run(self, text: str) -> DryRun:
        """Raises DryRunRejected with the words of the pgpool on that host."""
        try:
            facts, said, _ = self._ask("dry-run", deadline_s=DRY_RUN_DEADLINE_S, text=text.encode)
        except (SshFailed, Refused) as error:
            return DryRun(is_available=False, note=f"not parsed beforehand: {error}")
        code = facts.get("code", "")
        return judged(
            said.decode(errors="replace"), candidate=facts.get("file", ""), code=int(code) if code.isdecimal() else -1
        )

    def write(self, text: str, *, expected_sha256: str, rollout_tag: str, not_after: float = math.inf) -> PurePosixPath:
        """As LocalFile.write. The time left is told to the script, which looks at it right before it renames.

        Raises FileChanged or WriteFailed; the live file is untouched then, unless only the answer was lost.
        """
        content = text.encode()
        end = min(not_after, time.monotonic() + WRITE_DEADLINE_S)

        def with_time_left() -> bytes:
            left = max(end - time.monotonic(), 0)
            return b"%d\n%b" % (left * 100, content)

        words = (expected_sha256, sha256_of(content), rollout_tag)
        try:
            facts, _, _ = self._ask("write", *words, deadline_s=WRITE_DEADLINE_S, text=with_time_left)
        except Refused as error:
            if error.code == "changed":
                raise FileChanged(PurePosixPath(self.path), expected_sha256, str(error)) from error
            raise WriteFailed(f"{self._place}: {error}") from error
        except SshFailed as error:
            raise WriteFailed(f"{self._place}: {error}") from error
        if not facts.get("kept"):
            raise WriteFailed(f"{self._place}: the script ended without an outcome; the file is looked at again")
        return PurePosixPath(facts["kept"])

    def reload(self, *, pcp: PcpAddress | None, deadline_s: float) -> ReloadReceipt:
        """By PCP where it is known, else the script sends SIGHUP. Raises ReloadFailed."""
        if pcp is not None:
            return reload_by_pcp(pcp, deadline_s=deadline_s)
        try:
            facts, _, _ = self._ask("reload", deadline_s=deadline_s)
        except SshFailed as error:
            raise ReloadFailed(f"{self._place}: {error.reason}", error.fix) from error
        except Refused as error:
            fix = "Let the script run as pgpool's user or by sudo, or register the PCP port."
            raise ReloadFailed(f"{self._place}: {error}", fix) from error
        return ReloadReceipt("signal", f"SIGHUP to process {facts.get('signalled', '')} on {self.account.host}")

    def restart(self) -> CommandEnded:
        """By the host's own restart program. Raises RestartNotBegun, and SshFailed where it may have begun."""
        try:
            facts, said, _ = self._ask("restart", deadline_s=RESTART_DEADLINE_S)
        except Refused as error:
            raise RestartNotBegun(f"{self._place}: {error}") from error
        except SshFailed as error:
            if error.step != "ssh_script":
                raise RestartNotBegun(f"{self._place}: {error}. {error.fix}".strip()) from error
            raise
        code = facts.get("code", "")
        if not code.isdecimal():
            raise SshFailed("ssh_script", f"{self._place}: the script ended without an outcome")
        return CommandEnded(int(code), words_of(said))

    @property
    def _place(self) -> str:
        return f"{self.account.host}:{self.path}"

    def _ask(
        self, verb: str, *words: str, deadline_s: float, text: Callable[[], bytes] | None = None
    ) -> tuple[dict[str, str], bytes, str]:
        """(what the script says by name, what comes after an empty line, the host's key)."""
        answer = ask(self.account, (verb, self.path, *words), deadline_s=deadline_s, text=text)
        head, _, rest = answer.said.partition(b"\n\n")
        facts = {}
        for line in head.decode(errors="replace").splitlines():
            name, _, value = line.partition(" ")
            if name == "refused":
                raise Refused(*value.partition(" ")[::2])
            facts[name] = value
        return facts, rest[:LARGEST_FILE_BYTES], answer.host_key
