"""Which run of a pgpool answers, and how many clients it serves: what tells a restart from a reload or a failover."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from apps.clusters.domain.rolling_restart import Generation
from apps.clusters.domain.show_rows import PoolProcess, Row, parse_pool_processes
from apps.clusters.outside import pgpool_client
from apps.clusters.outside.pgpool_client import PgpoolAddress

DEADLINE_S = 2.0
# Set once when pgpool starts, also where the query cache is off.
BEGAN = "memqcache_stats_start_time"


@dataclass(frozen=True)
class Sight:
    """clients: sessions of others that are connected."""

    generation: Generation
    clients: int


async def look(address: PgpoolAddress) -> Sight:
    """On one new session, so that it is the pgpool that takes clients now. Raises PgpoolUnreachable or ShowRowError."""
    loop = asyncio.get_running_loop()
    end = loop.time() + DEADLINE_S
    connection = await pgpool_client.connect(address, deadline_s=DEADLINE_S)
    try:
        processes = await connection.show("SHOW POOL_PROCESSES", deadline_s=max(end - loop.time(), 0.01))
        status = await connection.show("SHOW POOL_STATUS", deadline_s=max(end - loop.time(), 0.01))
    finally:
        await connection.close()
    return _sight(parse_pool_processes(processes), status, address)


def _sight(processes: Sequence[PoolProcess], status: Sequence[Row], address: PgpoolAddress) -> Sight:
    own = (address.username, address.database)
    clients = sum(one.is_in_use and (one.username, one.database) != own for one in processes)
    began = next((row.get("value") or "" for row in status if row.get("item") == BEGAN), "")
    return Sight(Generation(frozenset(f"{one.pid} {one.started}" for one in processes), began.strip()), clients)
