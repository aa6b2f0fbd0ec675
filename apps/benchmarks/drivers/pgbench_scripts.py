"""pgbench with scripts of the run: read by it before anything else is done, each script with its own figures."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psycopg

from apps.benchmarks.domain.load_report import LoadReport, ScriptReport, StatementReport
from apps.benchmarks.domain.pgbench_failure import Cause, parse_failure
from apps.benchmarks.domain.pgbench_output import parse_result
from apps.benchmarks.domain.pgbench_result import PgbenchResult
from apps.benchmarks.domain.pgbench_scripts import PgbenchScript
from apps.benchmarks.domain.run_result import Part
from apps.benchmarks.domain.run_wish import Wish, WishRefused
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.domain.workloads import SCRIPTS
from apps.benchmarks.drivers import database
from apps.benchmarks.drivers.driver import Account, CannotPrepare, Standing, environment
from apps.benchmarks.drivers.pgbench import Pgbench, load_report, logged_by_script, together
from apps.benchmarks.drivers.processes import Command

_FOLDER = "scripts"
_READS_WITHIN_S = 20
_READ_ONLY = "-c default_transaction_read_only=on"
# What would let a script reach past the database, to the host of the server.
_REACHES = ("pg_execute_server_program", "pg_read_server_files", "pg_write_server_files")


class PgbenchScripts(Pgbench):
    """The scripts lie in the folder of the run, as 1.sql, 2.sql, …"""

    def lay_out(self, program: str, wish: Wish, folder: Path) -> None:
        """Written there, and read by pgbench itself: it reads all of them before it looks for a server."""
        (folder / _FOLDER).mkdir()
        for number, script in enumerate(_scripts(wish), start=1):
            _path(folder, number).write_text(script["sql"], encoding="utf-8")
        # No server has its socket there.
        words = [program, *self._chosen(wish, folder), f"--host={folder}", "--transactions=1", "nowhere"]
        try:
            said = subprocess.run(
                words, capture_output=True, text=True, errors="replace", timeout=_READS_WITHIN_S, check=False,
                stdin=subprocess.DEVNULL, env={"LC_ALL": "C.UTF-8"},
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise CannotPrepare(f"pgbench did not read the scripts within {_READS_WITHIN_S} s") from error
        _refuse_unread(wish, folder, said.stderr)

    def look(self, wish: Wish, primary: Server, account: Account) -> Standing:
        with database.session(primary, account) as session:
            _refuse_reaching(session, primary, account)
            if not (wish.writes or primary.passes_options):
                _refuse_writing(session, primary)
        return super().look(wish, primary, account) if wish.parameters["scale"] else Standing(True, ())

    def preparation(self, program: str, wish: Wish, primary: Server, account: Account) -> list[Command]:
        """Nothing where the scripts use no table of pgbench."""
        return super().preparation(program, wish, primary, account) if wish.parameters["scale"] else []

    def report(self, wish: Wish, server: str, output: str, folder: Path) -> Part:
        found, scripts = parse_result(output), _scripts(wish)
        whole = load_report(found, server=server, output=output)
        logged = logged_by_script(folder, throttled=wish.throttle_per_s is not None)
        return Part(
            server,
            replace(whole, scripts=script_reports([(one["name"], one["weight"]) for one in scripts], found, whole)),
            together(logged),
            {one["name"]: logged[number] for number, one in enumerate(scripts) if number in logged},
        )

    def notes(self, wish: Wish) -> list[str]:
        found = super().notes(wish)
        if not wish.parameters["scale"]:
            found.append("nothing was prepared or analysed: the scripts use tables of their own")
        return found

    def _chosen(self, wish: Wish, folder: Path) -> list[str]:
        words = ["--no-vacuum", f"--protocol={wish.parameters['protocol']}"]
        words += [f"--scale={scale}"] if (scale := wish.parameters["scale"]) else []
        for number, script in enumerate(_scripts(wish), start=1):
            words.append(f"--file={_path(folder, number)}@{script['weight']}")
        return words

    def _environment(self, wish: Wish, account: Account) -> dict[str, str]:
        """An endpoint that takes no options lets sessions only read by itself, or it was refused."""
        passes = all(server.passes_options for server in wish.topology.servers)
        return {**environment(account), **({"PGOPTIONS": _READ_ONLY} if passes and not wish.writes else {})}


def _scripts(wish: Wish) -> list[PgbenchScript]:
    found: list[PgbenchScript] = wish.parameters[SCRIPTS.name]
    return found


def _path(folder: Path, number: int) -> Path:
    return folder / _FOLDER / f"{number}.sql"


def _refuse_unread(wish: Wish, folder: Path, said: str) -> None:
    """Raises WishRefused with the line of the script, as pgbench tells it."""
    failure = parse_failure(said)
    if failure.cause not in {Cause.SCRIPT, Cause.OPTIONS}:
        return
    for position, script in enumerate(_scripts(wish)):
        path = str(_path(folder, position + 1))
        if failure.script == path:
            lines = script["sql"].split("\n")
            number = failure.script_line or 0
            line = lines[number - 1].strip() if 0 < number <= len(lines) else script["name"]
            reason = failure.reason.replace(path, script["name"])
            field = f"parameters.{SCRIPTS.name}.{position}.sql"
            raise WishRefused(field, line, f"is not taken. {reason} {failure.fix}")
    raise WishRefused(f"parameters.{SCRIPTS.name}", failure.printed, f"is what pgbench says of them. {failure.fix}")


def _refuse_reaching(session: database.Session, primary: Server, account: Account) -> None:
    """A script runs whatever its role may. Raises CannotPrepare for one that may more than SQL."""
    reaches = database.one(
        session,
        "SELECT rolsuper OR (SELECT bool_or(pg_has_role(name, 'MEMBER')) FROM unnest(%s::text[]) AS name)"
        " FROM pg_roles WHERE rolname = current_user",
        [list(_REACHES)],
    )
    if reaches:
        raise CannotPrepare(
            f"{primary.name}: own scripts are not run as {account.username}, a role that may run programs on a "
            "server's host or touch files there. Let an admin name a role for benchmarks that may not."
        )


def _refuse_writing(session: database.Session, endpoint: Server) -> None:
    """Of scripts that say that they only read. Raises CannotPrepare where a session could write all the same."""
    only_reads = "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean"
    try:
        if database.one(session, only_reads):
            return
    except psycopg.Error as error:
        raise CannotPrepare(f"{endpoint.name} does not say whether its sessions can write: {error}") from error
    raise CannotPrepare(
        f"{endpoint.name} ({endpoint.place}) passes no options on, so sessions could write there, and "
        "the scripts say that they only read. Say that they write, or let the endpoint open sessions that only read "
        "(PgBouncer: connect_query='SET default_transaction_read_only = on')."
    )


def script_reports(
    scripts: Sequence[tuple[str, int]], found: PgbenchResult, whole: LoadReport
) -> tuple[ScriptReport, ...]:
    """scripts: name and weight of each. Of a single one pgbench tells nothing apart: its figures are those of all."""
    if len(scripts) == 1:
        return (
            ScriptReport(
                *scripts[0], whole.transactions, whole.tps, whole.failed,
                whole.latency_ms, whole.latency_stddev_ms, whole.statements,
            ),
        )  # fmt: skip
    return tuple(
        ScriptReport(
            *scripts[one.number - 1], one.transactions, one.tps,
            one.counts.failed, one.latency_ms, one.latency_stddev_ms,
            tuple(StatementReport(each.text, each.latency_ms) for each in one.statements),
        )
        for one in found.scripts
        if 0 < one.number <= len(scripts)
    )  # fmt: skip
