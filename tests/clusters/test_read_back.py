"""Values read back on several new sessions: the latest reading counts, and silence is never one."""

import pytest

from apps.clusters.pgpool_client import PgpoolAddress, PgpoolUnreachable
from apps.clusters.read_back import SESSIONS, ReadBack, read_back_until
from tests.fake_pgpool import FakePgpool


def address_of(pgpool: FakePgpool) -> PgpoolAddress:
    return PgpoolAddress(pgpool.host, pgpool.port, pgpool.username, pgpool.password)


async def test_every_session_and_the_shares_are_read() -> None:
    async with FakePgpool() as pgpool:
        reading = await read_back_until(address_of(pgpool), [0, 1, 2], is_wanted=lambda _: True, patience_s=5)

    assert len(reading.sessions) == SESSIONS
    assert all(
        list(session) == ["backend_weight0", "backend_weight1", "backend_weight2"] for session in reading.sessions
    )
    assert (list(reading.shares), reading.source) == ([0, 1, 2], "SHOW POOL_NODES")


async def test_a_pgpool_that_goes_away_while_it_is_read_is_unreachable() -> None:
    async with FakePgpool() as pgpool:

        def goes_away(_: ReadBack) -> bool:
            pgpool.close_sessions()
            return False

        with pytest.raises(PgpoolUnreachable):
            await read_back_until(address_of(pgpool), [0, 1, 2], is_wanted=goes_away, patience_s=30)
