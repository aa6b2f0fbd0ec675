"""When a watch asks a pgpool for SHOW pool_nodes, for which pgpool signs in to every backend; what it says of one that
serves no SQL.
"""

import asyncio
import re
from collections.abc import Callable

from apps.clusters.outside.pcp import PcpAddress
from apps.clusters.outside.pgpool_client import PgpoolAddress
from apps.clusters.polling.instance_watch import InstanceWatch
from apps.clusters.polling.registry import WatchedInstance
from tests.fake_pgpool import FakePgpool

NEVER_AGAIN_S = 3600.0


async def asked_for_pool_nodes(watch: InstanceWatch, pgpool: FakePgpool) -> int:
    """How often, after a look and the end of what it began in the background."""
    await watch.look(pool_nodes_every_s=NEVER_AGAIN_S)
    if watch._asking_slowly is not None:
        await asyncio.wait({watch._asking_slowly})
    return sum(sql.lower() == "show pool_nodes" for sql in pgpool.received)


def watch_of(pgpool: FakePgpool, pcp: PcpAddress | None = None) -> InstanceWatch:
    address = PgpoolAddress(pgpool.host, pgpool.port, pgpool.username, pgpool.password, sslmode="disable")
    return InstanceWatch(WatchedInstance(1, "pgpool-1", address, pcp, "4.3.5", {}), sessions_before=0)


async def asked_before_and_after(change: Callable[[FakePgpool], None]) -> list[int]:
    async with FakePgpool() as pgpool:
        watch = watch_of(pgpool)
        try:
            at_rest = [await asked_for_pool_nodes(watch, pgpool) for _ in range(3)]
            change(pgpool)
            # The look that sees it is over before the next one asks.
            return [*at_rest, *[await asked_for_pool_nodes(watch, pgpool) for _ in range(3)]]
        finally:
            await watch.close()


def test_pool_nodes_is_asked_at_once_when_a_backend_changes_its_status() -> None:
    def go_down(pgpool: FakePgpool) -> None:
        pgpool.backends[1].status = "down"

    assert asyncio.run(asked_before_and_after(go_down)) == [1, 1, 1, 1, 2, 2]


def test_pool_nodes_is_asked_at_once_when_weights_change() -> None:
    def change_weights(pgpool: FakePgpool) -> None:
        pgpool.weights = {0: 0, 1: 1, 2: 3}

    assert asyncio.run(asked_before_and_after(change_weights)) == [1, 1, 1, 1, 2, 2]


async def told_when_sql_hangs(children: int, *, has_answered: bool) -> tuple[str, str]:
    """(state, reason) of a pgpool with so many children whose PCP goes on answering."""
    async with FakePgpool() as pgpool:
        pgpool.values["num_init_children"] = str(children)
        watch = watch_of(pgpool, PcpAddress(pgpool.host, pgpool.pcp_port, pgpool.pcp_username, pgpool.pcp_password))
        try:
            if has_answered:
                await watch.look(pool_nodes_every_s=NEVER_AGAIN_S)
            pgpool.mode = "hang_sql"
            reading = await watch.look(pool_nodes_every_s=NEVER_AGAIN_S)
        finally:
            await watch.close()
        return reading.state, reading.reason


def test_one_that_serves_no_sql_is_told_with_the_children_that_were_in_use() -> None:
    few, full, unknown = (
        asyncio.run(told_when_sql_hangs(children, has_answered=has_answered))
        for children, has_answered in ((32, True), (1, True), (32, False))
    )

    assert {few[0], full[0], unknown[0]} == {"hanging"}
    assert re.search(r"serves no SQL\. When it answered latest, \d of its 32 children were in use\.$", few[1])
    assert full[1].endswith("1 of its 1 children were in use: sessions may wait for a free one.")
    assert unknown[1].endswith("serves no SQL.")
