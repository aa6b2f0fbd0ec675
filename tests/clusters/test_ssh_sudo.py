"""A real sudo, with the very line of sudoers that the documentation gives, for an account that owns nothing."""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from apps.clusters.outside.delivery.ssh_session import SCRIPT

DOCUMENTED = Path(__file__).parent.parent.parent / "docs" / "ssh-delivery.md"
ACCOUNT = "nobody"
# sudo reads /etc/sudoers alone: in a mount namespace of its own it finds ours there.
AS_ACCOUNT = (
    'mount --bind "$1" /etc/sudoers && shift && exec setpriv --reuid="$1" --regid="$2" --clear-groups -- sh "$3" "$4"'
)

ALONE = ("unshare", "--mount", "--propagation", "private")


def may_mount_alone() -> bool:
    """Not where / is no mount point, as in a chroot: what is mounted there could reach the rest of the machine."""
    return subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount, and have a file that no other may read"),
    pytest.mark.skipif(not may_mount_alone(), reason="this / has no mounts of its own, as in a chroot"),
]


@dataclass
class Host:
    """A pgpool.conf of root's, the script, and the line that lets the account run it as root."""

    folder: Path

    @property
    def conf(self) -> Path:
        return self.folder / "root" / "pgpool.conf"

    @property
    def script(self) -> Path:
        return self.folder / "node"

    def let(self, *files: Path) -> None:
        """For these files, in this order."""
        [line] = re.findall(
            r"^ *(lifeguard ALL=.*/lifeguard/node .*)$", DOCUMENTED.read_text(encoding="utf-8"), re.MULTILINE
        )
        for documented, here in (
            ("lifeguard ALL", f"{ACCOUNT} ALL"),
            ("/usr/local/lib/lifeguard/node", str(self.script)),
            ("/etc/pgpool2/pgpool.conf", " ".join(map(str, files))),
        ):
            assert documented in line
            line = line.replace(documented, here)
        sudoers = self.folder / "sudoers"
        sudoers.write_text(f"{line}\n", encoding="utf-8")
        sudoers.chmod(0o440)

    def ask(self, request: str, *, allowed: Path) -> "subprocess.CompletedProcess[str]":
        """As sshd runs the forced command."""
        account = pwd.getpwnam(ACCOUNT)
        words = [str(self.folder / "sudoers"), str(account.pw_uid), str(account.pw_gid), str(self.script), str(allowed)]
        return subprocess.run(
            [*ALONE, "sh", "-c", AS_ACCOUNT, "sh", *words],
            env={"PATH": os.environ["PATH"], "SSH_ORIGINAL_COMMAND": f"lifeguard-node {request}"},
            cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip


@pytest.fixture
def host() -> Iterator[Host]:
    folder = Path(tempfile.mkdtemp(prefix="lifeguard-sudo-", dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        found = Host(folder)
        found.conf.parent.mkdir(mode=0o700)
        found.conf.write_text("backend_weight0 = 0\n", encoding="utf-8")
        shutil.copy(SCRIPT, found.script)
        found.script.chmod(0o755)
        found.let(found.conf)
        yield found
    finally:
        shutil.rmtree(folder)


def test_the_documented_line_lets_the_script_touch_its_file_as_root(host: Host) -> None:
    without = host.ask(f"read {host.conf}", allowed=host.conf)
    assert without.stdout.splitlines()[1].startswith("refused "), without

    read = host.ask(f"sudo read {host.conf}", allowed=host.conf)

    head, _, text = read.stdout.partition("\n\n")
    assert "account root" in head.splitlines(), read
    assert text == "backend_weight0 = 0\n"


def test_it_lets_nothing_else_run_as_root(host: Host) -> None:
    other = host.conf.with_name("other.conf")
    other.write_text("backend_weight0 = 1\n", encoding="utf-8")

    refused = host.ask(f"sudo read {other}", allowed=other)

    assert "a password is required" in refused.stderr, refused
    assert "backend_weight0" not in refused.stdout
