"""What pgpool, PostgreSQL and libpq say when a connection fails, and the line that mends it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Side = Literal["pgpool", "backend"]
TroubleStep = Literal["tcp", "tls", "authenticate", "privilege", "show"]


@dataclass(frozen=True)
class Trouble:
    """step: where the connection failed. fix: the line or statement that mends it, "" where none is known."""

    step: TroubleStep
    reason: str
    fix: str


@dataclass(frozen=True)
class Place:
    side: Side
    host: str
    port: int
    username: str
    database: str


@dataclass(frozen=True)
class _Sign:
    pattern: re.Pattern[str]
    step: TroubleStep
    reason: Callable[[Place], str]
    fix: Callable[[Place], str]


def _sign(pattern: str, step: TroubleStep, reason: str, fix: str, backend_fix: str | None = None) -> _Sign:
    """reason and fix may use {host}, {port}, {username}, {database}."""

    def fill(template: str, place: Place) -> str:
        return template.format(
            host=place.host,
            port=place.port,
            username=place.username,
            database=place.database,
            role=quoted_identifier(place.username),
        )

    def fix_of(place: Place) -> str:
        return fill(backend_fix if backend_fix is not None and place.side == "backend" else fix, place)

    return _Sign(re.compile(pattern, re.IGNORECASE | re.DOTALL), step, lambda place: fill(reason, place), fix_of)


def quoted_identifier(name: str) -> str:
    """A name as it is written in SQL."""
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'


# pgpool reads the key file when it starts, and pool_passwd when it reloads.
POOL_ENTRY = (
    "As the user that runs this pgpool: pg_enc -m -p -u {username} -k ~/.pgpoolkey -f <its pgpool.conf>, "
    "then reload it. This adds the password to pool_passwd, encrypted; ~/.pgpoolkey must be there when pgpool starts. "
    "pg_md5 in place of pg_enc, without -k, is enough where the backends ask for md5; "
    "{username}:TEXT<password> is the entry in clear text."
)
# Whoever mistyped must not set a role in use to the slip.
CHECK_FIRST = "Check the password given here. If it is the right one, "
ALTER_ROLE = "ALTER ROLE {role} PASSWORD '<the right password>';"
CREATE_ROLE = "CREATE ROLE {role} LOGIN PASSWORD '<password>'; GRANT pg_monitor TO {role};"
GRANT_MONITOR = "GRANT pg_monitor TO {role};"

# Of a pgpool that runs, and turns everybody away until it is repaired.
NOBODY_SERVED = "accepts no client: all of its backends are down"

# Nobody said a word: children that end as they start, or a proxy with no program behind it.
CLOSES_AT_ONCE = "closes every connection at once"
FIX_OF_CLOSING: Mapping[Side, str] = {
    "pgpool": "Look at the log of this pgpool: its children end as they start, or all of its backends are down, which "
    "it does not tell clients that ask for TLS. Where a proxy takes the connections, see that a pgpool runs behind it.",
    "backend": "Look at the log of PostgreSQL: its processes end as they start. Where a proxy takes the connections, "
    "see that PostgreSQL runs behind it.",
}
_CLOSED = re.compile(
    r"server closed the connection|connection reset|broken pipe|EOF detected|connection already closed", re.IGNORECASE
)

# The first sign that fits decides, so the special ones stand before the general ones.
_SIGNS = (
    _sign(
        r"connection refused",
        "tcp",
        "{host}:{port} refuses connections",
        "Check that pgpool runs and listens there: listen_addresses = '*' in pgpool.conf, then restart it.",
        "Check that PostgreSQL runs and listens there: listen_addresses = '*' in postgresql.conf, then restart it.",
    ),
    _sign(
        r"(no route to host|network is unreachable|host is unreachable)",
        "tcp",
        "{host}:{port} has no route",
        "Check that this machine may reach {host}, port {port}.",
    ),
    _sign(
        r"does not support SSL",
        "tls",
        "{host}:{port} offers no TLS, but TLS was asked for",
        "ssl = on in pgpool.conf (with ssl_cert and ssl_key), then restart it; or choose sslmode prefer.",
        "ssl = on in postgresql.conf, then reload it; or choose sslmode prefer.",
    ),
    _sign(
        r"root certificate file",
        "tls",
        "there is nothing to verify the certificate of {host}:{port} with",
        "Install ca-certificates, or name a file of certificate authorities that can be read in PGSSLROOTCERT.",
    ),
    _sign(
        r"(does not match host name|could not get server's host name)",
        "tls",
        "the certificate of {host}:{port} is made out to another name",
        "Give the host by a name that the certificate has, or make one with subjectAltName {host}; "
        "verify-ca looks at the authority alone.",
    ),
    _sign(
        r"(certificate verify failed|self.signed certificate)",
        "tls",
        "the certificate of {host}:{port} could not be verified",
        "Give the authority's certificate to Lifeguard's own machine: /usr/local/share/ca-certificates/ and "
        "update-ca-certificates, or its file in PGSSLROOTCERT; or choose sslmode require: it does not verify.",
    ),
    _sign(
        r"(SSL error|SSL SYSCALL|could not initiate SSL|tls)",
        "tls",
        "the TLS handshake with {host}:{port} failed",
        "Check ssl_cert and ssl_key in pgpool.conf.",
        "Check ssl_cert_file and ssl_key_file in postgresql.conf.",
    ),
    _sign(
        r"(too many clients|remaining connection slots)",
        "authenticate",
        "{host}:{port} has no free connection",
        "Raise num_init_children in pgpool.conf, then restart it.",
        "Raise max_connections in postgresql.conf, then restart it.",
    ),
    _sign(
        r"pool_passwd file does not contain an entry",
        "authenticate",
        "pool_passwd has no entry for {username}",
        POOL_ENTRY,
    ),
    _sign(
        r"valid password not found",
        "authenticate",
        "pgpool has no password of {username} to sign in to the backends with",
        POOL_ENTRY,
    ),
    _sign(
        r"requested a cleartext password",
        "authenticate",
        "{host}:{port} asks for the password in clear text, so it was not sent",
        "scram-sha-256 instead of password, pam or ldap for {username} in pool_hba.conf, then reload pgpool; "
        "or choose sslmode verify-full, which proves who asks.",
        "scram-sha-256 instead of password, pam or ldap for {username} in pg_hba.conf, then reload; "
        "or choose sslmode verify-full, which proves who asks.",
    ),
    _sign(
        r"no pool_hba\.conf entry",
        "authenticate",
        "pool_hba.conf does not let {username} in from this machine",
        "Add to pool_hba.conf, then reload pgpool: host all {username} <address of this machine>/32 scram-sha-256",
    ),
    _sign(
        r"no pg_hba\.conf entry",
        "authenticate",
        "pg_hba.conf does not let {username} in",
        "Add to pg_hba.conf of the backends, then reload: host {database} {username} <pgpool>/32 scram-sha-256",
        "Add to pg_hba.conf, then reload: host {database} {username} <address of this machine>/32 scram-sha-256",
    ),
    _sign(
        r"(role \S+ does not exist|role \S+ is not permitted to log in)",
        "authenticate",
        "the role {username} does not exist or may not log in",
        "On the primary: " + CREATE_ROLE,
    ),
    _sign(
        r"database \S+ does not exist",
        "authenticate",
        "the database {database} does not exist",
        "CREATE DATABASE {database};",
    ),
    _sign(
        r"(SCRAM authentication failed|password or SCRAM|username .* or password does not exist|wrong password"
        r"|password authentication failed|authentication failed|no password supplied|md5 authentication)",
        "authenticate",
        "the password of {username} was not accepted",
        CHECK_FIRST + "put it into pool_passwd of this pgpool and set it on the primary: " + ALTER_ROLE,
        CHECK_FIRST + "set it on the primary: " + ALTER_ROLE,
    ),
    _sign(
        r"(not accepting any new connections|all backend nodes are down)",
        "authenticate",
        "{host}:{port} " + NOBODY_SERVED,
        "See why they are down for it (health_check_user, health_check_password and the backends' own logs), "
        "mend that, then restart pgpool.",
    ),
    _sign(
        r"(failed to create a backend|unable to get session context|no valid backend)",
        "authenticate",
        "pgpool runs, but has no backend to give a session to",
        "Check the primary. A small search_primary_node_timeout (10) keeps pgpool from waiting 300 s for it.",
    ),
    _sign(
        r"(starting up|shutting down|recovery mode)",
        "authenticate",
        "{host}:{port} is starting up or shutting down",
        "Wait until it has started.",
    ),
    _sign(
        r"invalid PCP packet",
        "show",
        "{host}:{port} is a PCP port",
        "Give the port for SQL clients (port in pgpool.conf, not pcp_port).",
    ),
    _sign(
        r"unrecognized configuration parameter .?pool_",
        "show",
        "{host}:{port} is a PostgreSQL server, not a pgpool",
        "Give the address and port of pgpool (port in pgpool.conf).",
    ),
    _sign(r"permission denied", "privilege", "{username} may not read what monitoring needs", GRANT_MONITOR),
)

# How psycopg lists them.
_ATTEMPT = re.compile(r"^- host: .*?, hostaddr: \S+: ", re.MULTILINE)


def trouble_of(text: str, place: Place, *, otherwise: TroubleStep) -> Trouble:
    """Read the message of a failed connection or query.

    otherwise: the step to name for a message nobody has met yet; its own words are then the reason.
    A host with several addresses fails once for each: the one that got further than TCP tells more.
    """
    failures = [_trouble_of(each, place, otherwise=otherwise) for each in _ATTEMPT.split(text)[1:] or [text]]
    return next((trouble for trouble in failures if trouble.step != "tcp"), failures[0])


def _trouble_of(text: str, place: Place, *, otherwise: TroubleStep) -> Trouble:
    for sign in _SIGNS:
        if sign.pattern.search(text):
            return Trouble(step=sign.step, reason=f"{sign.reason(place)} ({short(text)})", fix=sign.fix(place))
    if _CLOSED.search(text):
        return _closed(short(text), place, during=otherwise)
    return Trouble(otherwise, short(text), "")


def _closed(said: str, place: Place, *, during: TroubleStep) -> Trouble:
    """A session that ends later is no more than that: pgpool ends sessions when a backend fails over."""
    where = f"{place.host}:{place.port}"
    if during != "authenticate":
        return Trouble(during, f"{where} closed the connection ({said})", "")
    return Trouble(during, f"{where} {CLOSES_AT_ONCE} ({said})", FIX_OF_CLOSING[place.side])


def short(text: str, limit: int = 300) -> str:
    """The message on one line, without libpq's preamble and its guess."""
    line = " ".join(text.split())
    line = re.sub(r"^connection failed: ", "", line)
    line = re.sub(r"^connection to server at [^:]*failed: ", "", line)
    line = re.sub(r" Is the server running[^?]*\?", "", line)
    return line if len(line) <= limit else line[: limit - 1] + "…"
