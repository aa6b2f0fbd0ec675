"""A real ssh-agent with a socket of its own, which holds the keys that a test gives it."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from apps.clusters.outside.delivery.ssh_keys import KeyPair

STARTS_WITHIN_S = 20.0


@dataclass
class SshAgent:
    socket: Path
    process: "subprocess.Popen[bytes]"

    def add(self, key: KeyPair) -> None:
        file = self.socket.with_name("given_key")
        file.write_text(key.private)
        file.chmod(0o600)
        self._run("ssh-add", "-q", str(file))
        file.unlink()

    def forget(self) -> None:
        self._run("ssh-add", "-q", "-D")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=STARTS_WITHIN_S)

    def _run(self, *command: str) -> None:
        environ = {**os.environ, "SSH_AUTH_SOCK": str(self.socket)}
        subprocess.run(command, env=environ, check=True, capture_output=True, timeout=STARTS_WITHIN_S)


@contextmanager
def ssh_agent(folder: Path) -> Iterator[SshAgent]:
    """folder: with a short path, as that of a socket has about 100 characters at most."""
    program = shutil.which("ssh-agent")
    assert program is not None, "openssh-server comes with it: make setup installs both"
    folder.mkdir(parents=True, exist_ok=True)
    socket = folder / "agent"
    with subprocess.Popen([program, "-D", "-a", str(socket)], stdout=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + STARTS_WITHIN_S
            while not socket.exists():
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.02)
            yield SshAgent(socket, process)
        finally:
            process.terminate()
