"""What a pgpool says about its weights on several new sessions: the proof that a file is in force."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from apps.clusters import pgpool_client
from apps.clusters.domain.show_rows import parse_pool_nodes
from apps.clusters.pgpool_client import PgpoolAddress, PgpoolConnection, PgpoolUnreachable

# Each session is answered by one child of pgpool; children that disagree show among three.
SESSIONS = 3
CONNECT_DEADLINE_S = 3.0
SHOW_DEADLINE_S = 2.0
# pgpool takes a reload in within 45 to 90 ms.
PAUSE_S = 0.04


@dataclass(frozen=True)
class ReadBack:
    """sessions: PGPOOL SHOW backend_weightN by name, of each session. shares: node_id -> lb_weight; None where all
    weights are 0. source: the statement that showed the shares.
    """

    sessions: tuple[Mapping[str, str], ...]
    shares: Mapping[int, float | None]
    source: str


async def read_back_until(
    address: PgpoolAddress, node_ids: Collection[int], *, is_wanted: Callable[[ReadBack], bool], patience_s: float
) -> ReadBack:
    """Open new sessions and read until the values are as wanted, at most about patience_s; the latest reading.

    Raises PgpoolUnreachable.
    """
    opened: list[PgpoolConnection] = []
    try:
        await _open(address, opened)
        loop = asyncio.get_running_loop()
        end = loop.time() + patience_s
        while True:
            reading = await _read(opened, node_ids)
            if is_wanted(reading) or loop.time() + PAUSE_S > end:
                return reading
            await asyncio.sleep(PAUSE_S)
    finally:
        await asyncio.gather(*(connection.close() for connection in opened))


async def _open(address: PgpoolAddress, opened: list[PgpoolConnection]) -> None:
    attempts = [pgpool_client.connect(address, deadline_s=CONNECT_DEADLINE_S) for _ in range(SESSIONS)]
    outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    opened += [outcome for outcome in outcomes if isinstance(outcome, PgpoolConnection)]
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


async def _read(opened: list[PgpoolConnection], node_ids: Collection[int]) -> ReadBack:
    living = [connection for connection in opened if connection.is_open]
    if not living:
        address = opened[0].address
        raise PgpoolUnreachable("show", f"{address.host}:{address.port} closed every session that it was asked on")
    sessions = await asyncio.gather(*(_raw_weights(connection, node_ids) for connection in living))
    shares, source = await _shares(living[0])
    return ReadBack(tuple(sessions), shares, source)


async def _raw_weights(connection: PgpoolConnection, node_ids: Collection[int]) -> dict[str, str]:
    found = {}
    for node_id in sorted(node_ids):
        name = f"backend_weight{node_id}"
        rows = await connection.show(f"PGPOOL SHOW {name}", deadline_s=SHOW_DEADLINE_S)
        found[name] = rows[0].get(name) or ""
    return found


async def _shares(connection: PgpoolConnection) -> tuple[dict[int, float | None], str]:
    """SHOW POOL_NODES asks every backend, so a frozen one holds it up for 10 s; SHOW POOL_STATUS asks none."""
    try:
        rows = await connection.show("SHOW POOL_NODES", deadline_s=SHOW_DEADLINE_S)
    except PgpoolUnreachable:
        if connection.is_open:
            raise
        return await _shares_of_status(connection.address), "SHOW POOL_STATUS"
    return {node.node_id: node.lb_weight for node in parse_pool_nodes(rows)}, "SHOW POOL_NODES"


async def _shares_of_status(address: PgpoolAddress) -> dict[int, float | None]:
    connection = await pgpool_client.connect(address, deadline_s=CONNECT_DEADLINE_S)
    try:
        rows = await connection.show("SHOW POOL_STATUS", deadline_s=SHOW_DEADLINE_S)
    finally:
        await connection.close()
    prefix = "backend_weight"
    shown = {str(row["item"]).removeprefix(prefix): row["value"] for row in rows if str(row["item"]).startswith(prefix)}
    return {int(node_id): None if value == "-nan" else float(value or "nan") for node_id, value in shown.items()}
