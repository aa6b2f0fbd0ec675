"""The SQL side of a pgpool: rows, refusals in words, and deadlines that hold on a frozen one."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest

from apps.clusters.domain.show_rows import parse_pool_nodes, parse_pool_processes
from apps.clusters.outside.diagnosis import diagnose
from apps.clusters.outside.pgpool_client import PgpoolAddress, PgpoolUnreachable, connect
from apps.clusters.outside.sockets import DeadlinePassed, by_deadline
from tests.fake_pgpool import FakePgpool, Mode
from tests.fake_protocol import message

# Generous for a busy machine, and far below what would be waited without a deadline.
SLACK_S = 10.0


@pytest.fixture
async def pgpool() -> AsyncIterator[FakePgpool]:
    async with FakePgpool() as running:
        yield running


def address_of(pgpool: FakePgpool, **changes: str) -> PgpoolAddress:
    parts = {"username": pgpool.username, "password": pgpool.password, **changes}
    return PgpoolAddress(host=pgpool.host, port=pgpool.port, **parts)


@contextmanager
def silent_port() -> Iterator[int]:
    """A program that never accepts: its kernel takes the connection, nobody ever reads."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        yield listener.getsockname()[1]


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


async def test_rows_come_by_column_name_as_text(pgpool: FakePgpool) -> None:
    pgpool.weights = {0: 0, 1: 1, 2: 3}
    pgpool.backends[2].select_count = 142076
    connection = await connect(address_of(pgpool), deadline_s=SLACK_S)

    nodes = parse_pool_nodes(await connection.show("SHOW pool_nodes", deadline_s=SLACK_S))
    await connection.close()

    assert [node.lb_weight for node in nodes] == [0, 0.25, 0.75]  # 1 / (0 + 1 + 3), 3 / (0 + 1 + 3)
    assert nodes[2].select_count == 142076


