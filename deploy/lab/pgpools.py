"""Pgpool-II instances of the lab: their files, their start, and what they say about the backends."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.rows import TupleRow, dict_row

from deploy.lab import failover, pgpool_settings, processes, shared_memory, watchdog_settings
from deploy.lab.account import Account
from deploy.lab.binaries import Binaries
from deploy.lab.plan import Pgpool, Plan
from deploy.lab.shared_memory import Holdings

START_WITHIN_S = 60.0
GRACE_S = 3.0
ANSWER_WITHIN_S = 12.0


class PgpoolFailed(RuntimeError):
    """A Pgpool-II of the lab did not do what it was asked."""


@dataclass(frozen=True)
class Pgpools:
    """data: holds one folder per instance; sockets: a folder with a short path; pcppass: a file for the pcp tools."""

    plan: Plan
    data: Path
    sockets: Path
    pcppass: Path
    binaries: Binaries
    account: Account

    def folder(self, pgpool: Pgpool) -> Path:
        return Path(pgpool.conf).parent

    def log(self, pgpool: Pgpool) -> Path:
        return self.data / f"{pgpool.name}.log"

    def prepare(self, pgpool: Pgpool) -> None:
        """Write its files; a pgpool.conf that is there keeps everything but the ports."""
        folder = self.account.folder(self.folder(pgpool))
        self.account.folder(folder / "oiddir")
        conf = Path(pgpool.conf)
        if conf.exists():
            text = pgpool_settings.with_addresses(conf.read_text(encoding="utf-8"), pgpool, self.plan)
        else:
            version = self.binaries.pgpool_version
            text = pgpool_settings.pgpool_conf(pgpool, self.plan, sockets=self.sockets, version=version)
        self.account.file(conf, text)
        self.account.file(folder / "pcp.conf", pgpool_settings.pcp_conf(self.plan))
        self.account.file(folder / "pool_hba.conf", pgpool_settings.HBA)
        self.account.file(folder / "pool_passwd", pgpool_settings.pool_passwd(self.plan))
        if self.plan.has_watchdog:
            number = watchdog_settings.number_of(pgpool, self.plan)
            self.account.file(folder / "pgpool_node_id", f"{number}\n")
            failover.write_script(self.data, self.plan, self.binaries, self.account)

    def launch(self, pgpool: Pgpool) -> None:
        """Start it without waiting. -D: it forgets which backends were down when it last ran."""
        folder = self.folder(pgpool)
        if processes.members(folder, self.account):
            return
        (folder / "pgpool.pid").unlink(missing_ok=True)
        files = ["-f", pgpool.conf, "-F", str(folder / "pcp.conf"), "-a", str(folder / "pool_hba.conf")]
        command = [str(self.binaries.pgpool), "-n", "-D", *files]
        self.account.detach(command, env=processes.ENV, cwd=folder, log=self.log(pgpool))

    def stop(self, pgpool: Pgpool) -> None:
        processes.shut_down(self.folder(pgpool), self.account, patience_s=5)

    def pids(self, pgpool: Pgpool) -> list[int]:
        return [process.pid for process in processes.members(self.folder(pgpool), self.account)]

    def holdings(self, pgpool: Pgpool, semaphores_before: frozenset[int]) -> Holdings:
        return shared_memory.holdings_of(self.pids(pgpool), before=semaphores_before, account=self.account)

    def connect(
        self, pgpool: Pgpool, user: str = "lifeguard", database: str = "postgres"
    ) -> psycopg.Connection[TupleRow]:
        return psycopg.connect(
            host=pgpool.host,
            port=pgpool.port,
            user=user,
            password=self.plan.passwords[user],
            dbname=database,
            sslmode="disable",
            connect_timeout=10,
            autocommit=True,
            prepare_threshold=None,  # Pgpool-II does not know its own SHOW commands in a prepared statement
        )

    def nodes(self, pgpool: Pgpool) -> list[dict[str, str]]:
        """SHOW pool_nodes."""
        with self.connect(pgpool) as connection, _cut_after(connection, ANSWER_WITHIN_S):
            cursor = connection.cursor(row_factory=dict_row)
            return cursor.execute("SHOW pool_nodes").fetchall()

    def await_up(self, pgpool: Pgpool, node_ids: Sequence[int], *, within_s: float = START_WITHIN_S) -> None:
        """Until it serves and shows these backends up; one that it left behind is attached again."""
        began = time.monotonic()
        while True:
            missing = self._missing(pgpool, node_ids)
            if not missing:
                return
            waited_s = time.monotonic() - began
            # Until its program is loaded, a starting server is not seen among the processes.
            if waited_s > within_s or (waited_s > GRACE_S and not self.pids(pgpool)):
                raise PgpoolFailed(f"{pgpool.name}: not up in {within_s:.0f} s: {missing}\n{_tail(self.log(pgpool))}")
            time.sleep(0.1)

    def _missing(self, pgpool: Pgpool, node_ids: Sequence[int]) -> str:
        """What is not as it should be, empty if all is."""
        try:
            nodes = self.nodes(pgpool)
        except psycopg.Error as error:
            return str(error)
        missing = [row for row in nodes if int(row["node_id"]) in node_ids and row["status"] != "up"]
        for row in missing:
            if row["pg_status"] == "up" and row["status"] == "down":
                self.attach(pgpool, int(row["node_id"]))
        primary = failover.primary_of(self.data, self.plan).node_id
        if not missing and primary in node_ids and nodes[primary]["role"] != "primary":
            return "it has not found the primary"
        return ", ".join(f"{row['node_id']} is {row['status']}" for row in missing)

    def attach(self, pgpool: Pgpool, node_id: int) -> None:
        self._pcp("pcp_attach_node", pgpool, "-n", str(node_id))

    def detach(self, pgpool: Pgpool, node_id: int) -> None:
        self._pcp("pcp_detach_node", pgpool, "-n", str(node_id))

    def reload(self, pgpool: Pgpool) -> None:
        self._pcp("pcp_reload_config", pgpool)

    def _pcp(self, program: str, pgpool: Pgpool, *arguments: str) -> None:
        command = [self.binaries.pcp(program), "-h", pgpool.host, "-p", str(pgpool.pcp_port), "-U", "lifeguard", "-w"]
        env = processes.ENV | {"PCPPASSFILE": str(self.pcppass)}
        answer = self.account.run([*command, *arguments], env=env, cwd=self.data, timeout_s=30)
        # An error of the server ends with code 0: only the text tells.
        if answer.returncode or "ERROR" in answer.stderr + answer.stdout:
            raise PgpoolFailed(f"{program} at {pgpool.name}: {(answer.stderr or answer.stdout).strip()}")


@contextlib.contextmanager
def _cut_after(connection: psycopg.Connection[TupleRow], seconds: float) -> Iterator[None]:
    """A frozen peer answers never: shut the socket down then, which ends the wait with an error."""
    cut = threading.Timer(seconds, lambda: _shut_down(connection))
    cut.start()
    try:
        yield
    finally:
        cut.cancel()


def _shut_down(connection: psycopg.Connection[TupleRow]) -> None:
    with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as peer:
        peer.shutdown(socket.SHUT_RDWR)


def _tail(path: Path, lines: int = 8) -> str:
    return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]) if path.exists() else ""
