"""PostgreSQL of the lab: a primary and its streaming standbys, what they are configured with and how they come up."""

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from deploy.lab import failover, processes
from deploy.lab.account import Account
from deploy.lab.binaries import Binaries
from deploy.lab.plan import Backend, Plan

HBA = """\
# Written by the lab: passwords everywhere, loopback only.
host  all          all         127.0.0.1/32  scram-sha-256
host  replication  replicator  127.0.0.1/32  scram-sha-256
"""
# A lab may be thrown away, so nothing waits for the disk.
SETTINGS = """\
# Written by the lab at every start.
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
max_connections = {max_connections}
shared_buffers = 32MB
# Files beside the data: nothing is left in /dev/shm by one that is killed.
dynamic_shared_memory_type = mmap
fsync = off
full_page_writes = off
synchronous_commit = off
wal_level = replica
max_wal_senders = 10
wal_keep_size = 512MB
wal_receiver_status_interval = 1s
hot_standby = on
max_standby_streaming_delay = -1
autovacuum_naptime = 60s
jit = off
max_parallel_workers_per_gather = 0
password_encryption = 'scram-sha-256'
log_timezone = 'UTC'
timezone = 'UTC'
cluster_name = '{name}'
primary_conninfo = 'host=127.0.0.1 port={primary_port} user=replicator password={replicator} application_name={name}'
"""
START_WITHIN_S = 60.0
GRACE_S = 3.0


class BackendFailed(RuntimeError):
    """A PostgreSQL of the lab did not come up."""


