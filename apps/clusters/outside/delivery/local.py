"""A pgpool.conf on this machine: read, replaced atomically with a backup, reloaded."""

from __future__ import annotations

import contextlib
import errno
import grp
import math
import os
import pwd
import re
import signal
import stat
import tempfile
import time
from pathlib import Path

from apps.clusters.domain import pgpool_conf
from apps.clusters.outside.delivery.dry_run import DryRun, find_pgpool, parse_with_pgpool
from apps.clusters.outside.delivery.outcomes import (
    LARGEST_FILE_BYTES,
    FileChanged,
    FileUnreadable,
    LiveFile,
    ReloadFailed,
    ReloadReceipt,
    WriteFailed,
    as_text,
    reload_by_pcp,
    sha256_of,
)
from apps.clusters.outside.pcp import PcpAddress

BACKUPS_KEPT = 5
# No write takes so long: whoever made an older draft was killed. It holds passwords, as the file does.
DRAFT_LIVES_NS = 3600 * 10**9
# A disk that hangs cannot be interrupted; but what it lets through later than this replaces nothing any more.
WRITE_DEADLINE_S = 5.0


class LocalFile:
    """path: an allowed file, links resolved, as allowed_directory() returns it."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def read(self) -> LiveFile:
        """Raises FileUnreadable."""
        try:
            with open(self.path, "rb", opener=_without_waiting) as file:
                facts = os.fstat(file.fileno())
                content = file.read(LARGEST_FILE_BYTES + 1)
        except OSError as error:
            raise FileUnreadable(f"{self.path} cannot be read: {_words(error)}") from error
        if not stat.S_ISREG(facts.st_mode):
            raise FileUnreadable(f"{self.path} is not a regular file")
        if len(content) > LARGEST_FILE_BYTES:
            raise FileUnreadable(f"{self.path} is larger than 1 MiB: that is no pgpool.conf")
        text = as_text(content, self.path)
        owner = f"{_user_name(facts.st_uid)}:{_group_name(facts.st_gid)}"
        return LiveFile(text, sha256_of(content), f"{stat.S_IMODE(facts.st_mode):04o}", owner)

    def dry_run(self, text: str) -> DryRun:
        """Raises DryRunRejected with pgpool's own words."""
        return parse_with_pgpool(text, program=find_pgpool())

    def write(
        self,
        text: str,
        *,
        expected_sha256: str,
        rollout_tag: str,
        not_after: float = math.inf,
        deadline_s: float = WRITE_DEADLINE_S,
    ) -> Path:
        """Replace the live file in one step; owner, mode, attributes and links to it stay. Returns the backup's path.

        Every child of pgpool reads whatever the file holds when it next wakes up, so it is never edited in place.
        not_after: of time.monotonic(); from then on somebody else may have been told to write.
        Raises FileChanged, FileUnreadable or WriteFailed; the live file is untouched then.
        """
        end = time.monotonic() + deadline_s
        backup = self._backup_path(rollout_tag)
        self._expect(expected_sha256)
        try:
            _replace(backup, self.path.read_bytes(), like=self.path)
            candidate = _candidate(self.path, text.encode(), like=self.path)
            try:
                self._expect(expected_sha256)
                if time.monotonic() >= end:
                    raise WriteFailed(f"{self.path} was not replaced: its disk took longer than {deadline_s:.3g} s")
                if time.monotonic() >= not_after:
                    raise WriteFailed(f"{self.path} was not replaced: this worker was held up for too long")
                candidate.rename(self.path)
            finally:
                candidate.unlink(missing_ok=True)
            _sync_directory(self.path.parent)
        except OSError as error:
            raise WriteFailed(f"{self.path} could not be replaced: {_words(error)}") from error
        self._tidy_up(backup)
        return backup

    def check_writable(self) -> None:
        """Whether write() would have the rights it needs; nothing is written. Raises WriteFailed."""
        if not os.access(self.path.parent, os.W_OK | os.X_OK):
            raise WriteFailed(f"{self.path} cannot be replaced: this worker may not write in {self.path.parent}")
        owner = self.path.stat()
        groups = {os.getegid(), *os.getgroups()}
        if os.geteuid() != 0 and (owner.st_uid != os.geteuid() or owner.st_gid not in groups):
            raise WriteFailed(
                f"{self.path} cannot be replaced: it belongs to {_user_name(owner.st_uid)}:{_group_name(owner.st_gid)},"
                " and this worker could not keep it so"
            )

    def reload(self, *, pcp: PcpAddress | None, deadline_s: float) -> ReloadReceipt:
        """Tell pgpool to read the file again, by PCP where it is known, else by SIGHUP. Raises ReloadFailed.

        Neither says whether pgpool took the values: read them back.
        """
        return self._signal() if pcp is None else reload_by_pcp(pcp, deadline_s=deadline_s)

    def _signal(self) -> ReloadReceipt:
        try:
            named = pgpool_conf.parse(self.read().text).get("pid_file_name")
        except (FileUnreadable, ValueError) as error:
            raise ReloadFailed(f"pid_file_name is not known: {error}", "Register the PCP port.") from error
        if not named:
            raise ReloadFailed("pgpool.conf names no pid_file_name", "Register the PCP port, or set pid_file_name.")
        pid_file = self.path.parent / named
        try:
            # pgpool ends the number with a NUL byte.
            pid = int(pid_file.read_bytes().strip(b"\0 \n"))
            program = Path(f"/proc/{pid}/comm").read_text().strip()
        except (OSError, ValueError) as error:
            raise ReloadFailed(f"no running pgpool is found by {pid_file}", "Check that pgpool runs.") from error
        if pid <= 1 or program != "pgpool":
            raise ReloadFailed(f"{pid_file} names process {pid}, which is {program}, not pgpool", "Restart pgpool.")
        try:
            os.kill(pid, signal.SIGHUP)
        except OSError as error:
            reason = f"process {pid} cannot be signalled: {_words(error)}"
            raise ReloadFailed(reason, "Run the worker as pgpool's user, or register the PCP port.") from error
        return ReloadReceipt("signal", f"SIGHUP to process {pid}")

    def _expect(self, sha256: str) -> None:
        found = self.read().sha256
        if found != sha256:
            raise FileChanged(self.path, sha256, found)

    def _backup_path(self, rollout_tag: str) -> Path:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}", rollout_tag):
            raise ValueError(f"{rollout_tag!r} cannot be part of a file name")
        return self.path.with_name(f"{self.path.name}.lifeguard-{rollout_tag}")

    def _tidy_up(self, newest: Path) -> None:
        """Forget old backups, and the drafts of workers that were killed. The file is written, whatever fails here."""
        name = self.path.name
        with contextlib.suppress(OSError):
            ours = (f"{name}.lifeguard-", f".{name}.lifeguard-")
            # The directory may hold the files of many pgpools.
            found = [path for path in self.path.parent.iterdir() if path.name.startswith(ours)]
            written_ns = {path: path.stat().st_mtime_ns for path in found}
            backups = [path for path in written_ns if path.name.startswith(ours[0]) and path != newest]
            backups.sort(key=written_ns.__getitem__, reverse=True)
            drafts = [path for path in written_ns if path.name.startswith(ours[1])]
            given_up = [path for path in drafts if written_ns[newest] - written_ns[path] > DRAFT_LIVES_NS]
            for path in [*backups[BACKUPS_KEPT - 1 :], *given_up]:
                path.unlink()


