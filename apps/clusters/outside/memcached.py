"""Asks one memcached how it is, by its text protocol: one connection, closed again, and deadlines that hold."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Sequence

from apps.clusters.domain.memcached import (
    LAST_LINE,
    MOST_LINES,
    QUESTION,
    MemcachedState,
    MemcachedStats,
    MemcachedTold,
    NoRoom,
    NotMemcached,
    Place,
    check_line,
    stats_of,
)
from apps.clusters.outside.sockets import (
    DeadlinePassed,
    NotAccepted,
    Refused,
    Unreachable,
    by_deadline,
    close_stream,
    machines_at,
    open_tcp,
)

CONNECT_S = 2.0
ANSWER_S = 1.0
_State = MemcachedState


async def ask(place: Place, *, pgpool_host: str) -> MemcachedTold:
    """How the memcached is that a pgpool registered at pgpool_host names so. Raises nothing; takes seconds at most."""
    if place.port is None or place.is_socket:
        what = "it is a socket of pgpool's own machine" if place.is_socket else "its port is not readable"
        return MemcachedTold(_State.UNREACHABLE, f"{what}: memqcache_memcached_host, memqcache_memcached_port")
    host, where = place.host_asked(pgpool_host), place.asked(pgpool_host)
    is_here = False
    try:
        is_here = _are_here(await machines_at(host, place.port, deadline_s=CONNECT_S))
        if is_here and not place.is_pgpools_own:
            await _check_that_here_is_there(host, pgpool_host, place.port)
        reader, writer = await open_tcp(host, place.port, deadline_s=CONNECT_S)
    except Refused as error:
        if place.is_pgpools_own and not is_here:
            return MemcachedTold(_State.UNREACHABLE, _listens_there_alone(place, host))
        return MemcachedTold(_State.GONE, error.reason)
    except Unreachable as error:
        reason = f"{error.reason}. {error.fix}".strip().rstrip(".")
        if isinstance(error, NotAccepted):
            reason += ", and that memcached is not stopped"
        return MemcachedTold(_State.UNREACHABLE, reason, is_connect_timeout=isinstance(error, NotAccepted))
    try:
        return await _asked(where, reader, writer)
    finally:
        await close_stream(writer)


async def _asked(where: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> MemcachedTold:
    not_its_own = (
        f"what answers at {where} is no memcached. Check memqcache_memcached_host and memqcache_memcached_port"
    )
    try:
        return MemcachedTold(_State.ALIVE, stats=await by_deadline(_stats(reader, writer), deadline_s=ANSWER_S))
    except DeadlinePassed:
        reason = f"it takes connections, and gave no answer within {ANSWER_S:.3g} s"
        return MemcachedTold(_State.FROZEN, reason)
    except NoRoom:
        return MemcachedTold(_State.UNREACHABLE, f"{where} has no free connection: as many are open as it allows")
    except (NotMemcached, ValueError):  # an endless line is a ValueError
        return MemcachedTold(_State.UNREACHABLE, not_its_own)
    except (OSError, EOFError):
        reason = f"{where} closed the connection instead of an answer, as one does that asks for TLS or a password"
        return MemcachedTold(_State.UNREACHABLE, reason)


async def _stats(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> MemcachedStats:
    writer.write(QUESTION)
    lines: list[str] = []
    while len(lines) < MOST_LINES:
        read = await reader.readline()
        if not read.endswith(b"\n"):
            raise EOFError
        line = read.decode("ascii").rstrip("\r\n")
        check_line(line, is_first=not lines)
        lines.append(line)
        if line == LAST_LINE:
            return stats_of(lines)
    raise NotMemcached("an answer without an end")


async def _check_that_here_is_there(host: str, pgpool_host: str, port: int) -> None:
    """A name may mean this machine here and another one where pgpool runs. Raises Unreachable."""
    if not _are_here(await machines_at(pgpool_host, port, deadline_s=CONNECT_S)):
        raise Unreachable("resolve", f"the name {host} means Lifeguard's own machine here, and another one for pgpool")


def _are_here(addresses: Sequence[str] | frozenset[str]) -> bool:
    return all(ipaddress.ip_address(address).is_loopback for address in addresses)


def _listens_there_alone(place: Place, host: str) -> str:
    return (
        f"pgpool reaches it at {place} of its own machine, and {host}:{place.port} refuses Lifeguard: it may listen "
        "for its own machine alone"
    )
