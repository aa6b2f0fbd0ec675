"""PCP, spoken natively: answers, refusals, other programs' ports, frozen ones."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator

import pytest

from apps.clusters.pcp import PcpAddress, PcpError, node_info, process_count, reload_config
from tests.fake_pgpool import FakePgpool

SLACK_S = 10.0
PASSWORD = "secret"


@pytest.fixture
async def pgpool() -> AsyncIterator[FakePgpool]:
    async with FakePgpool() as running:
        yield running


def address_of(pgpool: FakePgpool, *, password: str = PASSWORD, port: int | None = None) -> PcpAddress:
    return PcpAddress(pgpool.host, port or pgpool.pcp_port, pgpool.pcp_username, password)


async def test_every_backend_is_described_as_pgpool_sees_it(pgpool: FakePgpool) -> None:
    pgpool.weights = {0: 0, 1: 1, 2: 3}
    pgpool.backends[1].status = "down"

    nodes = await node_info(address_of(pgpool), deadline_s=SLACK_S)

    assert [(node.node_id, node.status, node.role, node.weight_share) for node in nodes] == [
        (0, "up", "primary", 0),
        (1, "down", "standby", 0.25),  # 1 / (0 + 1 + 3)
        (2, "up", "standby", 0.75),
    ]
    assert nodes[1].replication_state is None


async def test_children_are_counted(pgpool: FakePgpool) -> None:
    assert await process_count(address_of(pgpool), deadline_s=SLACK_S) == 32


async def test_a_reload_reaches_pgpool(pgpool: FakePgpool) -> None:
    await reload_config(address_of(pgpool), deadline_s=SLACK_S)

    assert pgpool.reload_count == 1


async def test_a_wrong_password_is_refused_and_never_repeated(pgpool: FakePgpool) -> None:
    with pytest.raises(PcpError) as caught:
        await reload_config(address_of(pgpool, password="hunter2"), deadline_s=SLACK_S)

    assert caught.value.step == "authenticate"
    assert "authentication failed" in caught.value.reason
    assert "pcp.conf" in caught.value.fix
    assert "hunter2" not in str(caught.value)
    assert pgpool.reload_count == 0


async def test_the_sql_port_given_for_the_pcp_port_is_recognised(pgpool: FakePgpool) -> None:
    with pytest.raises(PcpError) as caught:
        await process_count(address_of(pgpool, port=pgpool.port), deadline_s=2.0)

    assert caught.value.step == "authenticate"


async def test_a_program_that_speaks_something_else_is_recognised() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP ready\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    with pytest.raises(PcpError, match="does not speak PCP") as caught:
        await process_count(PcpAddress("127.0.0.1", port, "pcp", "secret"), deadline_s=SLACK_S)

    server.close()
    assert "pcp_port" in caught.value.fix


async def test_a_frozen_pgpool_is_given_up_at_the_deadline(pgpool: FakePgpool) -> None:
    pgpool.mode = "hang"
    started = time.monotonic()

    with pytest.raises(PcpError, match=r"within 0\.3 s"):
        await node_info(address_of(pgpool), deadline_s=0.3)

    assert time.monotonic() - started < SLACK_S


async def test_a_pgpool_whose_sql_hangs_still_answers_pcp(pgpool: FakePgpool) -> None:
    pgpool.mode = "hang_sql"

    assert len(await node_info(address_of(pgpool), deadline_s=SLACK_S)) == 3


async def test_a_closed_port_is_a_tcp_failure() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    with pytest.raises(PcpError, match="connection refused") as caught:
        await process_count(PcpAddress("127.0.0.1", port, "pcp", "secret"), deadline_s=SLACK_S)

    assert caught.value.step == "tcp"
    assert "pcp_listen_addresses" in caught.value.fix
