"""PCP, pgpool's own control protocol: answers from shared memory even while SQL sessions hang."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from apps.clusters.domain.watchdog import Watchdog, WatchdogUnreadable
from apps.clusters.domain.watchdog import parse as parse_watchdog
from apps.clusters.outside.sockets import DeadlinePassed, Step, Unreachable, by_deadline, close_stream, open_tcp

Answer = TypeVar("Answer")

# A longer message is not PCP: the largest, the list of children, has 8 bytes for each of them.
LONGEST_MESSAGE_BYTES = 1 << 20
# pgpool keeps weights as a part of RAND_MAX and sends them so.
RAND_MAX = 2147483647
STATUSES = {"0": "unused", "1": "waiting", "2": "up", "3": "down"}
ROLES = {"0": "main", "1": "replica", "2": "primary", "3": "standby"}


@dataclass(frozen=True)
class PcpAddress:
    host: str
    port: int
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class PcpNode:
    """What pgpool believes about one backend. pg_status and pg_role are None before 4.3."""

    node_id: int
    hostname: str
    port: int
    status: str  # up, down, waiting, unused; quarantine while the watchdog has not agreed
    pg_status: str | None
    weight_share: float | None  # None where all weights are 0
    role: str
    pg_role: str | None
    replication_state: str | None
    replication_sync_state: str | None
    last_status_change: dt.datetime | None


class PcpError(Exception):
    """PCP gave no answer or refused."""

    def __init__(self, step: Step, reason: str, fix: str = "") -> None:
        super().__init__(f"pcp {step}: {reason}")
        self.step = step
        self.reason = reason
        self.fix = fix


class _Refused(Exception):
    """The server answered with an error message."""


class _NotPcp(Exception):
    """The far side does not speak PCP."""


async def node_info(address: PcpAddress, *, deadline_s: float) -> tuple[PcpNode, ...]:
    """All backends as pgpool sees them. Raises PcpError."""

    async def ask(talk: _Talk) -> tuple[PcpNode, ...]:
        count = _number(await talk.ask(b"L", b"", b"l"), 1)
        return tuple([_node(node_id, await talk.node_fields(node_id)) for node_id in range(count)])

    return await _within(address, ask, deadline_s=deadline_s)


async def process_count(address: PcpAddress, *, deadline_s: float) -> int:
    """Number of pgpool's children that serve clients. Raises PcpError."""

    async def ask(talk: _Talk) -> int:
        return _number(await talk.ask(b"N", b"", b"n"), 1)

    return await _within(address, ask, deadline_s=deadline_s)


async def watchdog(address: PcpAddress, *, deadline_s: float) -> Watchdog | None:
    """What the watchdog of this pgpool says of all of them; None where none runs. Raises PcpError."""

    async def ask(talk: _Talk) -> Watchdog | None:
        try:
            fields = await talk.ask(b"W", _text("-1"), b"w")  # -1: of all
        except _Refused as error:
            if "not enabled" not in str(error):
                raise
            return None
        return parse_watchdog(fields[1] if len(fields) > 1 else "")

    return await _within(address, ask, deadline_s=deadline_s)


async def reload_config(address: PcpAddress, *, deadline_s: float) -> None:
    """Let this pgpool read its file again. Raises PcpError.

    Success says only that the signal was sent, for a broken file too: read the values back.
    """

    async def ask(talk: _Talk) -> None:
        await talk.ask(b"Z", b"l", b"z")

    await _within(address, ask, deadline_s=deadline_s)


async def attach_node(address: PcpAddress, node_id: int, *, deadline_s: float) -> None:
    """Let this pgpool take the backend as up. Raises PcpError.

    Success says only that it was asked: for a number that it does not have, too, and while it looks for a primary it
    does nothing. Look at SHOW POOL_NODES afterwards.
    """

    async def ask(talk: _Talk) -> None:
        await talk.ask(b"C", _text(str(node_id)), b"c")

    await _within(address, ask, deadline_s=deadline_s)


async def detach_node(address: PcpAddress, node_id: int, *, deadline_s: float) -> None:
    """Let this pgpool take the backend as down, at once. Raises PcpError; one that is down already is refused.

    pgpool closes the sessions whose load balance node it is, and no other one. What pcp_detach_node calls graceful
    waits until every session of this pgpool has ended, also those that read elsewhere, for recovery_timeout at most.
    """

    async def ask(talk: _Talk) -> None:
        await talk.ask(b"D", _text(str(node_id)), b"d")

    await _within(address, ask, deadline_s=deadline_s)


async def _within(address: PcpAddress, ask: Callable[[_Talk], Awaitable[Answer]], *, deadline_s: float) -> Answer:
    where = f"{address.host}:{address.port}"
    at: list[Step] = ["tcp"]

    async def talk() -> Answer:
        async with _signed_in(address, at=at, deadline_s=deadline_s) as signed_in:
            return await ask(signed_in)

    try:
        return await by_deadline(talk(), deadline_s=deadline_s)
    except Unreachable as error:
        listening = "Check pcp_listen_addresses and pcp_port in pgpool.conf."
        raise PcpError(error.step, error.reason, listening if error.step == "tcp" else error.fix) from error
    except DeadlinePassed as error:
        raise PcpError(at[0], f"{where} did not answer PCP within {deadline_s:.3g} s") from error
    except _Refused as error:
        fix = ""
        if at[0] == "authenticate":
            fix = f"Line in pcp.conf of this pgpool: {address.username}:<output of pg_md5 PASSWORD>"
        raise PcpError(at[0], f"{where} refused: {error}", fix) from error
    except WatchdogUnreadable as error:
        raise PcpError(at[0], f"{where}: {error}") from error
    except (_NotPcp, OSError, EOFError) as error:
        reason = str(error) if isinstance(error, _NotPcp) else "closed the connection"
        raise PcpError(at[0], f"{where} {reason}", "Check that this is pcp_port, not port.") from error


