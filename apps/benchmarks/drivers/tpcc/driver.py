"""The TPC-C-like load by pgbench: a script for each of the five transactions, each one call of the server.

Its data is made on the server, too, by pgbench with other scripts, in the schema lifeguard_tpcc.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psycopg

from apps.benchmarks.domain import tpcc
from apps.benchmarks.domain.pgbench_output import parse_result
from apps.benchmarks.domain.run_findings import RunFinding
from apps.benchmarks.domain.run_result import Part
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers import database
from apps.benchmarks.drivers.driver import Account, CannotPrepare, Standing, environment
from apps.benchmarks.drivers.pgbench import Pgbench, load_report, logged_by_script, place, together
from apps.benchmarks.drivers.pgbench_scripts import script_reports
from apps.benchmarks.drivers.processes import Command
from apps.benchmarks.drivers.tpcc import conditions

SCHEMA = "lifeguard_tpcc"
TABLES = tuple(
    f"{SCHEMA}.{name}"
    for name in (
        "warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock"
    )
)  # fmt: skip
_MADE = f"{SCHEMA}.made"
_SQL = Path(__file__).parent / "sql"
_PREPARATION = ("tables", "rows", "transactions", "warehouse", "keys")
# Warehouses that are made at a time; each is as much work as a session of the server can do.
_MOST_MAKERS = 4
_MAY_NOT = "permission denied for database"
_OWNED_BY_ANOTHER = f"must be owner of schema {SCHEMA}"
_NOT_ITS_OWN = (
    f"The schema {SCHEMA} is there and belongs to another role. Let its owner drop it (DROP SCHEMA {SCHEMA} CASCADE), "
    "or give benchmarks a database of their own."
)
_ISOLATION = "read committed"
_NOTES = (
    "no keying and no think times: clients are no terminals, and the server sets the rate, which is no tpmC",
    "each transaction is one call of the server, of a warehouse that is drawn anew",
    "there are no foreign keys, and deliveries are not queued",
    "orders stay: each run adds to them, and the next one finds more (reseed makes the tables anew)",
)


class Tpcc(Pgbench):
    """Its scripts belong to Lifeguard and are read where they lie."""

    def look(self, wish: Wish, primary: Server, account: Account) -> Standing:
        """Data of another size, or made by another version of Lifeguard, is not that of the run."""
        size = tpcc.size_of(wish.parameters)
        with database.session(primary, account) as session:
            try:
                wanted = {*TABLES, _MADE}
                if database.standing_tables(session, wanted) != wanted:
                    return Standing(False, TABLES)
                made = session.execute("SELECT made_by, warehouses, size_percent FROM lifeguard_tpcc.made").fetchall()
            except psycopg.errors.UndefinedColumn:  # made by a version that told it otherwise
                return Standing(False, TABLES)
            except psycopg.errors.InsufficientPrivilege as error:
                raise CannotPrepare(_NOT_ITS_OWN) from error
        return Standing(made == [(_made_by(), size.warehouses, size.size_percent)], TABLES)

    def preparation(self, program: str, wish: Wish, primary: Server, account: Account) -> list[Command]:
        """The schema anew with what is in it; warehouses side by side; keys; a row that says that all is there."""
        size = tpcc.size_of(wish.parameters)
        makers = min(size.warehouses, wish.clients, _MOST_MAKERS)
        found = []
        for name in _PREPARATION:
            at_a_time, each = (makers, -(-size.warehouses // makers)) if name == "warehouse" else (1, 1)
            words = [
                program, *place(primary, account), "--no-vacuum", *_defined(size), f"--define=made_by={_made_by()}",
                f"--define=size_percent={size.size_percent}", f"--file={_SQL / name}.sql",
                f"--client={at_a_time}", f"--jobs={at_a_time}", f"--transactions={each}",
            ]  # fmt: skip
            found.append(Command("preparation", words, environment(account)))
        return found

    def _chosen(self, wish: Wish, folder: Path) -> list[str]:
        words = ["--no-vacuum", f"--protocol={wish.parameters['protocol']}", *_defined(tpcc.size_of(wish.parameters))]
        return words + [f"--file={_SQL / kind.name.replace(' ', '_')}.sql@{kind.weight}" for kind in tpcc.KINDS]

    def report(self, wish: Wish, server: str, output: str, folder: Path) -> Part:
        found = parse_result(output)
        whole = load_report(found, server=server, output=output)
        logged = logged_by_script(folder, throttled=wish.throttle_per_s is not None)
        named = [(kind.name, kind.weight) for kind in tpcc.KINDS]
        # Each is one statement, so its latency is that of its transaction; the rest is pgbench drawing numbers.
        scripts = tuple(replace(one, statements=()) for one in script_reports(named, found, whole))
        return Part(
            server, replace(whole, scripts=scripts), together(logged),
            {kind.name: logged[number] for number, kind in enumerate(tpcc.KINDS) if number in logged},
        )  # fmt: skip

    def failure(self, output: str, exit_code: int) -> str:
        said = super().failure(output, exit_code)
        if _MAY_NOT in output:
            return f"{said} It makes a schema of its own, {SCHEMA}: GRANT CREATE ON DATABASE lets its role do so."
        return f"{said} {_NOT_ITS_OWN}" if _OWNED_BY_ANOTHER in output else said

    def check_data(
        self, wish: Wish, primary: Server, account: Account, *, watch: Callable[[], None]
    ) -> list[RunFinding]:
        with database.session(primary, account) as session:
            found = conditions.look(session, watch=watch)
            isolation = str(database.one(session, "SHOW default_transaction_isolation"))
        if isolation != _ISOLATION:
            found.append(tpcc.of_isolation(isolation))
        # What is violated stands before all that holds.
        return [*sorted(found, key=lambda one: one["ok"]), *tpcc.of_size(tpcc.size_of(wish.parameters))]

    def notes(self, wish: Wish) -> list[str]:
        return [*super().notes(wish), *_NOTES]


def _defined(size: tpcc.Size) -> list[str]:
    values = {"warehouses": size.warehouses, "items": size.items, "customers": size.customers, "names": size.names}
    return [f"--define={name}={value}" for name, value in values.items()]


def _made_by() -> int:
    """A number for the texts that make the data: other texts, another number."""
    texts = b"".join((_SQL / f"{name}.sql").read_bytes() for name in _PREPARATION)
    return int(hashlib.sha256(texts).hexdigest()[:12], 16)
