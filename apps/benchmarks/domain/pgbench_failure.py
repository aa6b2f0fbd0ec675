"""Why pgbench failed, by what it and libpq print to standard error, and what mends it.

Messages of libpq and PostgreSQL are translated: run pgbench with LC_ALL=C, of servers with lc_messages in English.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from enum import StrEnum

from apps.benchmarks.domain.pgbench_progress import parse_progress

EXCERPT_CHARACTERS = 300
LINE_CHARACTERS = 2000


class Cause(StrEnum):
    SCRIPT = "script"
    SCRIPT_SQL = "script_sql"
    OPTIONS = "options"
    FILE = "file"
    NOT_PREPARED = "not_prepared"
    PREPARED = "prepared"
    STATEMENT_POOLING = "statement_pooling"
    RELATION = "relation"
    DATABASE = "database"
    CREDENTIALS = "credentials"
    PRIVILEGE = "privilege"
    TOO_MANY_CLIENTS = "too_many_clients"
    NOT_ACCEPTING = "not_accepting"
    REFUSED = "refused"
    NAME = "name"
    UNREACHABLE = "unreachable"
    READ_ONLY = "read_only"
    RECOVERY_CONFLICT = "recovery_conflict"
    DISK_FULL = "disk_full"
    OPEN_FILES = "open_files"
    TIMEOUT = "timeout"
    CONFLICTING = "conflicting"
    CLOSED = "closed"
    ABORTED = "aborted"
    SIGNAL = "signal"
    OTHER = "other"


# What servers and libpq say to any program.
OF_THE_SERVER = frozenset(
    {
        Cause.DATABASE, Cause.CREDENTIALS, Cause.PRIVILEGE, Cause.TOO_MANY_CLIENTS, Cause.NOT_ACCEPTING, Cause.REFUSED,
        Cause.NAME, Cause.UNREACHABLE, Cause.READ_ONLY, Cause.RECOVERY_CONFLICT, Cause.DISK_FULL, Cause.TIMEOUT,
        Cause.CLOSED, Cause.PREPARED, Cause.STATEMENT_POOLING,
    }
)  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """reason, fix: sentences for people. printed: the line that told, "" where none did.

    script, script_line: of a script that does not parse; no line where it is wrong as a whole.
    aborted_clients: how many gave up during the run.
    partial: the run had begun, so that what was measured until then exists.
    """

    cause: Cause
    reason: str
    fix: str
    printed: str
    partial: bool
    aborted_clients: int
    script: str | None = None
    script_line: int | None = None


@dataclass(frozen=True)
class _Sign:
    pattern: re.Pattern[str]
    cause: Cause
    reason: str
    fix: str


def _sign(pattern: str, cause: Cause, reason: str, fix: str) -> _Sign:
    """reason and fix may use the named groups of the pattern."""
    return _Sign(re.compile(pattern, re.IGNORECASE), cause, reason, fix)


_PREPARE = (
    "Prepare the database first: the preparation step of this workload, or pgbench -i, creates and fills the tables."
)
_AT_LINE = "Line {line} of script {script} cannot be read: {what}."
_MEND_SCRIPT = "Mend that line. Nothing was run."

_SHARED = (
    "The target hands the sessions of clients from one server connection to another, where others prepared theirs."
)
_MEND_SHARED = (
    "Let statements be sent without preparing them (the protocol simple or extended), or let the target keep sessions "
    "together (PgBouncer: pool_mode = session; from 1.21 on also max_prepared_statements)."
)

# The first that any line matches counts: what pgbench says itself, then what servers say, then what follows from that.
_SIGNS = (
    _sign(
        r"^pgbench: (?:error|fatal): (?P<script>[^:\"]+):(?P<line>\d{1,9}): (?P<what>.+)$",
        Cause.SCRIPT, _AT_LINE, _MEND_SCRIPT,
    ),
    _sign(
        r"^(?P<script>[^:\"]+):(?P<line>\d{1,9}): (?P<what>.+ in command \".*)$",
        Cause.SCRIPT, _AT_LINE, _MEND_SCRIPT,
    ),
    _sign(
        r"(?P<what>condition error in|empty command list for) script \"(?P<script>[^\"]*)\"(?P<rest>.*)$",
        Cause.SCRIPT, "The script {script} cannot be run: {what} it{rest}.",
        "Mend the script. Nothing was run.",
    ),
    _sign(
        r"ERROR:  ?syntax error (?P<where>at or near \".*\"|at end of input)",
        Cause.SCRIPT_SQL, "PostgreSQL cannot read a statement of the script: syntax error {where}.",
        "Mend the statement. Every client that came to it gave up.",
    ),
    _sign(
        r"Try \"pgbench --help\"|(?:invalid|unrecognized) option|option requires an argument"
        r"|cannot be used in (?:benchmarking|initialization) mode|-\S+ must be in range"
        r"|invalid (?:value|query mode|rate limit|latency limit|number of \w+)\b.*\""
        r"|^pgbench: (?:error|fatal): specify either|no builtin script found|are incompatible|need to be specified",
        Cause.OPTIONS, "pgbench does not take these options.",
        "Compare the parameters of the run with the version of pgbench on this worker.",
    ),
    _sign(
        r"cannot use pipeline mode with the simple query protocol",
        Cause.OPTIONS, "The script uses \\startpipeline, which the simple protocol has not.",
        "Choose the protocol extended or prepared.",
    ),
    _sign(
        r"unsupported startup parameter:? (?:in options: )?(?P<name>\S+)",
        Cause.OPTIONS, "The target takes no sessions with the startup parameter {name}.",
        "Let it pass (PgBouncer: ignore_startup_parameters), or choose a run that needs none.",
    ),
    _sign(
        r"could not open (?:log)?file \"?(?P<name>[^\":]*)",
        Cause.FILE, "pgbench could not open the file {name}.",
        "See that the file exists and that the worker's account may read or write it.",
    ),
    _sign(
        r"relation \"(?P<name>pgbench_\w+)\" does not exist|Perhaps you need to do initialization|no pgbench_\w+ table",
        Cause.NOT_PREPARED, "The tables of pgbench are not in this database.", _PREPARE,
    ),
    _sign(
        r"transaction blocks not allowed in statement pooling mode",
        Cause.STATEMENT_POOLING,
        "The pooler hands a server connection on after each statement, and refuses transactions of several "
        "(PgBouncer: pool_mode = statement).",
        "Set pool_mode = transaction or session there, or choose a load whose transactions are one statement each.",
    ),
    _sign(
        r"prepared statement \".*\" (?:does not exist|requires \d)",
        Cause.PREPARED, _SHARED, _MEND_SHARED,
    ),
    _sign(
        r"(?P<kind>relation|column|function|schema) (?P<name>\S+?)(?:\(.*\))? does not exist",
        Cause.RELATION, "The script uses the {kind} {name}, which is not in this database.",
        "Create it before the run, or choose the database that has it.",
    ),
    _sign(
        r"no such database: (?P<name>\S+)",
        Cause.DATABASE, "The target knows no database {name}.",
        "Name it in its configuration (PgBouncer: [databases]), or name another one.",
    ),
    _sign(
        r"database \"(?P<name>[^\"]*)\" does not exist",
        Cause.DATABASE, "There is no database {name} on this server.",
        "Name another database, or create it: CREATE DATABASE.",
    ),
    _sign(
        r"role \"[^\"]*\" does not exist|password authentication failed|no password supplied|no pg_hba.conf entry"
        r"|authentication failed|is not permitted to log in",
        Cause.CREDENTIALS, "The server does not let this role in.",
        "Check role and password, pg_hba.conf of the backends, and pool_passwd and pool_hba.conf where it is a pgpool, "
        "auth_file where it is a PgBouncer.",
    ),
    _sign(
        r"permission denied for (?P<what>\w+ \S+)",
        Cause.PRIVILEGE, "The role may not use {what}.", "GRANT it to the role of the benchmark.",
    ),
    _sign(
        r"too many clients already|remaining connection slots are reserved|too many connections for"
        r"|no more connections allowed",
        Cause.TOO_MANY_CLIENTS, "The server has no free place for so many clients.",
        "Ask for fewer clients, or raise max_connections of PostgreSQL, num_init_children of Pgpool-II or "
        "max_client_conn of PgBouncer.",
    ),
    _sign(
        r"the database system is (?P<state>starting up|shutting down|in recovery mode|not yet accepting connections)",
        Cause.NOT_ACCEPTING, "The server takes no clients: it is {state}.", "Wait until it is up, and run again.",
    ),
    _sign(
        r"Connection refused|could not connect to server: No such file|failed: No such file or directory",
        Cause.REFUSED, "Nobody listens at this address.",
        "Check host and port of the target, and that the server runs and listens there.",
    ),
    _sign(
        r"(?:could not translate host name|failed to resolve host) [\"'](?P<name>[^\"']*)[\"']",
        Cause.NAME, "The host name {name} is not known to this worker.", "Check the name, or use the address.",
    ),
    _sign(
        r"query_wait_timeout|client_login_timeout|server login (?:has been failing|failed)",
        Cause.UNREACHABLE, "The pooler had no connection to a server for these clients in time.",
        "See that the server behind it runs and lets the pooler in, and that its pool is large enough "
        "(PgBouncer: default_pool_size).",
    ),
    _sign(
        r"timeout expired|Connection timed out|No route to host|Network is unreachable",
        Cause.UNREACHABLE, "The target does not answer.",
        "Check the address, routes and firewalls between this worker and the target.",
    ),
    _sign(
        r"cannot execute [A-Z ]+ (?:in a read-only transaction|during recovery)",
        Cause.READ_ONLY, "The workload writes, and the target is a standby or reads only.",
        "Choose a target that leads writes to the primary, or a workload that only reads; of own scripts say that they "
        "write.",
    ),
    _sign(
        r"due to conflict with recovery",
        Cause.RECOVERY_CONFLICT, "A standby cancelled a query that stood in the way of replay.",
        "Raise max_standby_streaming_delay for the run, set hot_standby_feedback, or read from the primary.",
    ),
    _sign(
        r"file \"(?P<name>[^\"]*)\"(?: with \w+\(\))?: ?"
        r"(?:.* )?(?:No space left on device|wrote only \d+ of \d+ bytes)",
        Cause.DISK_FULL, "A disk is full: {name} cannot grow.",
        "Free space on the host that said so, or take a smaller scale.",
    ),
    _sign(
        r"No space left on device|could not extend file",
        Cause.DISK_FULL, "A disk is full.", "Free space on the host that said so, or take a smaller scale.",
    ),
    _sign(
        r"need at least \d+ open files|too many open files|Too many open files",
        Cause.OPEN_FILES, "The worker may not open so many connections.", "Raise its limit of open files (ulimit -n).",
    ),
    _sign(
        r"canceling statement due to (?P<what>statement|lock) timeout",
        Cause.TIMEOUT, "A statement took longer than {what}_timeout.",
        "Raise {what}_timeout for the role of the benchmark, or ask for less.",
    ),
    _sign(
        r"could not serialize access|deadlock detected",
        Cause.CONFLICTING, "Transactions got in each other's way, and pgbench does not repeat them.",
        "Take fewer clients or a larger scale; pgbench 15 and later can repeat them (--max-tries).",
    ),
    _sign(
        r"server closed the connection unexpectedly|perhaps the backend died|terminating connection"
        r"|Connection reset by peer|SSL SYSCALL error|connection to server was lost|server conn crashed",
        Cause.CLOSED, "The server closed connections during the run.",
        "Look into its log at that time: it ended, failed over, or was told to end sessions.",
    ),
    _sign(r"prepared statement \".*\" already exists", Cause.PREPARED, _SHARED, _MEND_SHARED),
    _sign(
        r"Run was aborted|client \d+ (?:script \d+ )?aborted",
        Cause.ABORTED, "Clients gave up during the run.", "The first error that pgbench printed tells why.",
    ),
)  # fmt: skip

_ABORTED = re.compile(r"client (\d{1,9}) (?:script \d+ )?aborted in command")
_PREPARED_TWICE = re.compile(r"prepared statement \"[^\"\n]*\" already exists")
_COMPLAINT = re.compile(r"^pgbench: |ERROR:|FATAL:|PANIC:")


def parse_failure(stderr: str, *, exit_status: int | None = None) -> Failure:
    """What a pgbench that failed printed, in our words. Any text is taken: what is not known is OTHER.

    exit_status: negative for a signal, as subprocess tells it, or above 128, as a shell does.
    """
    lines = [line[:LINE_CHARACTERS].rstrip() for line in stderr.split("\n")]
    said = [line for line in lines if line.strip() and parse_progress(line) is None]
    aborted = len({match[1] for line in said if (match := _ABORTED.search(line))})
    partial = aborted > 0 or len(said) < sum(1 for line in lines if line.strip())
    for sign in _SIGNS:
        for line in said:
            match = sign.pattern.search(line)
            if match is not None:
                return _failure(sign, match, line, partial=partial, aborted=aborted)
    ended_by = _signal_of(exit_status)
    if ended_by is not None:
        return Failure(
            Cause.SIGNAL,
            f"pgbench was ended by {ended_by} before it printed its report.",
            "After a stop by hand or out of time this is expected. Otherwise see what sends it (out of memory: dmesg).",
            "",
            partial,
            aborted,
        )
    printed = next((line for line in said if _COMPLAINT.search(line)), said[-1] if said else "")
    reason = "pgbench failed without a known reason." if printed else "pgbench failed and said nothing."
    return Failure(
        Cause.OTHER, reason, "Read what it printed, line by line.", printed[:EXCERPT_CHARACTERS], partial, aborted
    )


def shared_statements(stderr: str) -> int:
    """How often a session found its prepared statement there already: its server connection had been another's."""
    return len(_PREPARED_TWICE.findall(stderr))


def _failure(sign: _Sign, match: re.Match[str], line: str, *, partial: bool, aborted: int) -> Failure:
    words = {name: (text or "")[:EXCERPT_CHARACTERS] for name, text in match.groupdict().items()}
    in_script = sign.cause == Cause.SCRIPT
    return Failure(
        cause=sign.cause,
        reason=sign.reason.format(**words),
        fix=sign.fix.format(**words),
        printed=line.strip()[:EXCERPT_CHARACTERS],
        partial=partial,
        aborted_clients=aborted,
        script=words["script"] if in_script else None,
        script_line=int(words["line"]) if in_script and "line" in words else None,
    )


def _signal_of(exit_status: int | None) -> str | None:
    if exit_status is None or 0 <= exit_status <= 128:
        return None
    number = -exit_status if exit_status < 0 else exit_status - 128
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}" if exit_status < 0 else None
