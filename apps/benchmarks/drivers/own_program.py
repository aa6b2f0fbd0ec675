"""A load that a program of Lifeguard makes: python -m apps.benchmarks.drivers.<name>, in a process of its own.

It is called with `prepare` or `load` and a JSON object (Order). It finds its server by the variables of libpq (PGHOST,
PGPORT, PGUSER, PGPASSWORD, PGDATABASE, …: psycopg.connect("") takes them). It prints lines as domain.own_program tells:
one for each second, flushed, and a report at the end; or a failure, and ends with a status other than 0. How long
single transactions took it leaves in LATENCIES in its folder, where it is told of one. SIGTERM ends it within two
seconds. Processes that it starts must end with it, also when it is killed: better it starts none.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from apps.benchmarks.domain import own_program, topologies
from apps.benchmarks.domain.load_report import LoadSecond
from apps.benchmarks.domain.printed import UnreadableOutputError
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.run_result import Part
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers.driver import Account, environment
from apps.benchmarks.drivers.processes import Command

LATENCIES = "latencies.json"
# The program is found there, whatever folder it is started in.
_ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Order:
    """What such a program is asked to do. mode, parameters: of the workload. folder: None where nothing is kept.

    shares: how many of all clients each of the processes has, one per server; position: which of them this one is.
    """

    mode: str
    clients: int
    duration_s: int
    parameters: dict[str, object] = field(default_factory=dict)
    shares: tuple[int, ...] = ()
    position: int = 0
    folder: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        given = json.loads(text)
        return cls(**{**given, "shares": tuple(given["shares"])})

    def as_text(self) -> str:
        return json.dumps(asdict(self))


class OwnProgram:
    """What is alike in all drivers of this kind; each adds look, and what else it knows."""

    def __init__(self, module: str) -> None:
        """module: of apps.benchmarks.drivers."""
        self._module = f"apps.benchmarks.drivers.{module}"

    def find_program(self) -> str:
        return sys.executable

    def version(self, program: str) -> str:
        return f"{self._module} on Python {sys.version.split()[0]}"

    def lay_out(self, program: str, wish: Wish, folder: Path) -> None:
        """Nothing: what it is to do stands in its order."""

    def preparation(self, program: str, wish: Wish, primary: Server, account: Account) -> list[Command]:
        order = Order(wish.workload.mode, wish.clients, wish.duration_s, dict(wish.parameters))
        return [self._command(program, "prepare", order, "preparation", primary, account)]

    def load(
        self, program: str, wish: Wish, account: Account, *, duration_s: int, folder: Path, is_measured: bool
    ) -> list[Command]:
        servers = wish.topology.servers
        shares = topologies.shares(wish.clients, len(servers))
        found = []
        for position, server in enumerate(servers):
            own = str(folder / str(position)) if is_measured else None
            order = Order(
                wish.workload.mode, shares[position], duration_s, dict(wish.parameters), shares, position, own
            )
            found.append(self._command(program, "load", order, server.name, server, account))
        return found

    def second(self, line: str) -> LoadSecond | None:
        return own_program.parse_second(line)

    def report(self, wish: Wish, server: str, output: str, folder: Path) -> Part:
        path = folder / LATENCIES
        kept = own_program.parse_latencies(path.read_text()) if path.exists() else None
        return Part(server, own_program.parse_report(output), kept)

    def gave_up(self, output: str, exit_code: int) -> str:
        """What it says of it, where its report says that it is partial."""
        try:
            report = own_program.parse_report(output)
        except UnreadableOutputError:
            return ""
        return self.failure(output, exit_code) if report.is_partial and report.transactions else ""

    def failure(self, output: str, exit_code: int) -> str:
        said = own_program.parse_failure(output)
        return said or f"{self._module} ended with status {exit_code}. Read what it printed, line by line."

    def check_data(
        self, wish: Wish, primary: Server, account: Account, *, watch: Callable[[], None]
    ) -> list[RunFinding]:
        return []

    def notes(self, wish: Wish) -> list[str]:
        return []

    def _command(self, program: str, action: str, order: Order, name: str, server: Server, account: Account) -> Command:
        paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        variables = {
            **environment(account), "PGHOST": server.host, "PGPORT": str(server.port), "PGUSER": account.username,
            "PGDATABASE": account.database, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1",
        }  # fmt: skip
        folder = Path(order.folder) if order.folder else None
        return Command(name, [program, "-m", self._module, action, order.as_text()], variables, folder)
