"""What pgbench prints when it fails, and what is said of it."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.benchmarks.domain.pgbench_failure import Cause, parse_failure, shared_statements

CAPTURED = Path(__file__).parents[2] / "captured" / "pgbench-15"


def captured(name: str, folder: Path = CAPTURED) -> tuple[str, int | None]:
    """What was printed to standard error, and the status that the shell noted below it."""
    text = (folder / name).read_text()
    status = re.search(r"^\[?exit=(\d+)\]?$", text, re.MULTILINE)
    return re.sub(r"^\[?exit=\d+\]?$\n?", "", text, flags=re.MULTILINE), int(status[1]) if status else None


@pytest.mark.parametrize(
    ("name", "cause", "partial", "aborted"),
    [
        ("pgbench_connrefused.txt", Cause.REFUSED, False, 0),
        ("pgbench_nodb.txt", Cause.DATABASE, False, 0),
        ("pgbench_pgpool_killed.err", Cause.CLOSED, True, 3),
        ("pgbench_readonly.txt", Cause.READ_ONLY, True, 2),
        ("pgbench_sig_KILL.err", Cause.SIGNAL, True, 0),
        ("pgbench_sig_TERM.err", Cause.SIGNAL, True, 0),
    ],
)
def test_captured_failures_have_a_cause_and_a_fix(name: str, cause: Cause, partial: bool, aborted: int) -> None:
    stderr, status = captured(name)

    failure = parse_failure(stderr, exit_status=status)

    assert (failure.cause, failure.partial, failure.aborted_clients) == (cause, partial, aborted)
    assert failure.reason
    assert failure.fix


@pytest.mark.parametrize(
    ("name", "cause", "fix"),
    [
        ("prepared_select.err", Cause.PREPARED, "max_prepared_statements"),
        ("prepared_tpcb.err", Cause.PREPARED, "pool_mode = session"),
        ("prepared_again.err", Cause.PREPARED, "simple or extended"),
        ("statement_tpcb.err", Cause.STATEMENT_POOLING, "pool_mode = transaction or session"),
        ("statement_prepared.err", Cause.STATEMENT_POOLING, "pool_mode = transaction or session"),
        ("options.err", Cause.OPTIONS, "ignore_startup_parameters"),
        ("max_client_conn.err", Cause.TOO_MANY_CLIENTS, "max_client_conn"),
        ("no_database.err", Cause.DATABASE, "[databases]"),
        ("wrong_password.err", Cause.CREDENTIALS, "auth_file"),
        ("no_server.err", Cause.UNREACHABLE, "lets the pooler in"),
        ("query_wait_timeout.err", Cause.UNREACHABLE, "default_pool_size"),
    ],
)
def test_what_a_pgbouncer_says_is_told_with_what_mends_it(name: str, cause: Cause, fix: str) -> None:
    stderr, status = captured(name, CAPTURED.with_name("pgbouncer-1.18"))

    failure = parse_failure(stderr, exit_status=status)

    assert failure.cause == cause
    assert fix in failure.fix


def test_statements_that_another_session_had_prepared_are_counted() -> None:
    folder = CAPTURED.with_name("pgbouncer-1.18")

    counts = [shared_statements(captured(name, folder)[0]) for name in ("prepared_again.err", "options.err")]

    assert counts == [4, 0]


def test_what_is_missing_is_named() -> None:
    failure = parse_failure(captured("pgbench_nodb.txt")[0])

    assert "nosuchdb" in failure.reason
    assert failure.printed.startswith("pgbench: error: connection to server")


def refusals() -> dict[str, tuple[str, int]]:
    """What was printed, and the status, by the arguments of a pgbench that never began."""
    text = (CAPTURED / "pgbench_refusals.txt").read_text()
    return {
        run[1]: (run[2], int(run[3]))
        for run in re.finditer(r"^\$ pgbench (.*?)\n(.*?)^\[exit=(\d+)\]$", text, re.MULTILINE | re.DOTALL)
    }


@pytest.mark.parametrize(
    ("arguments", "cause", "told"),
    [
        ("-f a.sql", Cause.SCRIPT, "Line 2 of script a.sql"),
        ("-f b.sql", Cause.SCRIPT, "Line 1 of script b.sql"),
        ("-f c.sql", Cause.SCRIPT, 'missing argument in command "sleep"'),
        ("-f d.sql", Cause.SCRIPT, "script d.sql cannot be run"),
        ("-f e.sql", Cause.SCRIPT, "empty command list"),
        ("-f g.sql", Cause.SCRIPT, 'syntax error in command "set"'),
        ("-f nofile.sql", Cause.FILE, "nofile.sql"),
        ("-Z", Cause.OPTIONS, "version of pgbench"),
        ("-c 0", Cause.OPTIONS, "version of pgbench"),
        ("-T 5 -t 5", Cause.OPTIONS, "version of pgbench"),
        ("-h nosuchhost.invalid x", Cause.NAME, "nosuchhost.invalid"),
        ("-h /nonexistent x", Cause.REFUSED, "host and port"),
        ("-c 9999999", Cause.OPEN_FILES, "ulimit -n"),
        ("-b nosuch", Cause.OPTIONS, "version of pgbench"),
        ("-M foo", Cause.OPTIONS, "version of pgbench"),
        ("-R 0", Cause.OPTIONS, "version of pgbench"),
    ],
)
def test_what_pgbench_refuses_to_begin_is_told_with_its_place(arguments: str, cause: Cause, told: str) -> None:
    stderr, status = refusals()[arguments]

    failure = parse_failure(stderr, exit_status=status)

    assert failure.cause == cause
    assert told in f"{failure.reason} {failure.fix}"
    assert not failure.partial


def test_every_captured_refusal_has_its_case() -> None:
    assert len(refusals()) == 16


@pytest.mark.parametrize(
    ("status", "name"), [(137, "SIGKILL"), (-9, "SIGKILL"), (143, "SIGTERM"), (-15, "SIGTERM"), (-99, "signal 99")]
)
def test_the_signal_that_ended_it_is_named(status: int, name: str) -> None:
    failure = parse_failure("", exit_status=status)

    assert failure.cause == Cause.SIGNAL
    assert name in failure.reason
    assert not failure.partial


@pytest.mark.parametrize(
    ("stderr", "cause", "told"),
    [
        # Not prepared: 14, 17, and a script of one's own.
        (
            ('pgbench: fatal: could not count number of branches: ERROR:  relation "pgbench_branches" does not exist\n'
            "LINE 1: select count(*) from pgbench_branches\n"
            'pgbench: Perhaps you need to do initialization ("pgbench -i") in database "test"'),
            Cause.NOT_PREPARED,
            "Prepare the database first",
        ),
        (
            ("pgbench: error: could not count number of branches: "
            'ERROR:  relation "pgbench_branches" does not exist\n'
            'pgbench: hint: Perhaps you need to do initialization ("pgbench -i") in database "postgres".'),
            Cause.NOT_PREPARED,
            "Prepare the database first",
        ),
        (
            ('pgbench: error: client 0 script 0 aborted in command 1 query 0: '
            'ERROR:  relation "orders" does not exist\n'
            "LINE 1: SELECT 1 FROM orders"),
            Cause.RELATION,
            '"orders"',
        ),
        # Before 13 pgbench did not put its name before such a line.
        ('connection to database "bench" failed:\nFATAL:  database "bench" does not exist', Cause.DATABASE, "bench"),
        (
            ('connection to database "bench" failed:\n'
            "could not connect to server: Connection refused\n\tIs the server running on host"),
            Cause.REFUSED,
            "host and port",
        ),
        ("FATAL:  sorry, too many clients already", Cause.TOO_MANY_CLIENTS, "num_init_children"),
        (
            "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
            Cause.TOO_MANY_CLIENTS,
            "max_connections",
        ),
        ('FATAL:  password authentication failed for user "bench"', Cause.CREDENTIALS, "pg_hba.conf"),
        ("FATAL:  the database system is starting up", Cause.NOT_ACCEPTING, "starting up"),
        ('could not translate host name "db9" to address: Name or service not known', Cause.NAME, "db9"),
        ("failed to resolve host 'db9': [Errno -2] Name or service not known", Cause.NAME, "db9"),
        ("pgbench: error: connection to server at ... failed: timeout expired", Cause.UNREACHABLE, "firewalls"),
        (
            ("pgbench: error: client 1 script 0 aborted in command 5 query 0: "
            "ERROR:  cannot execute UPDATE in a read-only transaction"),
            Cause.READ_ONLY,
            "standby",
        ),
        ("ERROR:  canceling statement due to conflict with recovery", Cause.RECOVERY_CONFLICT, "hot_standby_feedback"),
        ('ERROR:  could not extend file "base/1/2": No space left on device', Cause.DISK_FULL, "base/1/2 cannot grow"),
        # From PostgreSQL 16 on.
        (
            'ERROR:  could not extend file "base/1/2" with FileFallocate(): No space left on device', Cause.DISK_FULL,
            "base/1/2 cannot grow",
        ),
        ('ERROR:  could not extend file "base/1/2": wrote only 4096 of 8192 bytes', Cause.DISK_FULL, "base/1/2"),
        ("pgbench: error: could not write: No space left on device", Cause.DISK_FULL, "smaller scale"),
        ("ERROR:  canceling statement due to statement timeout", Cause.TIMEOUT, "statement_timeout"),
        ("ERROR:  permission denied for table orders", Cause.PRIVILEGE, "table orders"),
        ("ERROR:  deadlock detected", Cause.CONFLICTING, "--max-tries"),
        ("server closed the connection unexpectedly", Cause.CLOSED, "its log"),
        (
            ("pgbench: error: client 3 aborted: could not send the query\n"
            "pgbench: error: Run was aborted; the above results are incomplete."),
            Cause.ABORTED,
            "first error",
        ),
        ('pgbench: error: could not open file "/x.sql": No such file or directory', Cause.FILE, "/x.sql"),
        ("pgbench: invalid option -- 'Z'\nTry \"pgbench --help\" for more information.", Cause.OPTIONS, "version"),
        ('pgbench: error: client 0 script 0 aborted in command 0 query 0: ERROR:  syntax error at or near "SELEC"',
         Cause.SCRIPT_SQL, '"SELEC"'),
        ("pgbench: error: the stars stand badly", Cause.OTHER, "line by line"),
        ("", Cause.OTHER, "said nothing"),
        (
            ("pgbench: error: client 0 aborted in command 0 (startpipeline) of script 0; "
            "cannot use pipeline mode with the simple query protocol"),
            Cause.OPTIONS, "\\startpipeline",
        ),
        (
            ('pgbench: error: connection to server at "127.0.0.1", port 6432 failed: FATAL:  '
            "unsupported startup parameter in options: default_transaction_read_only"),
            Cause.OPTIONS, "default_transaction_read_only",
        ),
    ],
)  # fmt: skip
def test_causes_are_told_apart(stderr: str, cause: Cause, told: str) -> None:
    failure = parse_failure(stderr, exit_status=1)

    assert failure.cause == cause
    assert told in f"{failure.reason} {failure.fix}"


@pytest.mark.parametrize(
    "line",
    [
        'pgbench: error: w.sql:3: unexpected argument (5) in command "sleep"',  # 15
        'pgbench: fatal: w.sql:3: unexpected argument (5) in command "sleep"',  # 13 and 14
        'w.sql:3: unexpected argument (5) in command "sleep"',  # 11 and 12
    ],
)
def test_a_script_that_does_not_parse_is_named_with_its_line(line: str) -> None:
    failure = parse_failure(line, exit_status=1)

    assert failure.cause == Cause.SCRIPT
    assert (failure.script, failure.script_line) == ("w.sql", 3)
    assert "Line 3 of script w.sql" in failure.reason
    assert not failure.partial


def test_the_cause_counts_and_not_what_follows_from_it() -> None:
    """Clients that give up say so too; why they did stands in another line."""
    failure = parse_failure(
        "progress: 1.0 s, 5.0 tps, lat 1.000 ms stddev 0.100, 0 failed\n"
        "pgbench: error: client 0 aborted in command 1 (SQL) of script 0; perhaps the backend died while processing\n"
        "ERROR:  canceling statement due to conflict with recovery\n"
        "pgbench: error: Run was aborted; the above results are incomplete.",
        exit_status=2,
    )

    assert failure.cause == Cause.RECOVERY_CONFLICT
    assert failure.partial
    assert failure.aborted_clients == 1


@given(st.text(), st.none() | st.integers(-200, 300))
def test_any_text_is_some_failure(stderr: str, status: int | None) -> None:
    failure = parse_failure(stderr, exit_status=status)

    assert failure.reason
    assert len(failure.printed) <= 300