@pytest.mark.parametrize("sslmode", ["disable", "prefer"])
async def test_a_server_that_asks_for_the_password_itself_does_not_get_it(sslmode: str) -> None:
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def eavesdrop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await reader.readexactly(int.from_bytes(await reader.readexactly(4)) - 4))[:2] != b"\0\3":
            writer.write(b"N")  # neither TLS nor GSS
        assert b"lifeguard" in request
        writer.write(message(b"R", (3).to_bytes(4)))  # the password in clear text, please
        heard.set_result(await reader.read())

    async with await asyncio.start_server(eavesdrop, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(PgpoolUnreachable) as caught:
            address = PgpoolAddress("127.0.0.1", port, "lifeguard", "top secret", sslmode=sslmode)
            await connect(address, deadline_s=SLACK_S)

    assert caught.value.step == "authenticate"
    assert "asks for the password in clear text, so it was not sent" in caught.value.reason
    assert "verify-full" in caught.value.fix
    assert await heard == b""


async def test_the_last_result_set_counts_where_pgpool_sends_its_header_twice(pgpool: FakePgpool) -> None:
    connection = await connect(address_of(pgpool), deadline_s=SLACK_S)

    version = await connection.show("SHOW pool_version", deadline_s=SLACK_S)
    processes = parse_pool_processes(await connection.show("SHOW pool_processes", deadline_s=SLACK_S))
    await connection.close()

    assert version == [{"pool_version": "4.3.5 (tamahomeboshi)"}]
    assert len(processes) == 32
    assert sum(process.is_in_use for process in processes) == 1


async def test_the_sixth_equal_question_is_still_asked_in_the_simple_protocol(pgpool: FakePgpool) -> None:
    connection = await connect(address_of(pgpool), deadline_s=SLACK_S)

    for _ in range(8):
        await connection.show("SHOW pool_nodes", deadline_s=SLACK_S)
    await connection.close()

    assert pgpool.received == ["SHOW pool_nodes"] * 8


async def test_a_refused_statement_leaves_the_session_usable(pgpool: FakePgpool) -> None:
    connection = await connect(address_of(pgpool), deadline_s=SLACK_S)

    with pytest.raises(PgpoolUnreachable, match="pool_nosuch"):
        await connection.show("SHOW pool_nosuch", deadline_s=SLACK_S)

    assert connection.is_open
    assert await connection.probe(deadline_s=SLACK_S) > 0
    await connection.close()


async def test_a_frozen_pgpool_ends_the_question_at_its_deadline_and_the_session_with_it(pgpool: FakePgpool) -> None:
    connection = await connect(address_of(pgpool), deadline_s=SLACK_S)
    pgpool.mode = "hang"
    started = time.monotonic()

    with pytest.raises(PgpoolUnreachable) as caught:
        await connection.show("SHOW pool_nodes", deadline_s=0.3)

    assert time.monotonic() - started < SLACK_S
    assert caught.value.step == "show"
    assert "within 0.3 s" in caught.value.reason
    assert not connection.is_open


async def test_one_frozen_pgpool_delays_no_other(pgpool: FakePgpool) -> None:
    async with FakePgpool() as frozen:
        frozen.mode = "hang"
        waiting = asyncio.create_task(connect(address_of(frozen), deadline_s=SLACK_S))
        connection = await connect(address_of(pgpool), deadline_s=SLACK_S)
        await connection.show("SHOW pool_nodes", deadline_s=SLACK_S)
        await connection.close()

        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait({waiting})


async def test_a_program_that_never_accepts_is_named_as_silent() -> None:
    with silent_port() as port:
        started = time.monotonic()
        with pytest.raises(PgpoolUnreachable) as caught:
            await connect(PgpoolAddress("127.0.0.1", port, "lifeguard", "secret"), deadline_s=3)

    assert time.monotonic() - started < SLACK_S
    assert caught.value.step == "authenticate"
    assert "within 3 s" in caught.value.reason


async def test_an_attempt_given_up_leaves_no_connection_behind_however_long_its_error_is_kept() -> None:
    """Each one left open would keep a child of pgpool busy: three failed read-backs filled a small pgpool for good."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        with pytest.raises(PgpoolUnreachable) as kept:
            await connect(PgpoolAddress("127.0.0.1", listener.getsockname()[1], "monitor", "secret"), deadline_s=0.4)

        listener.settimeout(SLACK_S)
        for _ in range(2):  # the attempt, and the look whether the machine takes connections at all
            peer, _ = listener.accept()
            peer.settimeout(SLACK_S)
            assert await asyncio.to_thread(all_that_came, peer) is not None
    assert kept.value.step == "authenticate"


async def test_what_comes_too_late_is_given_to_who_discards_it() -> None:
    discarded: list[str] = []
    cut = asyncio.Event()

    async def late() -> str:
        await cut.wait()
        return "late"

    with pytest.raises(DeadlinePassed):
        await by_deadline(late(), deadline_s=0.01, cut=cut.set, discard=discarded.append)

    assert discarded == ["late"]


def all_that_came(peer: socket.socket) -> bytes:
    """What the other side sent until it closed. Raises TimeoutError while it does not."""
    said = b""
    with peer:
        while some := peer.recv(4096):
            said += some
    return said


async def test_a_closed_port_is_a_tcp_failure() -> None:
    with pytest.raises(PgpoolUnreachable) as caught:
        await connect(PgpoolAddress("127.0.0.1", free_port(), "lifeguard", "secret"), deadline_s=SLACK_S)

    assert caught.value.step == "tcp"
    assert "refuses connections" in caught.value.reason
    assert "listen_addresses" in caught.value.fix


async def test_a_name_that_does_not_resolve_is_named() -> None:
    with pytest.raises(PgpoolUnreachable) as caught:
        await connect(PgpoolAddress("no-such-host.invalid", 5432, "lifeguard", "secret"), deadline_s=SLACK_S)

    assert caught.value.step == "resolve"
    assert "no-such-host.invalid" in caught.value.reason


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fd00:ec2::254", "0.0.0.0", "224.0.0.1"],  # noqa: S104
)
async def test_addresses_that_hold_the_clouds_credentials_are_never_contacted(host: str) -> None:
    with pytest.raises(PgpoolUnreachable, match="never contacted") as caught:
        await connect(PgpoolAddress(host, 80, "lifeguard", "secret"), deadline_s=SLACK_S)

    assert caught.value.step == "resolve"


async def test_a_wrong_password_names_the_statement_that_mends_it(pgpool: FakePgpool) -> None:
    with pytest.raises(PgpoolUnreachable) as caught:
        await connect(address_of(pgpool, password="wrong"), deadline_s=SLACK_S)

    assert caught.value.step == "authenticate"
    assert "ALTER ROLE lifeguard PASSWORD" in caught.value.fix
    assert "wrong" not in str(caught.value)


async def test_an_unknown_role_names_the_missing_pool_passwd_line(pgpool: FakePgpool) -> None:
    with pytest.raises(PgpoolUnreachable) as caught:
        await connect(address_of(pgpool, username="nobody"), deadline_s=SLACK_S)

    assert "pool_passwd has no entry for nobody" in caught.value.reason
    assert "nobody:TEXT" in caught.value.fix


async def test_a_pgpool_that_drops_the_session_is_reported_and_the_session_thrown_away(pgpool: FakePgpool) -> None:
    connection = await connect(address_of(pgpool), deadline_s=SLACK_S)
    pgpool.mode = "refuse"

    with pytest.raises(PgpoolUnreachable):
        await connection.show("SHOW pool_nodes", deadline_s=SLACK_S)

    assert not connection.is_open


def test_an_address_never_shows_its_password() -> None:
    assert "hunter2" not in repr(PgpoolAddress("pg.example", 9999, "lifeguard", "hunter2"))


async def test_a_diagnosis_passes_every_step_of_a_healthy_pgpool(pgpool: FakePgpool) -> None:
    diagnosis = await diagnose(address_of(pgpool), deadline_s=SLACK_S)

    assert [(step.name, step.state) for step in diagnosis.steps] == [
        ("resolve", "ok"),
        ("tcp", "ok"),
        ("tls", "warning"),  # nobody is asked to verify a certificate
        ("authenticate", "ok"),
        ("privilege", "ok"),
        ("show", "ok"),
    ]
    assert diagnosis.is_ok
    assert "clear text" in diagnosis.step("tls").text
    assert "3 backends" in diagnosis.step("show").text


@pytest.mark.parametrize(
    ("mode", "failing", "words"),
    [
        ("wrong_password", "authenticate", "password"),
        ("hang", "tls", "within"),
        ("refuse", "authenticate", "closes every connection at once"),
    ],
)
async def test_a_diagnosis_names_the_step_that_fails_and_skips_the_rest(
    pgpool: FakePgpool, mode: Mode, failing: str, words: str
) -> None:
    pgpool.mode = mode

    diagnosis = await diagnose(address_of(pgpool), deadline_s=2.0 if mode == "hang" else SLACK_S)

    failed = diagnosis.failed
    assert failed is not None
    assert failed.name == failing
    assert words in failed.text
    assert not diagnosis.is_ok
    names = [step.name for step in diagnosis.steps]
    assert {step.state for step in diagnosis.steps[names.index(failed.name) + 1 :]} == {"skipped"}


async def test_a_diagnosis_of_tls_that_is_asked_for_and_not_offered_says_so(pgpool: FakePgpool) -> None:
    diagnosis = await diagnose(
        PgpoolAddress(pgpool.host, pgpool.port, pgpool.username, pgpool.password, sslmode="require"), deadline_s=SLACK_S
    )

    assert diagnosis.step("tcp").state == "ok"
    assert diagnosis.step("tls").state == "failed"
    assert "ssl = on" in diagnosis.step("tls").fix


async def test_a_diagnosis_of_a_role_without_pg_monitor_names_the_grant(pgpool: FakePgpool) -> None:
    pgpool.has_monitor = False

    diagnosis = await diagnose(address_of(pgpool), deadline_s=SLACK_S)

    assert diagnosis.step("privilege").fix == "GRANT pg_monitor TO lifeguard;"
    assert diagnosis.step("show").state == "ok"
    assert not diagnosis.is_ok


@pytest.mark.parametrize("sslmode", ["prefer", "disable"])
async def test_a_pgpool_that_turns_everybody_away_is_heard_where_the_mode_allows_a_try_without_tls(
    pgpool: FakePgpool, sslmode: str
) -> None:
    pgpool.mode = "all_down"

    with pytest.raises(PgpoolUnreachable) as refused:
        await connect(address_of(pgpool, sslmode=sslmode), deadline_s=5)
    diagnosis = await diagnose(address_of(pgpool, sslmode=sslmode), deadline_s=5)

    assert "pgpool is not accepting any new connections" in refused.value.reason
    assert (refused.value.step, refused.value.is_silence) == ("authenticate", False)
    assert "restart pgpool" in refused.value.fix
    assert diagnosis.failed is not None
    assert (diagnosis.failed.name, diagnosis.failed.text) == ("authenticate", refused.value.reason)


async def test_a_pgpool_that_turns_everybody_away_is_not_asked_in_clear_text_where_tls_is_required(
    pgpool: FakePgpool,
) -> None:
    pgpool.mode = "all_down"

    with pytest.raises(PgpoolUnreachable) as refused:
        await connect(address_of(pgpool, sslmode="require"), deadline_s=5)

    assert "not accepting" not in refused.value.reason
