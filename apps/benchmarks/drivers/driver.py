"""What the engine asks of whatever makes load: pgbench, sysbench, or a program of Lifeguard itself (own_program)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from apps.benchmarks.domain.load_report import LoadSecond
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.run_result import Part
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers.processes import Command
from apps.clusters.outside.tls_roots import root_certificates

APPLICATION_NAME = "lifeguard-benchmark"
CONNECT_WITHIN_S = 10
_SAYS_WITHIN_S = 5


class ProgramMissing(RuntimeError):
    """The worker has no program for this load. The text says which, and what installs it."""


class CannotPrepare(RuntimeError):
    """A server did not let its data be looked at or made. The text says which, why, and what mends it."""


class NotAnswered(CannotPrepare):
    """A server refused a session or a statement: nobody knows what stands there."""


@dataclass(frozen=True)
class Account:
    """How the load signs in."""

    username: str
    password: str
    database: str
    sslmode: str


@dataclass(frozen=True)
class Standing:
    """Of a primary. is_ready: the data of the run stands there. tables: what is analysed before each load."""

    is_ready: bool
    tables: Sequence[str]


class Driver(Protocol):
    """How one kind of load is made. It keeps nothing: one of each serves all runs.

    `program` is what find_program gave. Programs are started by the engine, which reads their lines and ends them; each
    holds its password in its environment. Commands of a load run side by side, and stand for a server each by name.
    """

    def find_program(self) -> str:
        """Of this worker. Raises ProgramMissing."""

    def version(self, program: str) -> str:
        """As it names itself; "" where it does not."""

    def lay_out(self, program: str, wish: Wish, folder: Path) -> None:
        """What its processes are to read, in the folder of the run. Raises WishRefused for what they cannot read."""

    def look(self, wish: Wish, primary: Server, account: Account) -> Standing:
        """What stands on the primary of the data of this run. Raises CannotPrepare."""

    def preparation(self, program: str, wish: Wish, primary: Server, account: Account) -> list[Command]:
        """What makes the data anew there, one after the other; asked for where it is not ready, or to be made anew."""

    def load(
        self, program: str, wish: Wish, account: Account, *, duration_s: int, folder: Path, is_measured: bool
    ) -> list[Command]:
        """One process for each server, each with its share of the clients.

        is_measured: each logs in a folder of its own, 0, 1, … below that of the run, which is there when it starts; a
        warm-up tells no seconds and logs nothing.
        """

    def second(self, line: str) -> LoadSecond | None:
        """What a line says of one second of its process; None for any other line."""

    def report(self, wish: Wish, server: str, output: str, folder: Path) -> Part:
        """Its report, and how long single transactions took, where it logged them.

        Of a process that has ended well, or that some clients gave up. folder: its own. Raises UnreadableOutputError.
        """

    def gave_up(self, output: str, exit_code: int) -> str:
        """Why a process ended badly that has figures all the same, as some of its clients went on; "" for any other."""

    def failure(self, output: str, exit_code: int) -> str:
        """Why a process ended badly, and what mends it."""

    def check_data(
        self, wish: Wish, primary: Server, account: Account, *, watch: Callable[[], None]
    ) -> list[RunFinding]:
        """What must hold of the data after a measurement, as conditions of consistency. Raises CannotPrepare.

        watch: called meanwhile, where it may take long; may raise.
        """

    def notes(self, wish: Wish) -> list[str]:
        """What a reader of its figures must know of how they are made."""


def said_version(program: str) -> str:
    """What --version says; "" where it says nothing."""
    words = [program, "--version"]
    try:
        said = subprocess.run(words, capture_output=True, text=True, timeout=_SAYS_WITHIN_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stdout.strip()


def with_options(variables: Mapping[str, str], options: str) -> dict[str, str]:
    """Those of a program of libpq, whose sessions begin with these options too."""
    found = " ".join(part for part in (variables.get("PGOPTIONS", ""), options) if part)
    return {**variables, "PGOPTIONS": found} if found else dict(variables)


def environment(account: Account) -> dict[str, str]:
    """How programs of libpq sign in; only the same account of the machine can read it."""
    return {
        "PGPASSWORD": account.password,
        "PGSSLMODE": account.sslmode,
        "PGSSLROOTCERT": root_certificates(account.sslmode),
        "PGCONNECT_TIMEOUT": str(CONNECT_WITHIN_S),
        "PGAPPNAME": APPLICATION_NAME,
        "LC_ALL": "C.UTF-8",
    }
