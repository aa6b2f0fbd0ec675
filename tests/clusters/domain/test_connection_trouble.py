"""What servers say when a connection fails, as they were seen to say it, and the line that mends it."""

import pytest

from apps.clusters.domain.connection_trouble import FIX_OF_CLOSING, Place, quoted_identifier, short, trouble_of

PGPOOL = Place("pgpool", "pool.example", 9999, "lifeguard", "postgres")
BACKEND = Place("backend", "pg1.example", 5432, "lifeguard", "postgres")


@pytest.mark.parametrize(
    ("place", "text", "step", "reason", "fix"),
    [
        (
            PGPOOL,
            'FATAL:  SCRAM authentication failed\nDETAIL:  pool_passwd file does not contain an entry for "lifeguard"',
            "authenticate",
            "pool_passwd has no entry for lifeguard",
            "pg_enc -m -p -u lifeguard",
        ),
        (
            PGPOOL,
            'ERROR:  authentication failed\nDETAIL:  username "lifeguard" or password does not exist in backend',
            "authenticate",
            "the password of lifeguard was not accepted",
            "Check the password given here. If it is the right one, put it into pool_passwd of this pgpool and set it",
        ),
        (
            PGPOOL,
            "ERROR:  failed to authenticate with backend using SCRAM\nDETAIL:  valid password not found",
            "authenticate",
            "no password of lifeguard to sign in to the backends with",
            "pool_passwd",
        ),
        (
            PGPOOL,
            "FATAL:  failed to create a backend 0 connection\nDETAIL:  not executing failover",
            "authenticate",
            "has no backend to give a session to",
            "search_primary_node_timeout",
        ),
        (PGPOOL, "FATAL:  Sorry, too many clients already", "authenticate", "no free connection", "num_init_children"),
        (BACKEND, "FATAL:  sorry, too many clients already", "authenticate", "no free connection", "max_connections"),
        (
            PGPOOL,
            'unrecognized configuration parameter "pool_nodes"',
            "show",
            "is a PostgreSQL server, not a pgpool",
            "port of pgpool",
        ),
        (
            BACKEND,
            'FATAL:  password authentication failed for user "lifeguard"',
            "authenticate",
            "the password of lifeguard was not accepted",
            "Check the password given here. If it is the right one, set it on the primary: ALTER ROLE lifeguard",
        ),
        (
            BACKEND,
            'FATAL:  no pg_hba.conf entry for host "10.0.0.9", user "lifeguard", database "postgres", no encryption',
            "authenticate",
            "pg_hba.conf does not let lifeguard in",
            "host postgres lifeguard <address of this machine>/32 scram-sha-256",
        ),
        (
            BACKEND,
            "server does not support SSL, but SSL was required",
            "tls",
            "offers no TLS",
            "ssl = on in postgresql.conf",
        ),
        (PGPOOL, "SSL error: certificate verify failed", "tls", "could not be verified", "update-ca-certificates"),
        (
            PGPOOL,
            'server certificate for "127.0.0.1" does not match host name "pool.example"',
            "tls",
            "is made out to another name",
            "subjectAltName pool.example",
        ),
        (
            BACKEND,
            'root certificate file "/etc/ssl/certs/ca-certificates.crt" does not exist\nEither provide the file, [...]',
            "tls",
            "nothing to verify the certificate of pg1.example:5432 with",
            "Install ca-certificates",
        ),
        (BACKEND, "ERROR:  permission denied for function x", "privilege", "may not read", "GRANT pg_monitor"),
    ],
)
def test_a_known_message_names_its_step_and_its_mending(
    place: Place, text: str, step: str, reason: str, fix: str
) -> None:
    trouble = trouble_of(text, place, otherwise="show")

    assert trouble.step == step
    assert reason in trouble.reason
    assert fix in trouble.fix


def test_of_several_addresses_the_one_that_got_further_than_tcp_is_told() -> None:
    refused = 'connection failed: connection to server at "::1", port 9999 failed: Connection refused'
    mistrusted = 'connection failed: connection to server at "127.0.0.1", port 9999 failed: SSL error: certificate '
    text = (
        f"{refused}\nMultiple connection attempts failed. All failures were:\n"
        f"- host: 'pool.example', port: '9999', hostaddr: '127.0.0.1': {mistrusted}verify failed\n"
        f"- host: 'pool.example', port: '9999', hostaddr: '::1': {refused}\n\tIs the server running there?"
    )

    trouble = trouble_of(text, PGPOOL, otherwise="authenticate")

    assert trouble.step == "tls"
    assert "refused" not in trouble.reason


def test_the_guess_of_libpq_is_left_out_of_the_reason() -> None:
    text = 'connection to server at "127.0.0.1", port 9999 failed: Connection refused\n\tIs the server running on that '
    trouble = trouble_of(f"{text}host and accepting TCP/IP connections?", PGPOOL, otherwise="tcp")

    assert trouble.reason.endswith(" refuses connections (Connection refused)")


def test_an_unknown_message_keeps_its_own_words_and_the_step_it_came_up_in() -> None:
    trouble = trouble_of("ERROR:  the moon is full", PGPOOL, otherwise="show")

    assert (trouble.step, trouble.reason, trouble.fix) == ("show", "ERROR: the moon is full", "")


def test_a_message_is_told_on_one_line_without_its_preamble() -> None:
    said = 'connection failed: connection to server at "127.0.0.1", port 1 failed: FATAL:  no\nDETAIL:  really'

    assert short(said) == "FATAL: no DETAIL: really"


@pytest.mark.parametrize(
    ("name", "written"), [("lifeguard", "lifeguard"), ("Life-Guard", '"Life-Guard"'), ('a"b', '"a""b"')]
)
def test_a_role_is_quoted_as_sql_wants_it(name: str, written: str) -> None:
    assert quoted_identifier(name) == written


CLOSED = (
    'connection to server at "127.0.0.1", port 9999 failed: server closed the connection unexpectedly\n\tThis probably',
    "connection failed: could not receive data from server: Connection reset by peer",
    "connection failed: could not send startup packet: Broken pipe",
)


@pytest.mark.parametrize("text", CLOSED)
@pytest.mark.parametrize("place", [PGPOOL, BACKEND])
def test_connections_that_are_closed_without_a_word_are_named_as_that(place: Place, text: str) -> None:
    trouble = trouble_of(text, place, otherwise="authenticate")

    assert trouble.step == "authenticate"
    assert trouble.reason.startswith(f"{place.host}:{place.port} closes every connection at once (")
    assert trouble.fix == FIX_OF_CLOSING[place.side]


@pytest.mark.parametrize("text", CLOSED)
def test_a_session_that_ends_later_says_nothing_of_other_connections(text: str) -> None:
    trouble = trouble_of(text, PGPOOL, otherwise="show")

    assert (trouble.step, trouble.fix) == ("show", "")
    assert "closed the connection (" in trouble.reason