@dataclass(frozen=True)
class Backends:
    """The lab's PostgreSQL servers as they are planned. data: the folder that holds one folder per server."""

    plan: Plan
    data: Path
    binaries: Binaries
    account: Account

    def folder(self, backend: Backend) -> Path:
        return self.data / backend.name

    @property
    def primary(self) -> Backend:
        return failover.primary_of(self.data, self.plan)

    @property
    def standbys(self) -> list[Backend]:
        return [backend for backend in self.plan.backends if backend != self.primary]

    def bring_up(self) -> None:
        """Make what is missing, start all: the primary first, the copies from it side by side."""
        primary, *standbys = self.plan.backends
        fresh = not (self.folder(primary) / "lab.ready").exists()
        with ThreadPoolExecutor(max_workers=4) as pool:
            if fresh:
                self._create_primary(primary)
                list(pool.map(self._copy, standbys))
                list(pool.map(self.start, standbys))
                self.account.file(self.folder(primary) / "lab.ready", "")
            else:
                list(pool.map(self.start, self.plan.backends))

    def start(self, backend: Backend) -> None:
        folder = self.folder(backend)
        if self._is_old_primary(backend):
            self._copy_again(backend)
        if not processes.members(folder, self.account):
            self._configure(backend)
            (folder / "postmaster.pid").unlink(missing_ok=True)  # its owner is gone: no process works in this folder
            command = [self.binaries.postgres("postgres"), "-D", str(folder)]
            self.account.detach(command, env=processes.ENV, cwd=folder, log=self.log(backend))
        self._await(backend)

    def stop(self, backend: Backend) -> None:
        processes.shut_down(self.folder(backend), self.account, patience_s=10)

    def log(self, backend: Backend) -> Path:
        return self.data / f"{backend.name}.log"

    def connect(self, backend: Backend, database: str = "postgres") -> psycopg.Connection[TupleRow]:
        """As superuser, directly."""
        return psycopg.connect(
            host=backend.host,
            port=backend.port,
            user="postgres",
            password=self.plan.passwords["postgres"],
            dbname=database,
            connect_timeout=3,
            autocommit=True,
        )

    def _create_primary(self, primary: Backend) -> None:
        for backend in self.plan.backends:
            processes.kill(self.folder(backend), self.account)
            shutil.rmtree(self.folder(backend), ignore_errors=True)
        (self.data / failover.PRIMARY).unlink(missing_ok=True)
        password = self.account.file(self.data / "initdb-password", self.plan.passwords["postgres"])
        folder = self.account.folder(self.folder(primary))
        options = ["--locale=C.UTF-8", "-E", "UTF8", "--auth=scram-sha-256", "--no-sync", "-U", "postgres"]
        self._run([self.binaries.postgres("initdb"), "-D", str(folder), f"--pwfile={password}", *options])
        password.unlink()
        self.account.file(folder / "pg_hba.conf", HBA)
        self._include_settings(folder)
        self.start(primary)
        self._create_roles(primary)

    def _create_roles(self, primary: Backend) -> None:
        passwords = self.plan.passwords
        with self.connect(primary) as connection:
            for role, rights in ROLES.items():
                statement = sql.SQL("CREATE ROLE {} LOGIN {} PASSWORD {}").format(
                    sql.Identifier(role), sql.SQL(rights), sql.Literal(passwords[role])
                )
                connection.execute(statement)
            connection.execute("GRANT pg_monitor TO lifeguard, pgpool_check")
            connection.execute("CREATE DATABASE shop OWNER app")
        with self.connect(primary, "shop") as connection:
            connection.execute(SHOP)

    def _is_old_primary(self, backend: Backend) -> bool:
        """Whether another one was promoted in its place: as it is, it would take writes of its own."""
        is_standby = (self.folder(backend) / "standby.signal").exists()
        return backend != self.primary and not is_standby and (self.folder(backend) / "PG_VERSION").exists()

    def _copy_again(self, backend: Backend) -> None:
        self._await(self.primary)
        processes.kill(self.folder(backend), self.account)
        shutil.rmtree(self.folder(backend))
        self._copy(backend)
        if backend == self.plan.backends[0]:
            self.account.file(self.folder(backend) / "lab.ready", "")

    def _copy(self, standby: Backend) -> None:
        folder = self.account.folder(self.folder(standby))
        primary = self.primary
        source = f"host=127.0.0.1 port={primary.port} user=replicator password={self.plan.passwords['replicator']}"
        options = ["--checkpoint=fast", "--no-sync", "--no-manifest", "--wal-method=stream"]
        self._run([self.binaries.postgres("pg_basebackup"), "-D", str(folder), "-d", source, *options])
        (folder / "lab.ready").unlink(missing_ok=True)
        self.account.file(folder / "standby.signal", "")

    def _include_settings(self, folder: Path) -> None:
        main = folder / "postgresql.conf"
        self.account.file(main, main.read_text(encoding="utf-8") + "\ninclude 'lab.conf'\n")

    def _configure(self, backend: Backend) -> None:
        text = SETTINGS.format(
            name=backend.name,
            port=backend.port,
            primary_port=self.primary.port,
            replicator=self.plan.passwords["replicator"],
            max_connections=self.plan.max_connections,
        )
        self.account.file(self.folder(backend) / "lab.conf", text)

    def _await(self, backend: Backend) -> None:
        began = time.monotonic()
        while True:
            try:
                self.connect(backend).close()
            except psycopg.OperationalError as error:
                waited_s = time.monotonic() - began
                # Until its program is loaded, a starting server is not seen among the processes.
                is_dead = waited_s > GRACE_S and not processes.members(self.folder(backend), self.account)
                if is_dead or waited_s > START_WITHIN_S:
                    raise BackendFailed(f"{backend.name}: {error}\n{_tail(self.log(backend))}") from error
                time.sleep(0.05)
            else:
                return

    def _run(self, command: list[str]) -> None:
        answer = self.account.run(command, env=processes.ENV, cwd=self.data, timeout_s=120)
        if answer.returncode:
            raise BackendFailed(f"{Path(command[0]).name}: {answer.stderr.strip()}")


ROLES = {
    "replicator": "REPLICATION",
    "lifeguard": "NOSUPERUSER NOCREATEDB NOCREATEROLE",
    "pgpool_check": "NOSUPERUSER NOCREATEDB NOCREATEROLE",
    "app": "NOSUPERUSER NOCREATEDB NOCREATEROLE",
}
SHOP = """\
SET ROLE app;
CREATE TABLE accounts (
    id integer PRIMARY KEY, branch integer NOT NULL, balance integer NOT NULL DEFAULT 0, note text NOT NULL DEFAULT ''
) WITH (fillfactor = 80);
INSERT INTO accounts (id, branch, note) SELECT n, n % 20, repeat('x', 40) FROM generate_series(1, 10000) AS n;
CREATE TABLE branches (id integer PRIMARY KEY, name text NOT NULL);
INSERT INTO branches (id, name) SELECT n, 'branch ' || n FROM generate_series(0, 19) AS n;
CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account integer NOT NULL REFERENCES accounts,
    amount_cents integer NOT NULL, placed_at timestamptz NOT NULL DEFAULT now()
);
"""


def _tail(path: Path, lines: int = 8) -> str:
    return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]) if path.exists() else ""
