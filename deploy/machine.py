"""What a server needs from the machine: its programs, a free port, an account to run as, a folder it can look into."""

import os
import pwd
import random
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

# Where distributions and monitoring tools expect their own servers; ours must never be mistaken for those.
WELL_KNOWN_PORTS = frozenset({5432, 5433, 6379, 8000, 8080, 9187, 9719, 9898, 9999, 11211})
# Below the kernel's range for outgoing connections, so that no client takes a port between our look and our use.
FIRST_PORT, LAST_PORT = 20_000, 32_000


class ProgramMissing(RuntimeError):
    """A program is not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not installed. Run: make setup")
        self.name = name


class NoFreePort(RuntimeError):
    """No free port was found on the loopback interface."""


def program(name: str) -> str:
    """The path of a program, also where it is on no ordinary user's PATH; PostgreSQL's newest version wins."""
    versions = Path("/usr/lib/postgresql")
    if versions.is_dir():
        found = [path for path in versions.glob(f"*/bin/{name}") if path.parent.parent.name.isdigit()]
        if found:
            return str(max(found, key=lambda path: int(path.parent.parent.name)))
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin:/sbin")
    if path is None:
        raise ProgramMissing(name)
    return path


def is_port_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(*, taken: Collection[int] = (), randomness: random.Random | None = None) -> int:
    draw = randomness or random.SystemRandom()
    for _ in range(500):
        port = draw.randint(FIRST_PORT, LAST_PORT)
        if port not in taken and port not in WELL_KNOWN_PORTS and is_port_free(port):
            return port
    raise NoFreePort(f"no free port between {FIRST_PORT} and {LAST_PORT} on 127.0.0.1")


def server_account() -> str | None:
    """The account that runs servers: `postgres` when we are root (PostgreSQL refuses root), otherwise ours (None)."""
    return "postgres" if os.geteuid() == 0 else None


def as_server_account(command: Sequence[str], *, ends_with_parent: bool = False) -> list[str]:
    """Prefix a command so that it runs under the server account.

    ends_with_parent: the kernel interrupts the program when the process that started it is gone, kill -9 included.
    """
    account = server_account()
    prefix: list[str] = []
    if account is not None:
        prefix = [f"--reuid={account}", f"--regid={account}", "--init-groups"]
    if ends_with_parent:
        prefix.append("--pdeathsig=INT")
    return [program("setpriv"), *prefix, "--", *command] if prefix else list(command)


def can_server_account_look_into(directory: Path) -> bool:
    command = as_server_account([program("test"), "-x", str(directory)])
    return subprocess.run(command, check=False, capture_output=True, cwd="/").returncode == 0


def make_server_directory(wanted: Path, *, mode: int = 0o700) -> Path:
    """Make a directory that belongs to the server account and return where it really is.

    The clone may lie where that account cannot look (a home directory, say). The directory then stands under /var/tmp
    and `wanted` is a link to it.
    """
    if wanted.is_symlink() and not wanted.exists():
        wanted.unlink()
    if wanted.exists():
        return wanted.resolve()
    wanted.parent.mkdir(parents=True, exist_ok=True)
    if can_server_account_look_into(wanted.parent):
        wanted.mkdir(mode=mode)
        real = wanted
    else:
        # /var/tmp, unlike /tmp, survives a restart of the machine.
        real = Path(tempfile.mkdtemp(prefix="lifeguard-", dir="/var/tmp"))
        wanted.symlink_to(real)
    real.chmod(mode)
    account = server_account()
    if account is not None:
        entry = pwd.getpwnam(account)
        os.chown(real, entry.pw_uid, entry.pw_gid)
    return real


def remove_server_directory(wanted: Path) -> None:
    """Remove what make_server_directory made, the link and what it points to."""
    if wanted.is_symlink():
        shutil.rmtree(wanted.resolve(), ignore_errors=True)
        wanted.unlink()
    elif wanted.exists():
        shutil.rmtree(wanted)