def _without_waiting(path: str, flags: int) -> int:
    """Opening a named pipe waits for its other end otherwise."""
    return os.open(path, flags | os.O_NONBLOCK)


def _replace(path: Path, content: bytes, *, like: Path) -> None:
    candidate = _candidate(path, content, like=like)
    try:
        candidate.rename(path)
    finally:
        candidate.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _candidate(path: Path, content: bytes, *, like: Path) -> Path:
    """A whole file beside path, on disk, with owner, mode and attributes of `like`. Nobody else can read it before."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.lifeguard-")
    candidate = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            model = like.stat()
            mine = os.fstat(file.fileno())
            if (mine.st_uid, mine.st_gid) != (model.st_uid, model.st_gid):
                os.fchown(file.fileno(), model.st_uid, model.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(model.st_mode))
            _copy_attributes(like, candidate)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        candidate.unlink(missing_ok=True)
        raise
    return candidate


def _copy_attributes(source: Path, target: Path) -> None:
    """Access control lists and SELinux labels, where the file system knows them."""
    for name in os.listxattr(source):
        try:
            os.setxattr(target, name, os.getxattr(source, name))
        except OSError as error:
            if error.errno not in {errno.ENOTSUP, errno.EPERM, errno.ENODATA}:
                raise


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _user_name(uid: int) -> str:
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def _group_name(gid: int) -> str:
    with contextlib.suppress(KeyError):
        return grp.getgrgid(gid).gr_name
    return str(gid)