@asynccontextmanager
async def _signed_in(address: PcpAddress, *, at: list[Step], deadline_s: float) -> AsyncIterator[_Talk]:
    reader, writer = await open_tcp(address.host, address.port, deadline_s=deadline_s)
    talk = _Talk(reader, writer)
    try:
        at[0] = "authenticate"
        await talk.sign_in(address.username, address.password)
        at[0] = "show"
        yield talk
        talk.send(b"X", b"")
    finally:
        await close_stream(writer)


class _Talk:
    """A message is one byte of kind, the length of itself and the payload (int32), the payload."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def sign_in(self, username: str, password: str) -> None:
        self.send(b"M", b"")
        salt = (await self._message(b"m"))[:4]
        stored = _md5(password.encode())  # this is what pcp.conf holds
        proof = _md5(_md5(stored + username.encode()) + salt)
        self.send(b"R", _text(username) + proof + b"\0")
        answer = await self._message(b"r")
        if not answer.startswith(b"AuthenticationOK"):
            raise _Refused(answer.rstrip(b"\0").decode(errors="replace"))

    async def ask(self, kind: bytes, payload: bytes, answer_kind: bytes) -> list[str]:
        """The fields of a one-message answer, its word CommandComplete first."""
        self.send(kind, payload)
        return _fields(await self._message(answer_kind))

    async def node_fields(self, node_id: int) -> list[str]:
        """4.3 and later frame a node in ArraySize … CommandComplete, earlier versions send one message."""
        fields = await self.ask(b"I", _text(str(node_id)), b"i")
        if fields[0] != "ArraySize":
            return fields
        node = _fields(await self._message(b"i"))
        await self._message(b"i")
        return node

    def send(self, kind: bytes, payload: bytes) -> None:
        self._writer.write(kind + struct.pack("!i", len(payload) + 4) + payload)

    async def _message(self, wanted: bytes) -> bytes:
        while True:
            kind = await self._reader.readexactly(1)
            (length,) = struct.unpack("!i", await self._reader.readexactly(4))
            if not 4 <= length <= LONGEST_MESSAGE_BYTES:
                raise _NotPcp("does not speak PCP")
            payload = await self._reader.readexactly(length - 4)
            if kind == b"N":  # a notice
                continue
            if kind == b"E":
                raise _Refused(_error_text(payload))
            if kind != wanted:
                raise _NotPcp(f"answered with an unexpected message {kind!r}")
            return payload


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).hexdigest().encode()


def _text(value: str) -> bytes:
    return value.encode() + b"\0"


def _fields(payload: bytes) -> list[str]:
    return payload.removesuffix(b"\0").decode(errors="replace").split("\0")


def _error_text(payload: bytes) -> str:
    """Message and detail of an error: fields of one letter and a text, as PostgreSQL sends them."""
    parts = {field[:1]: field[1:] for field in payload.decode(errors="replace").split("\0") if field}
    return ": ".join(parts[letter] for letter in "MD" if letter in parts) or "an error without a message"


def _number(fields: list[str], index: int) -> int:
    try:
        return int(fields[index])
    except (IndexError, ValueError) as error:
        raise _NotPcp(f"answered with something that is no count: {fields!r}") from error


def _node(node_id: int, fields: list[str]) -> PcpNode:
    """Fields of 4.6 (13), of 4.3 (12) and of 4.1, 4.2 (10), after the leading word."""
    values = fields[1:]
    if len(values) == 13:
        del values[9]  # says whether the delay before it is bytes or time
    if len(values) == 12:
        hostname, port, status, quarantine, pg_status, weight, role, pg_role, _delay, state, sync, changed = values
    elif len(values) == 10:
        hostname, port, status, quarantine, weight, role, _delay, state, sync, changed = values
        pg_status = pg_role = ""
    else:
        raise _NotPcp(f"described a backend with {len(values)} fields, which no version from 4.1 does")
    try:
        port_number, share = int(port), _share(weight)
        changed_at = dt.datetime.fromtimestamp(int(changed), tz=dt.UTC) if int(changed) else None
    except (ValueError, OverflowError, OSError) as error:
        raise _NotPcp(f"described a backend in a way no known version does: {values!r}") from error
    return PcpNode(
        node_id=node_id,
        hostname=hostname,
        port=port_number,
        status="quarantine" if quarantine == "1" else STATUSES.get(status, status),
        pg_status=pg_status or None,
        weight_share=share,
        role=ROLES.get(role, role),
        pg_role=pg_role or None,
        replication_state=_known(state),
        replication_sync_state=_known(sync),
        last_status_change=changed_at,
    )


def _share(weight: str) -> float | None:
    share = float(weight) / RAND_MAX
    return round(share, 6) if share == share else None  # nan: all weights are 0


def _known(state: str) -> str | None:
    return None if state in ("", "none") else state
