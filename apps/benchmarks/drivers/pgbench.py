"""pgbench as a load generator: its tables, its command lines, and where its figures are."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from apps.benchmarks.domain import pgbench_log, topologies
from apps.benchmarks.domain.latency_histogram import LatencyHistogram
from apps.benchmarks.domain.load_report import LoadReport, LoadSecond, StatementReport
from apps.benchmarks.domain.pgbench_failure import Cause, parse_failure, shared_statements
from apps.benchmarks.domain.pgbench_output import parse_result
from apps.benchmarks.domain.pgbench_progress import parse_progress
from apps.benchmarks.domain.pgbench_result import PgbenchResult
from apps.benchmarks.domain.printed import UnreadableOutputError
from apps.benchmarks.domain.run_findings import RunFinding, of_shared_statements
from apps.benchmarks.domain.run_result import Part
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers import database
from apps.benchmarks.drivers.driver import Account, ProgramMissing, Standing, environment, said_version
from apps.benchmarks.drivers.processes import Command

TABLES = ("pgbench_accounts", "pgbench_branches", "pgbench_tellers", "pgbench_history")
KEYED = ("pgbench_accounts", "pgbench_branches", "pgbench_tellers")
# Where Debian keeps it beside the server.
_DEBIAN = Path("/usr/lib/postgresql")
# Its status then; 1 is for what it finds before it begins.
_SOME_GAVE_UP = 2
LOG_PREFIX = "transactions"
# More single transactions than this tell percentiles no better, and fill the disk.
MOST_LOGGED = 2_000_000
# Faster than any server here; a lower rate only logs fewer than would fit.
FASTEST_TPS = 40_000


class Pgbench:
    """Its own workloads."""

    def find_program(self) -> str:
        """The newest of this machine."""
        if found := shutil.which("pgbench"):
            return found
        versions = sorted(_DEBIAN.glob("*/bin/pgbench"), key=lambda path: _number(path.parts[-3]))
        if not versions:
            raise ProgramMissing(
                "this worker has no pgbench. Install the client programs of PostgreSQL on its machine (Debian: "
                "postgresql)."
            )
        return str(versions[-1])

    def version(self, program: str) -> str:
        return said_version(program)

    def lay_out(self, program: str, wish: Wish, folder: Path) -> None:
        """Nothing: its own workloads are in the program."""

    def look(self, wish: Wish, primary: Server, account: Account) -> Standing:
        with database.session(primary, account) as session:
            is_ready = database.standing_tables(session, TABLES) == set(TABLES)
            # Keys are made last: without them a preparation was ended before its time.
            is_ready = is_ready and database.tables_with_key(session, KEYED) == set(KEYED)
            if is_ready:
                scale = database.one(session, "SELECT count(*) FROM pgbench_branches")
                is_ready = scale == wish.parameters["scale"]
        return Standing(is_ready, TABLES)

    def preparation(self, program: str, wish: Wish, primary: Server, account: Account) -> list[Command]:
        """Tables of its scale, analysed; what stood in them before is dropped."""
        scale = wish.parameters["scale"]
        words = [program, *place(primary, account), "--initialize", f"--scale={scale}", "--quiet"]
        return [Command("preparation", words, environment(account))]

    def load(
        self, program: str, wish: Wish, account: Account, *, duration_s: int, folder: Path, is_measured: bool
    ) -> list[Command]:
        servers = wish.topology.servers
        found = []
        for number, (server, clients) in enumerate(
            zip(servers, topologies.shares(wish.clients, len(servers)), strict=True)
        ):
            threads = max(1, min(clients, wish.threads // len(servers)))
            words = [
                program, *place(server, account), *self._chosen(wish, folder),
                f"--client={clients}", f"--jobs={threads}", f"--time={duration_s}",
            ]  # fmt: skip
            words += _pace(wish, clients)
            if is_measured:
                words += ["--progress=1", "--report-per-command", "--log", f"--log-prefix={LOG_PREFIX}"]
                words += [f"--sampling-rate={rate:g}"] if (rate := sampling_rate(wish, duration_s)) < 1 else []
            own = folder / str(number) if is_measured else None
            found.append(Command(server.name, words, self._environment(wish, account), own))
        return found

    def _chosen(self, wish: Wish, folder: Path) -> list[str]:
        """What is run of it."""
        return ["--no-vacuum", f"--protocol={wish.parameters['protocol']}", f"--builtin={wish.workload.mode}"]

    def _environment(self, wish: Wish, account: Account) -> dict[str, str]:
        return environment(account)

    def second(self, line: str) -> LoadSecond | None:
        told = parse_progress(line)
        if told is None:
            return None
        return LoadSecond(told.at_s, told.tps, told.latency_ms, told.stddev_ms, told.failed)

    def report(self, wish: Wish, server: str, output: str, folder: Path) -> Part:
        logged = together(logged_by_script(folder, throttled=wish.throttle_per_s is not None))
        return Part(server, load_report(parse_result(output), server=server, output=output), logged)

    def gave_up(self, output: str, exit_code: int) -> str:
        if exit_code != _SOME_GAVE_UP:
            return ""
        try:
            report = parse_result(output)
        except UnreadableOutputError:
            return ""
        if not report.transactions:
            return ""
        aborted = parse_failure(output, exit_status=exit_code).aborted_clients
        return f"{aborted} of {report.clients} clients gave up before the end. {self.failure(output, exit_code)}"

    def failure(self, output: str, exit_code: int) -> str:
        failure = parse_failure(output, exit_status=exit_code)
        if failure.printed and failure.cause in {Cause.ABORTED, Cause.OTHER}:
            return f"It printed: {failure.printed}"
        return f"{failure.reason} {failure.fix}".strip()

    def check_data(
        self, wish: Wish, primary: Server, account: Account, *, watch: Callable[[], None]
    ) -> list[RunFinding]:
        return []

    def notes(self, wish: Wish) -> list[str]:
        found = []
        if (rate := sampling_rate(wish, wish.duration_s)) < 1:
            found.append(f"percentiles are of {rate:.0%} of all transactions: that many were logged")
        if wish.reconnects:
            found.append("tps counts the time to connect, once for each transaction; latencies leave it out")
        if wish.throttle_per_s:
            found.append("latencies count from when the throttle would have begun a transaction, its lag included")
        return found


def _pace(wish: Wish, clients: int) -> list[str]:
    """clients: of this process, which has as large a share of the throttle."""
    words = ["--connect"] if wish.reconnects else []
    if wish.throttle_per_s:
        words.append(f"--rate={wish.throttle_per_s * clients / wish.clients:g}")
    return words


def _own(found: PgbenchResult, findings: list[RunFinding]) -> dict[str, object]:
    figures = {
        "findings": findings or None,
        "average_connection_ms": found.average_connection_ms,
        "schedule_lag_ms": found.schedule_lag_ms,
        "schedule_lag_max_ms": found.schedule_lag_max_ms,
    }
    return {name: value for name, value in figures.items() if value is not None}


def sampling_rate(wish: Wish, duration_s: int) -> float:
    """The share of transactions that is logged one by one."""
    tps = min(FASTEST_TPS, wish.throttle_per_s or FASTEST_TPS)
    return min(1.0, round(MOST_LOGGED / (duration_s * tps), 2) or 0.01)


def load_report(found: PgbenchResult, *, server: str, output: str) -> LoadReport:
    shared = shared_statements(output)
    findings = [of_shared_statements(server, shared)] if shared else []
    return LoadReport(
        tps=found.tps,
        transactions=found.transactions,
        failed=found.counts.failed,
        latency_ms=found.latency_ms,
        latency_stddev_ms=found.latency_stddev_ms,
        connect_ms=found.initial_connection_ms,
        statements=tuple(StatementReport(one.text, one.latency_ms) for one in found.statements),
        own=_own(found, findings),
        is_partial=found.partial,
    )


def logged_by_script(folder: Path, *, throttled: bool) -> dict[int, LatencyHistogram]:
    """Each transaction that is in the logs of its threads, by the number of its script, counted from 0."""
    found: dict[int, LatencyHistogram] = {}
    for path in sorted(folder.glob(f"{LOG_PREFIX}.*")):
        with path.open(encoding="ascii", errors="replace") as lines:
            for number, one in pgbench_log.read_latencies_by_script(lines, throttled=throttled).items():
                found.setdefault(number, LatencyHistogram()).add(one)
    return found


def together(logged: Mapping[int, LatencyHistogram]) -> LatencyHistogram:
    found = LatencyHistogram()
    for one in logged.values():
        found.add(one)
    return found


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def place(server: Server, account: Account) -> list[str]:
    """Where a pgbench signs in, and as whom."""
    return [f"--host={server.host}", f"--port={server.port}", f"--username={account.username}", account.database]
