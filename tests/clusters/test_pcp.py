"""PCP, spoken natively: answers, refusals, other programs' ports, frozen ones."""

import asyncio
import datetime as dt
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from apps.clusters.outside.pcp import PcpAddress, PcpError, node_info, process_count, reload_config, watchdog
from tests.fake_pgpool import FakePgpool

SLACK_S = 10.0
PASSWORD = "secret"
CAPTURED = Path(__file__).parent.parent / "captured"


@pytest.fixture
async def pgpool() -> AsyncIterator[FakePgpool]:
    async with FakePgpool() as running:
        yield running


def address_of(pgpool: FakePgpool, *, password: str = PASSWORD, port: int | None = None) -> PcpAddress:
    return PcpAddress(pgpool.host, port or pgpool.pcp_port, pgpool.pcp_username, password)


@asynccontextmanager
async def replay(version: str, *, instead: tuple[bytes, bytes] = (b"", b"")) -> AsyncIterator[int]:
    """Answers as a real pgpool of this version did when it was asked about its two backends.

    instead: bytes of the answer, and what stands in their place.
    """
    lines = (CAPTURED / version / "pcp_node_info.messages").read_bytes().splitlines()
    described = [line.partition(b" ")[2].replace(*instead) if instead[0] else line.partition(b" ")[2] for line in lines]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def answer(kind: bytes, payload: bytes) -> None:
            writer.write(kind + struct.pack("!i", len(payload) + 4) + payload)

        while (kind := await reader.read(1)) not in (b"", b"X"):
            await reader.readexactly(struct.unpack("!i", await reader.readexactly(4))[0] - 4)
            if kind == b"M":
                answer(b"m", b"salt")
            elif kind == b"R":
                answer(b"r", b"AuthenticationOK\0")
            elif kind == b"L":
                answer(b"l", b"CommandComplete\x002\0")
            else:
                for _ in range(3):
                    answer(b"i", described.pop(0))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


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


async def test_a_backend_of_pgpool_4_6_is_described_with_one_field_more() -> None:
    async with replay("pgpool-4.6.1") as port:
        nodes = await node_info(PcpAddress("127.0.0.1", port, "pcp", PASSWORD), deadline_s=SLACK_S)

    assert [(node.port, node.status, node.role, node.pg_role, node.weight_share) for node in nodes] == [
        (28753, "up", "primary", "primary", 0),
        (31000, "up", "standby", "standby", 0.5),  # 1073741823.5 / RAND_MAX
    ]
    assert [(node.replication_state, node.replication_sync_state) for node in nodes] == [
        (None, None),
        ("streaming", "async"),
    ]
    assert nodes[0].last_status_change == dt.datetime.fromtimestamp(1795290954, tz=dt.UTC)


async def test_a_time_beyond_the_calendar_is_no_known_description() -> None:
    async with replay("pgpool-4.6.1", instead=(b"1795290954", b"9" * 18)) as port:
        with pytest.raises(PcpError, match="in a way no known version does"):
            await node_info(PcpAddress("127.0.0.1", port, "pcp", PASSWORD), deadline_s=SLACK_S)


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


async def test_the_watchdog_tells_of_all_pgpools_and_its_absence_is_no_error(pgpool: FakePgpool) -> None:
    told = (CAPTURED / "pgpool-4.3.5" / "watchdog" / "one-stopped.pgpool-1.message").read_bytes()
    off = await watchdog(address_of(pgpool), deadline_s=SLACK_S)
    pgpool.watchdog = told.removeprefix(b"w ")

    on = await watchdog(address_of(pgpool), deadline_s=SLACK_S)

    assert off is None
    assert on is not None
    assert [node.state for node in on.nodes] == ["leader", "standby", "shutdown"]


@pytest.mark.parametrize("broken", [b"CommandComplete\0", b"CommandComplete\0{}\0", b"", b"CommandComplete\0[]"])
async def test_a_watchdog_that_tells_nonsense_is_an_error(pgpool: FakePgpool, broken: bytes) -> None:
    pgpool.watchdog = broken

    with pytest.raises(PcpError, match="in a way no known version does"):
        await watchdog(address_of(pgpool), deadline_s=SLACK_S)
