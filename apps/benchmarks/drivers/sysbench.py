"""sysbench OLTP as a load generator: its tables sbtest1, sbtest2, …, its command lines, and what it reports."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from apps.benchmarks.domain import topologies
from apps.benchmarks.domain.environment_words import NOT_PREPARED, UNPREPARED_AS_ASKED
from apps.benchmarks.domain.latency_histogram import LatencyHistogram
from apps.benchmarks.domain.load_report import LoadReport, LoadSecond
from apps.benchmarks.domain.pgbench_failure import OF_THE_SERVER, Cause, parse_failure
from apps.benchmarks.domain.printed import UnreadableOutputError
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.run_result import Part
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.sysbench_output import SysbenchResult, parse_intermediate, parse_result
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.domain.workloads import PREPARED, SKIP_TRX, TABLE_SIZE, TABLES
from apps.benchmarks.drivers import database
from apps.benchmarks.drivers.driver import Account, ProgramMissing, Standing, environment, said_version
from apps.benchmarks.drivers.processes import Command

LONGEST_SAID = 300
_MEND_SHARED = (
    f"Let nothing be prepared: leave {PREPARED.name} as usual and register the target as an endpoint of kind pooler, "
    "or switch it off. Or let the target keep sessions together (PgBouncer: pool_mode = session; from 1.21 on also "
    "max_prepared_statements)."
)
# Version 1.0 crashes over an error that comes with the end of its session, and prints nothing of it.
_CRASHED = "sysbench crashed (SIGSEGV), as its version 1.0 does where a server ends one of its sessions."
_MEND_CRASH = (
    "Look into the log of the server. A PgBouncer with pool_mode = statement ends each session that begins "
    "a transaction of several statements: set pool_mode = transaction or session there, or take sysbench-point-select."
)


class Sysbench:
    """A thread of it is a client, with a session of its own."""

    def find_program(self) -> str:
        found = shutil.which("sysbench")
        if found is None:
            raise ProgramMissing("this worker has no sysbench. Install it on its machine (Debian: sysbench).")
        return found

    def version(self, program: str) -> str:
        return said_version(program)

    def lay_out(self, program: str, wish: Wish, folder: Path) -> None:
        """Nothing: its own workloads are in the program."""

    def look(self, wish: Wish, primary: Server, account: Account) -> Standing:
        tables = [f"sbtest{number}" for number in range(1, wish.parameters[TABLES.name] + 1)]
        with database.session(primary, account) as session:
            # An index is made when its table is full: without it a preparation was ended before its time.
            made = [*tables, *(f"k_{number}" for number in range(1, len(tables) + 1))]
            is_ready = database.standing_tables(session, made) == set(made)
            # Rows are deleted and inserted again with the same number.
            is_ready = is_ready and all(
                database.highest_id(session, name) == wish.parameters[TABLE_SIZE.name] for name in tables
            )
        return Standing(is_ready, tables)

    def preparation(self, program: str, wish: Wish, primary: Server, account: Account) -> list[Command]:
        """What stood in the tables before is dropped."""
        words = [program, wish.workload.mode, *_place(primary, account), *_tables(wish)]
        return [Command("preparation", [*words, action], environment(account)) for action in ("cleanup", "prepare")]

    def load(
        self, program: str, wish: Wish, account: Account, *, duration_s: int, folder: Path, is_measured: bool
    ) -> list[Command]:
        servers = wish.topology.servers
        shares = topologies.shares(wish.clients, len(servers))
        rates = _rates(wish.throttle_per_s or 0, shares)
        found = []
        for number, (server, clients, rate) in enumerate(zip(servers, shares, rates, strict=True)):
            words = [program, wish.workload.mode, *_place(server, account), *_tables(wish)]
            words += [f"--threads={clients}", f"--time={duration_s}"]
            words.append(f"--db-ps-mode={'auto' if _prepares(wish) else 'disable'}")
            words += ["--skip-trx=on"] if wish.parameters.get(SKIP_TRX.name) else []
            words += [f"--rate={rate}"] if wish.throttle_per_s else []
            words += ["--report-interval=1", "--histogram=on"] if is_measured else []
            own = folder / str(number) if is_measured else None
            found.append(Command(server.name, [*words, "run"], environment(account), own))
        return found

    def second(self, line: str) -> LoadSecond | None:
        """Of latencies it tells only a percentile, which cannot be put together with that of other processes."""
        told = parse_intermediate(line)
        return None if told is None else LoadSecond(told.at_s, told.tps, None, failed=round(told.errors_per_s))

    def report(self, wish: Wish, server: str, output: str, folder: Path) -> Part:
        found = parse_result(output)
        if found.report is None:
            raise UnreadableOutputError(0, "", "a whole report of sysbench, which begins with 'SQL statistics:'")
        report = LoadReport(
            tps=found.report.tps,
            transactions=found.report.transactions,
            failed=found.report.errors,
            latency_ms=found.report.latency_mean_ms,
            own={"queries_per_s": found.report.queries_per_s, "reconnects": found.report.reconnects},
        )
        return Part(server, report, _histogram(found))

    def gave_up(self, output: str, exit_code: int) -> str:
        """Nothing: all its threads end with the first that fails."""
        return ""

    def failure(self, output: str, exit_code: int) -> str:
        failure = parse_failure(output, exit_status=exit_code)
        if failure.cause == Cause.PREPARED:
            return f"{failure.reason} {_MEND_SHARED}"
        if exit_code == -signal.SIGSEGV and failure.cause == Cause.SIGNAL:
            return f"{_CRASHED} {_MEND_CRASH}"
        if failure.cause in OF_THE_SERVER:
            return f"{failure.reason} {failure.fix}"
        printed = [line.strip() for line in output.splitlines() if line.strip()]
        told = next((line for line in printed if line.startswith("FATAL:")), printed[-1] if printed else "nothing")
        return f"sysbench ended with status {exit_code}. It printed: {told[:LONGEST_SAID]}"

    def check_data(
        self, wish: Wish, primary: Server, account: Account, *, watch: Callable[[], None]
    ) -> list[RunFinding]:
        return []

    def notes(self, wish: Wish) -> list[str]:
        found = ["percentiles are of sysbench's histogram, whose buckets are up to 2 % wide"]
        if wish.throttle_per_s:
            found.append("latencies count from when the throttle would have begun a transaction, its wait included")
        if not _prepares(wish):
            found.append(NOT_PREPARED if wish.parameters[PREPARED.name] is None else UNPREPARED_AS_ASKED)
        return found


def _rates(per_s: int, shares: Sequence[int]) -> list[int]:
    """Of each process, by its share of the clients: whole numbers, as sysbench wants them, that make per_s together.

    None is 0, which would be no throttle: fewer per second than processes become one of each.
    """
    reached = [round(per_s * sum(shares[:number]) / sum(shares)) for number in range(len(shares) + 1)]
    return [max(1, after - before) for before, after in pairwise(reached)]


def _prepares(wish: Wish) -> bool:
    """As was asked for; where nothing was, wherever that lasts."""
    asked: bool | None = wish.parameters[PREPARED.name]
    return wish.topology.keeps_statements if asked is None else asked


def _histogram(found: SysbenchResult) -> LatencyHistogram:
    kept = LatencyHistogram()
    for milliseconds, count in found.histogram:
        if count:
            kept.record(round(milliseconds * 1000), count)
    return kept


def _place(server: Server, account: Account) -> list[str]:
    return [
        "--db-driver=pgsql", f"--pgsql-host={server.host}", f"--pgsql-port={server.port}",
        f"--pgsql-user={account.username}", f"--pgsql-db={account.database}",
    ]  # fmt: skip


def _tables(wish: Wish) -> list[str]:
    return [f"--tables={wish.parameters[TABLES.name]}", f"--table-size={wish.parameters[TABLE_SIZE.name]}"]
