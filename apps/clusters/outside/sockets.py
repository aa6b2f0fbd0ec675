"""Reaching machines that may be gone or frozen: names resolved, addresses refused, deadlines that hold."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import socket
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Literal, TypeVar

Step = Literal["resolve", "tcp", "tls", "authenticate", "privilege", "show"]
Answer = TypeVar("Answer")

# How long a task may take to notice that its socket has been shut down.
NOTICE_S = 0.5
# The instance metadata service of AWS over IPv6; its IPv4 address is link-local.
METADATA_ADDRESSES = frozenset({ipaddress.ip_address("fd00:ec2::254")})


class Unreachable(Exception):
    """The far side could not be asked."""

    def __init__(self, step: Step, reason: str, fix: str = "") -> None:
        super().__init__(f"{step}: {reason}")
        self.step = step
        self.reason = reason
        self.fix = fix


class AddressForbidden(Unreachable):
    """Nobody may point Lifeguard there, whatever answers."""


class Refused(Unreachable):
    """The machine is there, and nobody listens."""


class NotAccepted(Unreachable):
    """No connection in time: no way there, or a program that was stopped so long that its queue is full."""


class DeadlinePassed(TimeoutError):
    """The far side did not answer in time."""

    def __init__(self, deadline_s: float) -> None:
        super().__init__(f"no answer within {deadline_s:.3g} s")
        self.deadline_s = deadline_s


async def by_deadline(
    work: Coroutine[Any, Any, Answer],
    *,
    deadline_s: float,
    cut: Callable[[], None] | None = None,
    discard: Callable[[Answer], None] | None = None,
) -> Answer:
    """Wait for work, but never longer than deadline_s, even when the far side is frozen.

    cut: shuts the socket that work waits for; without it work is cancelled. discard: takes what work comes to too late.
    asyncio.wait_for is no use here: it waits until psycopg has drained its connection, which took 12 s instead of 2.
    Raises DeadlinePassed, or whatever work raises.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=deadline_s)
    except asyncio.CancelledError:
        _end(task, cut, discard)
        raise
    if done:
        return task.result()
    _end(task, cut, discard)
    await asyncio.wait({task}, timeout=NOTICE_S)
    task.cancel()
    raise DeadlinePassed(deadline_s)


def _end(
    task: asyncio.Future[Answer], cut: Callable[[], None] | None, discard: Callable[[Answer], None] | None
) -> None:
    task.add_done_callback(partial(_look_at_outcome, discard))
    if cut is None:
        task.cancel()
    else:
        cut()


def _look_at_outcome(discard: Callable[[Answer], None] | None, task: asyncio.Future[Answer]) -> None:
    # asyncio logs "exception was never retrieved" for a task whose end nobody looks at.
    if not task.cancelled() and task.exception() is None and discard is not None:
        discard(task.result())


async def resolve(host: str, port: int, *, deadline_s: float) -> tuple[str, ...]:
    """Addresses of host, in the resolver's order. Raises Unreachable: no such name, or never to be contacted."""
    try:
        addresses: tuple[str, ...] = (str(ipaddress.ip_address(host)),)
    except ValueError:
        addresses = await _look_up(host, port, deadline_s=deadline_s)
    for address in addresses:
        _refuse_forbidden(host, address)
    return addresses


async def _look_up(host: str, port: int, *, deadline_s: float) -> tuple[str, ...]:
    fix = f"Check the spelling and the DNS of this machine: getent hosts {host}"
    try:
        found = await by_deadline(_in_own_thread(host, port), deadline_s=deadline_s)
    except DeadlinePassed as error:
        raise Unreachable("resolve", f"the name {host!r} was not resolved: {error}", fix) from error
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Unreachable("resolve", f"the name {host!r} does not resolve: {reason}", fix) from error
    return tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


async def _in_own_thread(host: str, port: int) -> list[Any]:
    """The resolver cannot be interrupted, and a loop that ends waits for the threads of asyncio: not for this one."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[Any]] = loop.create_future()

    def settle(found: list[Any] | Exception) -> None:
        if answer.done():
            return
        if isinstance(found, Exception):
            answer.set_exception(found)
        else:
            answer.set_result(found)

    def ask() -> None:
        found: list[Any] | Exception
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            found = error
        with contextlib.suppress(RuntimeError):  # nobody waits any more, the loop has ended
            loop.call_soon_threadsafe(settle, found)

    threading.Thread(target=ask, name="resolver", daemon=True).start()
    return await answer


def _refuse_forbidden(host: str, address: str) -> None:
    """Link-local addresses hold the credentials service of cloud machines: nobody may point Lifeguard at it."""
    ip = _unmapped(address)
    if ip.is_link_local or ip.is_multicast or ip.is_unspecified or ip in METADATA_ADDRESSES:
        raise AddressForbidden(
            "resolve",
            f"{host} is the address {address}, which is never contacted (link-local, multicast or unspecified)",
            "Give the address at which the machine is reached from elsewhere.",
        )


def _unmapped(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    ip = ipaddress.ip_address(address)
    return ip.ipv4_mapped or ip if isinstance(ip, ipaddress.IPv6Address) else ip


async def machines_at(host: str, port: int, *, deadline_s: float) -> frozenset[str]:
    """Addresses of host to compare with others: one that IPv6 maps is the IPv4 address it maps. Raises Unreachable."""
    found = await resolve(host, port, deadline_s=deadline_s)
    return frozenset(str(_unmapped(address)) for address in found)


async def open_tcp(host: str, port: int, *, deadline_s: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Resolve and connect. Raises Unreachable with the step that failed: Refused, or NotAccepted, where it is that."""
    loop = asyncio.get_running_loop()
    end = loop.time() + deadline_s
    failed: type[Unreachable] = Unreachable
    addresses = await resolve(host, port, deadline_s=deadline_s)
    for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
        share_s = max(end - loop.time(), 0.01) / left
        try:
            return await by_deadline(asyncio.open_connection(address, port), deadline_s=share_s, discard=_abort)
        except DeadlinePassed:
            failed = NotAccepted
            reason = f"did not accept a connection within {deadline_s:.3g} s"
            fix = f"Check that a firewall lets this machine reach {host}, port {port}."
        except OSError as error:
            failed = Refused if isinstance(error, ConnectionRefusedError) else Unreachable
            reason = f"cannot be reached: {_words(error)}"
            fix = f"Check that the program runs and listens there: ss -ltn 'sport = :{port}'"
    raise failed("tcp", f"{host}:{port} {reason}", fix)


def _abort(opened: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    opened[1].transport.abort()


def _words(error: OSError) -> str:
    # asyncio puts "Connect call failed" in the place of the system's own words.
    return os.strerror(error.errno).lower() if error.errno else str(error)


async def accepts_tcp(host: str, port: int, *, deadline_s: float) -> bool:
    """Whether the machine takes a connection; a frozen program's kernel still does."""
    try:
        _, writer = await open_tcp(host, port, deadline_s=deadline_s)
    except Unreachable:
        return False
    await close_stream(writer)
    return True


async def close_stream(writer: asyncio.StreamWriter) -> None:
    """Close without waiting for the far side, which may be frozen."""
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
