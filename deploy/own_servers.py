"""Lifeguard's own PostgreSQL and Redis, for the demo and for tests: loopback only, never behind a pgpool."""

import contextlib
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg
import redis
from psycopg import sql

from deploy import machine
from deploy.lab import shared_memory
from deploy.lab.account import server_account

DATABASE = "lifeguard"
USERNAME = "lifeguard"
MEMORY_LINE = 6  # of postmaster.pid, counted from 0: key and id of the segment


class ServerDidNotStart(RuntimeError):
    """A server did not answer in time."""

    def __init__(self, name: str, log: str) -> None:
        super().__init__(f"{name} did not start. The end of its log:\n{log[-2000:]}")


@dataclass(frozen=True)
class OwnPostgres:
    directory: Path
    port: int
    password: str
    is_durable: bool  # False: nothing waits for the disk; a crash of the machine loses the data

    @property
    def url(self) -> str:
        return f"postgresql://{USERNAME}:{self.password}@127.0.0.1:{self.port}/{DATABASE}"

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def prepare(self) -> None:
        """initdb, unless that was done before; a half-done one is thrown away."""
        if (self.data / "PG_VERSION").exists() and not (self.directory / "unfinished").exists():
            return
        machine.make_server_directory(self.directory)
        unfinished = self.directory / "unfinished"
        unfinished.touch()
        subprocess.run(machine.as_server_account(["rm", "-rf", str(self.data.resolve())]), check=True, cwd="/")
        with tempfile.NamedTemporaryFile("w", prefix="lifeguard-", suffix=".pw") as password_file:
            password_file.write(self.password)
            password_file.flush()
            self._give_to_server_account(Path(password_file.name))
            command = [
                machine.program("initdb"), "--pgdata", str(self.directory.resolve() / "data"), "--username", USERNAME,
                "--pwfile", password_file.name, "--auth", "scram-sha-256", "--locale=C.UTF-8", "--encoding=UTF8",
                "--no-sync", "--no-instructions",
            ]  # fmt: skip
            done = subprocess.run(
                machine.as_server_account(command), check=False, capture_output=True, text=True, cwd="/"
            )
        if done.returncode != 0:
            raise ServerDidNotStart("initdb", done.stdout + done.stderr)
        unfinished.unlink()

    @staticmethod
    def _give_to_server_account(path: Path) -> None:
        account = machine.server_account()
        if account is not None:
            shutil.chown(path, account)

    def command(self, *, ends_with_parent: bool = False) -> list[str]:
        """Runs in the foreground and ends on INT."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "shared_buffers": "64MB",
            # Shared memory as files beside the data: nothing is left in /dev/shm after a kill -9.
            "dynamic_shared_memory_type": "mmap",
            "max_connections": "200",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "fsync": "on" if self.is_durable else "off",
            "synchronous_commit": "on" if self.is_durable else "off",
            "full_page_writes": "on" if self.is_durable else "off",
        }
        command = [machine.program("postgres"), "-D", str(self.directory.resolve() / "data")]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        return machine.as_server_account(command, ends_with_parent=ends_with_parent)

    def forget(self) -> None:
        """Remove the files of one that is stopped, and the memory that it could not free because it was killed."""
        lines: list[str] = []
        with contextlib.suppress(FileNotFoundError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        if len(lines) > MEMORY_LINE and len(lines[MEMORY_LINE].split()) == 2:
            segment = int(lines[MEMORY_LINE].split()[1])
            held = shared_memory.Holdings(segments={segment: int(lines[0])}, semaphores=frozenset())
            shared_memory.release(held, server_account())
        machine.remove_server_directory(self.directory)

    def wait_until_it_answers(self, *, deadline_s: float = 60.0) -> None:
        """Also makes Lifeguard's database if it is not there yet."""
        maintenance = f"postgresql://{USERNAME}:{self.password}@127.0.0.1:{self.port}/postgres"
        ends_at = time.monotonic() + deadline_s
        while True:
            try:
                with psycopg.connect(maintenance, connect_timeout=5, autocommit=True) as connection:
                    found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
                    if found is None:
                        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
                    return
            except psycopg.OperationalError as error:
                if time.monotonic() > ends_at:
                    raise ServerDidNotStart("PostgreSQL", str(error)) from error
            time.sleep(0.05)


@dataclass(frozen=True)
class OwnRedis:
    directory: Path
    port: int
    password: str

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def prepare(self) -> None:
        """Nothing is kept: rows in PostgreSQL hold the work, Redis only carries nudges and live points."""
        self.directory.mkdir(parents=True, exist_ok=True)
        settings = self.directory / "redis.conf"
        settings.touch(mode=0o600)
        settings.write_text(
            f"bind 127.0.0.1\nport {self.port}\nrequirepass {self.password}\n"
            f'dir "{self.directory.resolve()}"\nsave ""\nappendonly no\ndaemonize no\n'
            # A title is written over the environment, by which one that was left behind is known.
            "set-proc-title no\n"
        )

    def command(self, *, ends_with_parent: bool = False) -> list[str]:
        command = [machine.program("redis-server"), str(self.directory.resolve() / "redis.conf")]
        return [machine.program("setpriv"), "--pdeathsig=INT", "--", *command] if ends_with_parent else command

    def wait_until_it_answers(self, *, deadline_s: float = 30.0) -> None:
        ends_at = time.monotonic() + deadline_s
        with contextlib.closing(redis.Redis.from_url(self.url, socket_timeout=5)) as client:
            while True:
                try:
                    client.ping()
                except redis.RedisError as error:
                    if time.monotonic() > ends_at:
                        raise ServerDidNotStart("Redis", str(error)) from error
                    time.sleep(0.05)
                else:
                    return
