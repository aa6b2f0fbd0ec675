"""pgbench as a load generator: its command lines, and where its figures are."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from apps.benchmarks.domain import pgbench_log, topologies
from apps.benchmarks.domain.latency_histogram import LatencyHistogram
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers.processes import Command
from apps.clusters.outside.tls_roots import root_certificates

# Where Debian keeps it beside the server.
_DEBIAN = Path("/usr/lib/postgresql")
LOG_PREFIX = "transactions"
# More single transactions than this tell percentiles no better, and fill the disk.
MOST_LOGGED = 2_000_000
# Faster than any server here; a lower rate only logs fewer than would fit.
FASTEST_TPS = 40_000


class PgbenchMissing(RuntimeError):
    """The worker has no pgbench."""

    def __init__(self) -> None:
        super().__init__(
            "this worker has no pgbench. Install the client programs of PostgreSQL on its machine (Debian: postgresql)."
        )


@dataclass(frozen=True)
class Account:
    """How the load signs in."""

    username: str
    password: str
    database: str
    sslmode: str


def find_program() -> str:
    """The newest of this machine. Raises PgbenchMissing."""
    if found := shutil.which("pgbench"):
        return found
    versions = sorted(_DEBIAN.glob("*/bin/pgbench"), key=lambda path: _number(path.parts[-3]))
    if not versions:
        raise PgbenchMissing
    return str(versions[-1])


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def preparation(program: str, server: Server, account: Account, *, scale: int) -> Command:
    """Tables of this scale anew, analysed; what stood in them before is dropped."""
    words = [program, *_place(server, account), "--initialize", f"--scale={scale}", "--quiet"]
    return Command("preparation", words, _environment(account))


def load(program: str, wish: Wish, account: Account, *, duration_s: int, directory: Path | None) -> list[Command]:
    """One process for each server, each with its share of the clients.

    directory: where each logs its transactions, below a folder of its own; None: a warm-up, nothing is logged.
    """
    servers = wish.topology.servers
    found = []
    for number, (server, clients) in enumerate(
        zip(servers, topologies.shares(wish.clients, len(servers)), strict=True)
    ):
        folder = None if directory is None else directory / str(number)
        threads = max(1, min(clients, wish.threads // len(servers)))
        words = [
            program, *_place(server, account), "--no-vacuum", f"--builtin={wish.workload.builtin}",
            f"--client={clients}", f"--jobs={threads}", f"--time={duration_s}",
        ]  # fmt: skip
        if folder is not None:
            words += ["--progress=1", "--report-per-command", "--log", f"--log-prefix={LOG_PREFIX}"]
            words += [f"--sampling-rate={rate:g}"] if (rate := sampling_rate(duration_s)) < 1 else []
        found.append(Command(server.name, words, _environment(account), folder))
    return found


def sampling_rate(duration_s: int) -> float:
    """The share of transactions that is logged one by one."""
    return min(1.0, round(MOST_LOGGED / (duration_s * FASTEST_TPS), 2) or 0.01)


def logged_latencies(folder: Path) -> LatencyHistogram:
    """Of each transaction that is in the logs of its threads."""
    found = LatencyHistogram()
    for path in sorted(folder.glob(f"{LOG_PREFIX}.*")):
        with path.open(encoding="ascii", errors="replace") as lines:
            found.add(pgbench_log.read_latencies(lines))
    return found


def _place(server: Server, account: Account) -> list[str]:
    return [f"--host={server.host}", f"--port={server.port}", f"--username={account.username}", account.database]


def _environment(account: Account) -> dict[str, str]:
    """pgbench has no other place for these; of the environment only the same account of the machine can read."""
    return {
        "PGPASSWORD": account.password,
        "PGSSLMODE": account.sslmode,
        "PGSSLROOTCERT": root_certificates(account.sslmode),
        "PGCONNECT_TIMEOUT": "10",
        "PGAPPNAME": "lifeguard-benchmark",
        "LC_ALL": "C.UTF-8",
    }
