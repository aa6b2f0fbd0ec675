"""The live connection test: step by step, naming the one that fails and the line that mends it."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from apps.clusters.domain.connection_trouble import CLOSES_AT_ONCE, FIX_OF_CLOSING, quoted_identifier
from apps.clusters.domain.show_rows import PoolNode, ShowRowError, parse_pool_nodes, parse_pool_version
from apps.clusters.outside.backend_client import BackendAddress, BackendUnreachable, KeptBackend, ask_backend
from apps.clusters.outside.pgpool_client import PgpoolAddress, PgpoolConnection, PgpoolUnreachable, connect
from apps.clusters.outside.sockets import (
    DeadlinePassed,
    Step,
    Unreachable,
    by_deadline,
    close_stream,
    open_tcp,
    resolve,
)

DEADLINE_S = 5.0
PGPOOL_STEPS: tuple[Step, ...] = ("resolve", "tcp", "tls", "authenticate", "privilege", "show")
BACKEND_STEPS: tuple[Step, ...] = ("resolve", "tcp", "tls", "authenticate", "privilege")
PRIVILEGE_SQL = "SELECT pg_has_role(current_user, 'pg_monitor', 'USAGE')"
SSL_REQUEST = struct.pack("!ii", 8, 80877103)
TLS_NEEDED = frozenset({"require", "verify-ca", "verify-full"})
TLS_VERIFIED = frozenset({"verify-ca", "verify-full"})


@dataclass(frozen=True)
class DiagnosisStep:
    name: Step
    state: Literal["ok", "warning", "failed", "skipped"]
    text: str
    fix: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """All steps in order; those after a failure are skipped, but a missing privilege stops nothing.

    Only a verified certificate makes tls "ok".
    """

    steps: tuple[DiagnosisStep, ...]

    @property
    def is_ok(self) -> bool:
        return all(step.state in ("ok", "warning") for step in self.steps)

    @property
    def failed(self) -> DiagnosisStep | None:
        """The first step that failed."""
        return next((step for step in self.steps if step.state == "failed"), None)

    def step(self, name: Step) -> DiagnosisStep:
        return next(step for step in self.steps if step.name == name)


async def diagnose(address: PgpoolAddress, *, deadline_s: float = DEADLINE_S) -> Diagnosis:
    """Test the way to a pgpool. deadline_s holds for each step."""
    found = await _reach(address, deadline_s=deadline_s, program="pgpool")
    if not _has_failed(found):
        try:
            connection = await connect(address, deadline_s=deadline_s)
        except PgpoolUnreachable as error:
            _failed(found, error)
        else:
            try:
                await _ask_pgpool(found, address, connection, deadline_s=deadline_s)
            finally:
                # It holds a child of the pgpool, also when the test as a whole is out of time.
                await connection.close()
    return _in_order(found, PGPOOL_STEPS)


async def diagnose_backend(address: BackendAddress, *, deadline_s: float = DEADLINE_S) -> Diagnosis:
    """Test the direct way to a backend. deadline_s holds for each step."""
    found = await _reach(address, deadline_s=deadline_s, program="PostgreSQL")
    if not _has_failed(found):
        kept = KeptBackend()
        try:
            facts = await ask_backend(address, deadline_s=deadline_s, kept=kept)
        except BackendUnreachable as error:
            _failed(found, error)
        else:
            role = "standby" if facts.is_in_recovery else "primary"
            text = f"signed in as {address.username}; PostgreSQL {facts.server_version}, {role}"
            _ok(found, "authenticate", text)
            _tls_in_use(found, address, is_encrypted=kept.session is not None and kept.session.is_encrypted)
            _privilege(found, address.username, may_monitor=facts.may_monitor)
        finally:
            await kept.close()
    return _in_order(found, BACKEND_STEPS)


Found = dict[Step, DiagnosisStep]


async def _reach(address: PgpoolAddress | BackendAddress, *, deadline_s: float, program: str) -> Found:
    """The steps before anybody signs in."""
    found: Found = {}
    try:
        addresses = await resolve(address.host, address.port, deadline_s=deadline_s)
        _ok(found, "resolve", f"{address.host} is {', '.join(addresses)}")
        reader, writer = await open_tcp(address.host, address.port, deadline_s=deadline_s)
    except Unreachable as error:
        _failed(found, error)
        return found
    _ok(found, "tcp", f"port {address.port} takes connections")
    try:
        if address.sslmode == "disable":
            _warn(found, "tls", "not asked for (sslmode disable): the connection is in clear text")
        else:
            _tls(found, address, await _tls_answer(reader, writer, deadline_s=deadline_s), program=program)
    except Unreachable as error:
        _failed(found, error)
    finally:
        await close_stream(writer)
    return found


async def _tls_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, deadline_s: float) -> bytes:
    writer.write(SSL_REQUEST)
    try:
        return await by_deadline(reader.read(1), deadline_s=deadline_s)
    except DeadlinePassed as error:
        raise Unreachable(
            "tls",
            f"took the connection, but did not answer within {deadline_s:.3g} s: it is frozen, or all of its "
            "connections are busy",
            "Look at the program's log; for pgpool compare num_init_children with the clients it has.",
        ) from error
    except OSError:
        return b""


def _tls(found: Found, address: PgpoolAddress | BackendAddress, answer: bytes, *, program: str) -> None:
    if answer == b"S":
        # Whether TLS is then spoken, and whether the certificate is good, is seen when signing in.
        _warn(found, "tls", f"{program} offers TLS")
    elif answer == b"N" and address.sslmode in TLS_NEEDED:
        fix = f"ssl = on in the configuration of {program}, then restart it; or choose sslmode prefer."
        raise Unreachable("tls", f"{program} offers no TLS, but sslmode {address.sslmode} asks for it", fix)
    elif answer == b"N":
        _warn(found, "tls", f"{program} offers no TLS: what is asked and answered travels in clear text")
    elif answer == b"E":
        # The refusal itself is read when signing in, without TLS.
        _warn(found, "tls", "refused before TLS was spoken of")
    elif answer == b"" and address.sslmode == "prefer":
        # As for b"E": a pgpool whose backends are all down tells it to plain clients only.
        _warn(found, "tls", "closed the connection before TLS was spoken of")
    elif answer == b"":
        fix = FIX_OF_CLOSING["pgpool" if program == "pgpool" else "backend"]
        raise Unreachable("tls", CLOSES_AT_ONCE, fix)
    else:
        fix = f"Check the port: {address.port} is not {program}'s."
        raise Unreachable("tls", "does not speak the PostgreSQL protocol", fix)


async def _ask_pgpool(found: Found, address: PgpoolAddress, connection: PgpoolConnection, *, deadline_s: float) -> None:
    _ok(found, "authenticate", f"signed in as {address.username}")
    _tls_in_use(found, address, is_encrypted=connection.is_encrypted)
    asks: Mapping[Step, Callable[[], Awaitable[None]]] = {
        "privilege": lambda: _ask_privilege(found, address, connection, deadline_s=deadline_s),
        "show": lambda: _ask_show(found, connection, deadline_s=deadline_s),
    }
    for step, ask in asks.items():
        try:
            await ask()
        except PgpoolUnreachable as error:
            found[step] = DiagnosisStep(step, "failed", error.reason, error.fix)
            return


async def _ask_privilege(
    found: Found, address: PgpoolAddress, connection: PgpoolConnection, *, deadline_s: float
) -> None:
    rows = await connection.show(PRIVILEGE_SQL, deadline_s=deadline_s)
    may_monitor = any(value in ("t", "True", "true") for row in rows for value in row.values())
    _privilege(found, address.username, may_monitor=may_monitor)


async def _ask_show(found: Found, connection: PgpoolConnection, *, deadline_s: float) -> None:
    rows = await connection.show("SHOW pool_nodes", deadline_s=deadline_s)
    [version, *_] = await connection.show("SHOW pool_version", deadline_s=deadline_s) or [{}]
    try:
        nodes = parse_pool_nodes(rows)
        text = f"Pgpool-II {parse_pool_version(version.get('pool_version') or '')} with {_backends(nodes)}"
    except ShowRowError as error:
        found["show"] = DiagnosisStep("show", "failed", f"what it shows cannot be read: {error}")
    else:
        _ok(found, "show", text)


def _backends(nodes: tuple[PoolNode, ...]) -> str:
    listed = ", ".join(f"{node.hostname}:{node.port} {node.role} {node.status}" for node in nodes)
    return f"{len(nodes)} backend{'s' * (len(nodes) != 1)}: {listed}"


def _privilege(found: Found, username: str, *, may_monitor: bool) -> None:
    if may_monitor:
        _ok(found, "privilege", f"{username} is a member of pg_monitor")
    else:
        text = f"{username} is not a member of pg_monitor: replication states and lag stay hidden"
        found["privilege"] = DiagnosisStep(
            "privilege", "failed", text, f"GRANT pg_monitor TO {quoted_identifier(username)};"
        )


def _ok(found: Found, name: Step, text: str) -> None:
    found[name] = DiagnosisStep(name, "ok", text)


def _warn(found: Found, name: Step, text: str) -> None:
    found[name] = DiagnosisStep(name, "warning", text)


def _tls_in_use(found: Found, address: PgpoolAddress | BackendAddress, *, is_encrypted: bool) -> None:
    """Called once signed in: libpq would not have gone on with a certificate that it was to verify and could not.

    With prefer it goes on in clear text where TLS was offered and then failed.
    """
    if not is_encrypted:
        if "clear text" not in found["tls"].text:
            _warn(found, "tls", "not used: what is asked and answered travels in clear text")
    elif address.sslmode in TLS_VERIFIED:
        _ok(found, "tls", f"encrypted, the certificate is verified ({address.sslmode})")
    else:
        _warn(found, "tls", "encrypted, but the certificate is not verified (sslmode verify-full does)")


def _failed(found: Found, error: Unreachable) -> None:
    """A later step may find out what an earlier one could not see, as a TLS handshake that fails when signing in."""
    step: Step = "authenticate" if error.step == "show" else error.step
    found[step] = DiagnosisStep(step, "failed", error.reason, error.fix)


def _has_failed(found: Found) -> bool:
    return any(step.state == "failed" for step in found.values())


def _in_order(found: Found, names: tuple[Step, ...]) -> Diagnosis:
    skipped = "not tried, because an earlier step failed"
    return Diagnosis(tuple(found.get(name, DiagnosisStep(name, "skipped", skipped)) for name in names))
