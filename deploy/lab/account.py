"""Who runs the lab's servers and where their files lie: PostgreSQL refuses to run as root."""

import hashlib
import os
import pwd
import shutil
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Like /tmp, everybody may write there, but it outlives a restart. What lies there is checked before it is used.
SHARED = Path("/var/tmp")  # noqa: S108


class PlaceRefused(RuntimeError):
    """A folder that the lab needs belongs to somebody else."""


@dataclass(frozen=True)
class Account:
    """The system user that owns the servers. prefix: the command that becomes it, empty if we are it already."""

    uid: int
    gid: int
    prefix: tuple[str, ...]

    def run(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout_s: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end; the caller looks at the return code."""
        return subprocess.run(
            [*self.prefix, *command],
            env=dict(env),
            cwd=cwd,
            text=True,
            capture_output=True,
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def detach(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path) -> None:
        """Start a server that outlives us, in a session of its own, with its output appended to a log."""
        with log.open("ab") as output:
            subprocess.run(
                [*self.prefix, "setsid", "--fork", *command],
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=True,
            )

    def give(self, path: Path, mode: int) -> None:
        if os.geteuid() == 0:
            os.chown(path, self.uid, self.gid)
        path.chmod(mode)

    def folder(self, path: Path, mode: int = 0o700) -> Path:
        path.mkdir(parents=True, exist_ok=True)
        self.give(path, mode)
        return path

    def file(self, path: Path, text: str, mode: int = 0o600) -> Path:
        """Write a file whole, private from its first byte."""
        draft = path.with_name(f".{path.name}.draft")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            stream.write(text)
        self.give(draft, mode)
        draft.replace(path)
        return path


def server_account() -> Account:
    """Root hands over to `postgres`, anybody else runs the servers as himself."""
    if os.geteuid() != 0:
        return Account(uid=os.geteuid(), gid=os.getegid(), prefix=())
    user = pwd.getpwnam("postgres")
    prefix = ("setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--")
    return Account(uid=user.pw_uid, gid=user.pw_gid, prefix=prefix)


def private_folder(root: Path) -> Path:
    """The lab's folder under /var/tmp: short enough for sockets (107 bytes), open enough for another user."""
    digest = hashlib.sha256(str(root).encode()).hexdigest()[:10]
    path = SHARED / f"lifeguard-{digest}"
    path.mkdir(mode=0o711, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PlaceRefused(f"{path} belongs to user {found.st_uid}: remove it, the lab needs this folder for itself")
    path.chmod(0o711)
    return path


def data_folder(root: Path, account: Account, private: Path) -> Path:
    """`root/data`, or a folder under /var/tmp linked from there when the servers' user cannot reach root."""
    link = root / "data"
    if link.is_symlink():
        if link.resolve().parent == private.resolve():
            return account.folder(link.resolve())
        link.unlink()
    if link.is_dir() or reaches(account, root):
        return account.folder(link)
    link.symlink_to(private / "data")
    return account.folder(private / "data")


def reaches(account: Account, root: Path) -> bool:
    if not account.prefix:
        return True
    return account.run(["test", "-x", str(root)], env={"PATH": os.defpath}, cwd=Path("/")).returncode == 0


def forget(root: Path) -> None:
    """Remove what a stopped lab left on disk."""
    data = root / "data"
    if data.is_symlink():
        data.unlink()
    for path in (data, private_folder(root)):
        shutil.rmtree(path, ignore_errors=True)
