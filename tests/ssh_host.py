"""A real sshd on loopback, as whoever runs the tests, with keys and files of its own."""

import getpass
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from apps.clusters.outside.delivery.ssh_keys import KeyPair, new_key
from apps.clusters.outside.delivery.ssh_session import SCRIPT, SshAccount
from deploy.machine import free_port

STARTS_WITHIN_S = 20.0


@dataclass
class SshHost:
    """authorize() says what the client's key may do there; nothing before."""

    folder: Path
    port: int
    host: KeyPair = field(default_factory=lambda: new_key("host"))
    client: KeyPair = field(default_factory=lambda: new_key("lifeguard@acme"))
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def account(self) -> SshAccount:
        return SshAccount("127.0.0.1", self.port, getpass.getuser(), self.client.private, host_key=self.host.public)

    def authorize(self, *files: Path, before: str = "", script: Path = SCRIPT) -> None:
        """Lifeguard's script for these files, after a shell command; a shell if there is no file."""
        options = ""
        if files:
            command = " ".join([before, "exec sh", str(script), *map(str, files)]).strip()
            options = f'command="{command}",restrict '
        (self.folder / "authorized_keys").write_text(f"{options}{self.client.public}\n")

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def start(self) -> None:
        key = self.folder / "host_key"
        key.unlink(missing_ok=True)
        key.write_text(self.host.private)
        key.chmod(0o600)
        config = self.folder / "sshd_config"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {key}\nPidFile none\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nUsePAM no\nStrictModes no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
            "MaxStartups 100\n"
        )
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # as its unit does
        program = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin")
        assert program is not None, "make setup installs openssh-server"
        log = (self.folder / "sshd.log").open("ab")
        with log:
            self.process = subprocess.Popen([program, "-D", "-e", "-f", str(config)], stderr=log)
        end = time.monotonic() + STARTS_WITHIN_S
        while "listening on" not in (told := (self.folder / "sshd.log").read_text()):
            assert self.process.poll() is None, told
            assert time.monotonic() < end, told
            time.sleep(0.02)

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            self.process.wait(timeout=STARTS_WITHIN_S)
        (self.folder / "sshd.log").unlink(missing_ok=True)


@contextmanager
def ssh_host(folder: Path) -> Iterator[SshHost]:
    folder.mkdir(parents=True, exist_ok=True)
    found = SshHost(folder, free_port())
    found.start()
    try:
        yield found
    finally:
        found.stop()
