"""A PgBouncer before one server of the lab, for benchmarks: sessions share server connections, one transaction each."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy import machine
from deploy.lab.plan import Backend

NAME = "pgbouncer"
MOST_CLIENTS = 100
POOL_SIZE = 20
ANSWERS_WITHIN_S = 20.0
KEEPS_PREPARED_FROM = (1, 21)


class BouncerFailed(RuntimeError):
    """PgBouncer did not start."""


def is_installed() -> bool:
    with contextlib.suppress(machine.ProgramMissing):
        return bool(machine.program(NAME))
    return False


def keeps_prepared() -> bool:
    """Whether this PgBouncer can prepare statements anew where a session comes to another server connection."""
    said = subprocess.run([machine.program(NAME), "--version"], capture_output=True, text=True, check=True).stdout
    version = said.split()[1].split(".")
    return (int(version[0]), int(version[1])) >= KEEPS_PREPARED_FROM


@dataclass(frozen=True)
class Bouncer:
    """directory: of its files, which the account of servers reads. It listens on loopback, and has no socket."""

    directory: Path
    port: int

    @property
    def folder(self) -> Path:
        """Where it really is; made by whoever asks first."""
        return machine.make_server_directory(self.directory)

    @property
    def configuration(self) -> Path:
        return self.folder / "pgbouncer.ini"

    def prepare(
        self, server: Backend, app: Mapping[str, str], *, behind: Mapping[str, str] | None = None, **settings: object
    ) -> None:
        """app: as in lab.json. settings: of pgbouncer.ini, beside ours; connect_query is one of the database.

        behind: dbname, user and password at the server, where these are others than the app asks for.
        """
        users = self.folder / "userlist.txt"
        whole = {
            "listen_addr": "127.0.0.1",
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "scram-sha-256",
            "auth_file": users,
            "pool_mode": "transaction",
            "max_client_conn": MOST_CLIENTS,
            "default_pool_size": POOL_SIZE,
            "log_connections": 0,
            "log_disconnections": 0,
        }
        connect_query = settings.pop("connect_query", "")
        there = {"host": server.host, "port": server.port, "dbname": app["database"], **(behind or {})}
        if connect_query:
            there["connect_query"] = f"'{connect_query}'"
        lines = [
            "[databases]",
            f"{app['database']} = {' '.join(f'{name}={value}' for name, value in there.items())}",
            "[pgbouncer]",
            *(f"{name} = {value}" for name, value in {**whole, **settings}.items()),
        ]
        _write(users, f'"{app["username"]}" "{app["password"]}"\n')
        _write(self.configuration, "\n".join(lines) + "\n")

    def command(self, *, ends_with_parent: bool = False) -> list[str]:
        """In the foreground, as the account of servers: it refuses root, as PostgreSQL does."""
        started = [machine.program(NAME), str(self.configuration)]
        return machine.as_server_account(started, ends_with_parent=ends_with_parent)

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """For as long as the caller needs it; what it logs is in the exception if it does not start."""
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                self.command(ends_with_parent=True), cwd="/", env={"PATH": os.defpath}, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log,
            )  # fmt: skip
        try:
            self._await_port(process)
            yield
        finally:
            process.terminate()
            process.wait()

    @property
    def _log(self) -> Path:
        return self.folder / "log"

    def _await_port(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        while machine.is_port_free(self.port):
            if process.poll() is not None or time.monotonic() > deadline:
                said = self._log.read_text(errors="replace")
                raise BouncerFailed(f"PgBouncer does not listen on port {self.port}. Its log: {said[-2000:]}")
            time.sleep(0.05)


def _write(path: Path, text: str) -> None:
    """For the account of servers alone."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    if (account := machine.server_account()) is not None:
        shutil.chown(path, account, account)
