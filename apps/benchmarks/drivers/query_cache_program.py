"""The calibration of a query cache as the engine knows it: one program, whatever pgpools it starts."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from apps.benchmarks.domain import cache_calibration
from apps.benchmarks.domain.cache_calibration import STORAGE
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.scratch_conf import SHMEM
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers.driver import Account, ProgramMissing, Standing
from apps.benchmarks.drivers.own_program import Order, OwnProgram
from apps.benchmarks.drivers.pgbench import Pgbench
from apps.benchmarks.drivers.processes import Command
from apps.clusters.outside.delivery.dry_run import find_pgpool, version_of

# In the folder of a run: the pgpool.conf that its scratches are made from.
CONF = "pgpool.conf"


class QueryCache(OwnProgram):
    def __init__(self) -> None:
        super().__init__("query_cache")
        self._pgbench = Pgbench()

    def find_program(self) -> str:
        """pgbench makes its load."""
        if find_pgpool() is None:
            raise ProgramMissing(
                "this worker has no pgpool to start beside the real one. Install Pgpool-II on its machine, in the "
                "version of the cluster (Debian: pgpool2)."
            )
        return self._pgbench.find_program()

    def version(self, program: str) -> str:
        pgpool = find_pgpool()
        return f"{self._pgbench.version(program)}, Pgpool-II {version_of(pgpool) if pgpool else ''}".strip()

    def lay_out(self, program: str, wish: Wish, folder: Path) -> None:
        if wish.parameters[STORAGE.name] != SHMEM and shutil.which("memcached") is None:
            raise ProgramMissing(
                "this worker has no memcached to start beside the scratch pgpool. Install it on its machine (Debian: "
                "memcached), or measure shared memory alone."
            )

    def look(self, wish: Wish, primary: Server, account: Account) -> Standing:
        """Its usual statement asks the tables of pgbench; so they stand there whatever it asks."""
        return self._pgbench.look(wish, primary, account)

    def preparation(self, program: str, wish: Wish, primary: Server, account: Account) -> list[Command]:
        return self._pgbench.preparation(program, wish, primary, account)

    def load(
        self, program: str, wish: Wish, account: Account, *, duration_s: int, folder: Path, is_measured: bool
    ) -> list[Command]:
        own = str(folder / "0") if is_measured else None
        order = Order(wish.workload.mode, wish.clients, duration_s, dict(wish.parameters), (wish.clients,), folder=own)
        server = wish.topology.servers[0]
        command = self._command(sys.executable, "load", order, server.name, server, account)
        more = ["--conf", str(folder / CONF), "--pgbench", program]
        return [Command(command.name, [*command.words, *more], command.environment, command.directory)]

    def notes(self, wish: Wish) -> list[str]:
        plan = cache_calibration.plan(wish.parameters, duration_s=wish.duration_s, clients=wish.clients)
        blocks = f"{plan.blocks} blocks of {len(cache_calibration.LEVELS)} hit ratios"
        writes = [f"writes to the same table at {', '.join(map(str, plan.write_rates))} per second: {plan.write_sql}"]
        return [
            f"{blocks}, each with the cache on and off in turns of {plan.slice_s} s; tps is the mean of them all",
            *(writes if plan.write_rates else []),
            "scratch pgpools run on the worker's machine, with the configuration of the real one and without fail-over",
        ]
