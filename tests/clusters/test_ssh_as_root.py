"""Lifeguard's script as root, by sudo or by its account: whoever owns the directory of the file gains nothing by it."""

import hashlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from apps.clusters.outside.delivery.ssh_session import SCRIPT

OWNER = "nobody"
OLD, NEW, SECRET = "backend_weight0 = 0\n", "backend_weight0 = 7\n", "root's own\n"
# As the owner of the directory, between two steps of the script.
SWAPPING_CP = """#!/bin/sh
for last; do :; done
rm -f -- "$last" && ln -s {secret} "$last"
exec {cp} "$@"
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Host:
    folder: Path
    script: Path

    @property
    def conf(self) -> Path:
        return self.folder / "pool" / "pgpool.conf"

    @property
    def secret(self) -> Path:
        return self.folder / "secret"

    def give_to(self, name: str) -> None:
        """The directory and the file."""
        for path in (self.conf.parent, self.conf):
            shutil.chown(path, name, pwd.getpwnam(name).pw_gid)

    def ask(self, *words: str, stdin: str = "") -> str:
        environ = {"PATH": os.environ["PATH"], "SSH_ORIGINAL_COMMAND": " ".join(["lifeguard-node", *words])}
        command = ["sh", str(self.script), str(self.conf)]
        done = subprocess.run(
            command, env=environ, cwd="/", input=stdin, capture_output=True, text=True, check=False, timeout=60
        )
        return done.stdout

    def write(self) -> str:
        return self.ask("write", str(self.conf), sha256(OLD), sha256(NEW), "r1", stdin=f"6000\n{NEW}")


@pytest.fixture
def host() -> Iterator[Host]:
    """Below a directory that everybody may enter."""
    folder = Path(tempfile.mkdtemp(prefix="lifeguard-root-", dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        script = folder / "node"
        shutil.copy(SCRIPT, script)
        found = Host(folder, script)
        found.conf.parent.mkdir(mode=0o755)
        found.conf.write_text(OLD, encoding="utf-8")
        found.secret.write_text(SECRET, encoding="utf-8")
        found.secret.chmod(0o600)
        yield found
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("owner", ["root", OWNER])
def test_a_file_is_replaced_and_keeps_its_owner(host: Host, owner: str) -> None:
    host.give_to(owner)
    host.conf.chmod(0o640)

    assert "obstacle \n" in host.ask("read", str(host.conf))
    said = host.write()

    assert said.splitlines()[-1].startswith("kept "), said
    found = host.conf.stat()
    assert (host.conf.read_text(), found.st_uid, oct(found.st_mode)[-3:]) == (NEW, pwd.getpwnam(owner).pw_uid, "640")
    copy = host.conf.with_name("pgpool.conf.lifeguard-r1")
    assert (copy.read_text(), copy.stat().st_uid) == (OLD, found.st_uid)


def test_a_link_put_in_the_place_of_the_new_file_leads_root_nowhere(host: Host) -> None:
    programs = host.folder / "bin"
    programs.mkdir()
    (programs / "cp").write_text(SWAPPING_CP.format(secret=host.secret, cp=shutil.which("cp")))
    (programs / "cp").chmod(0o755)
    host.script.write_text(SCRIPT.read_text().replace('PATH="', f'PATH="{programs}:'))
    host.give_to(OWNER)

    said = host.write()

    assert "refused failed " in said
    assert (host.secret.read_text(), host.conf.read_text()) == (SECRET, OLD)
    assert host.secret.stat().st_uid == 0


def test_where_others_may_write_root_does_not(host: Host) -> None:
    host.conf.parent.chmod(0o777)
    place, mending = f"{host.conf.parent}/", "chmod go-w it, or give file and directory to pgpool's account"
    reason = f"others than root may write in {place}, where root does not: {mending}"

    assert f"obstacle {reason}\n" in host.ask("read", str(host.conf))
    assert f"refused failed {host.conf} is not replaced: {reason}\n" in host.write()
    assert host.conf.read_text() == OLD


def test_a_file_of_root_in_the_directory_of_another_is_left_as_it_is(host: Host) -> None:
    shutil.chown(host.conf.parent, OWNER)

    assert f"obstacle it belongs to root, and {OWNER} could not keep it so\n" in host.ask("read", str(host.conf))
    assert "refused failed " in host.write()
    assert (host.conf.read_text(), host.conf.stat().st_uid) == (OLD, 0)
