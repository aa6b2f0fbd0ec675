"""What a pgpool says about its parameters on several new sessions: the proof that a file is in force."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from apps.clusters.domain.instance_numbering import Address
from apps.clusters.domain.show_rows import parse_pool_nodes
from apps.clusters.outside import pgpool_client
from apps.clusters.outside.pgpool_client import (
    PgpoolAddress,
    PgpoolConnection,
    PgpoolUnreachable,
    is_unknown_to_pgpool,
)
from apps.clusters.outside.sockets import DeadlinePassed

# Each session is answered by one child of pgpool; children that disagree show among three.
SESSIONS = 3
CONNECT_DEADLINE_S = 2.5
# Of the whole, however many backends there are and whatever stands still: a rollout's lease must outlast it.
DEADLINE_S = 5.0
SHOW_DEADLINE_S = 2.0
# pgpool takes a reload in within 45 to 90 ms.
PAUSE_S = 0.04
# Past so many names one PGPOOL SHOW ALL is quicker than asking for each.
MOST_ASKED_SINGLY = 12


@dataclass(frozen=True)
class ReadBack:
    """sessions: what PGPOOL SHOW printed on each, by name; a name that this pgpool does not know is missing.

    shares: node_id -> lb_weight; None where all weights are 0. source: the statement that showed the shares, and where
    each backend is.
    """

    sessions: tuple[Mapping[str, str], ...]
    shares: Mapping[int, float | None]
    source: str
    addresses: Mapping[int, Address] = field(default_factory=dict)


class _Left:
    """What is left of the time for the whole."""

    def __init__(self, address: PgpoolAddress, deadline_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._place = f"{address.host}:{address.port}"
        self._deadline_s = deadline_s
        self._end = self._loop.time() + deadline_s

    def at_most(self, step_s: float) -> float:
        """Seconds that the next step may take. Raises PgpoolUnreachable when none are left."""
        if self.is_over:
            reason = f"{self._place} was not done answering within {self._deadline_s:.3g} s"
            fix = "pgpool is slow: look at its log and at the load of its machine."
            raise PgpoolUnreachable("show", reason, fix) from DeadlinePassed(self._deadline_s)
        return min(step_s, self._end - self._loop.time())

    @property
    def is_over(self) -> bool:
        return self._loop.time() >= self._end


async def read_back_until(
    address: PgpoolAddress,
    names: Collection[str],
    *,
    is_wanted: Callable[[ReadBack], bool],
    patience_s: float,
    deadline_s: float = DEADLINE_S,
) -> ReadBack:
    """Open new sessions and read until the values are as wanted, at most about patience_s; the latest reading.

    names: the parameters to ask for. Raises PgpoolUnreachable, after deadline_s at the latest.
    """
    opened: list[PgpoolConnection] = []
    left = _Left(address, deadline_s)
    try:
        await _open(address, opened, left)
        loop = asyncio.get_running_loop()
        end = loop.time() + patience_s
        while True:
            reading = await _read(opened, names, left)
            if is_wanted(reading) or loop.time() + PAUSE_S > end:
                return reading
            await asyncio.sleep(PAUSE_S)
    except PgpoolUnreachable:
        left.at_most(0)  # a last step that had next to no time says nothing about pgpool
        raise
    finally:
        await asyncio.gather(*(connection.close() for connection in opened))


async def _open(address: PgpoolAddress, opened: list[PgpoolConnection], left: _Left) -> None:
    deadline_s = left.at_most(CONNECT_DEADLINE_S)
    attempts = [pgpool_client.connect(address, deadline_s=deadline_s) for _ in range(SESSIONS)]
    outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    opened += [outcome for outcome in outcomes if isinstance(outcome, PgpoolConnection)]
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


async def _read(opened: list[PgpoolConnection], names: Collection[str], left: _Left) -> ReadBack:
    living = [connection for connection in opened if connection.is_open]
    if not living:
        address = opened[0].address
        raise PgpoolUnreachable("show", f"{address.host}:{address.port} closed every session that it was asked on")
    sessions = await asyncio.gather(*(_shown_values(connection, names, left) for connection in living))
    return await _with_shares(tuple(sessions), living[0], left)


async def _shown_values(connection: PgpoolConnection, names: Collection[str], left: _Left) -> dict[str, str]:
    """By name; without those that this pgpool does not know."""
    # PGPOOL SHOW folds the name to lower case, and then does not find delegate_IP.
    if len(names) > MOST_ASKED_SINGLY or any(name != name.lower() for name in names):
        rows = await connection.show("PGPOOL SHOW ALL", deadline_s=left.at_most(SHOW_DEADLINE_S))
        shown = {row.get("item") or "": row.get("value") or "" for row in rows}
        return {name: shown[name] for name in sorted(names) if name in shown}
    found = {}
    for name in sorted(names):
        value = await _shown_value(connection, name, left)
        if value is not None:
            found[name] = value
    return found


async def _shown_value(connection: PgpoolConnection, name: str, left: _Left) -> str | None:
    try:
        rows = await connection.show(f"PGPOOL SHOW {name}", deadline_s=left.at_most(SHOW_DEADLINE_S))
    except PgpoolUnreachable as error:
        if connection.is_open and is_unknown_to_pgpool(error):
            return None
        raise
    if rows and name in rows[0]:
        return rows[0][name] or ""
    # health_check_period is shown along with that of every backend; a name such as "backend" is that of a group only.
    return next((row.get("value") or "" for row in rows if row.get("item") == name), None)


async def _with_shares(sessions: tuple[Mapping[str, str], ...], connection: PgpoolConnection, left: _Left) -> ReadBack:
    """SHOW POOL_NODES asks every backend, so a frozen one holds it up for 10 s; SHOW POOL_STATUS asks none."""
    try:
        rows = await connection.show("SHOW POOL_NODES", deadline_s=left.at_most(SHOW_DEADLINE_S))
    except PgpoolUnreachable:
        if connection.is_open:
            raise
        return await _with_status(sessions, connection.address, left)
    nodes = parse_pool_nodes(rows)
    shares = {node.node_id: node.lb_weight for node in nodes}
    addresses = {node.node_id: (node.hostname, node.port) for node in nodes}
    return ReadBack(sessions, shares, "SHOW POOL_NODES", addresses)


async def _with_status(sessions: tuple[Mapping[str, str], ...], address: PgpoolAddress, left: _Left) -> ReadBack:
    connection = await pgpool_client.connect(address, deadline_s=left.at_most(CONNECT_DEADLINE_S))
    try:
        rows = await connection.show("SHOW POOL_STATUS", deadline_s=left.at_most(SHOW_DEADLINE_S))
    finally:
        await connection.close()
    weights, hosts, ports = (_by_node(rows, name) for name in ("backend_weight", "backend_hostname", "backend_port"))
    shares = {node_id: None if value == "-nan" else float(value or "nan") for node_id, value in weights.items()}
    addresses = {node_id: (host, int(ports[node_id])) for node_id, host in hosts.items() if node_id in ports}
    return ReadBack(sessions, shares, "SHOW POOL_STATUS", addresses)


def _by_node(rows: Sequence[Mapping[str, str | None]], name: str) -> dict[int, str]:
    """node_id -> the value of this setting of backends."""
    found = ((re.fullmatch(rf"{name}(\d+)", row["item"] or ""), row["value"] or "") for row in rows)
    return {int(match[1]): value for match, value in found if match}
