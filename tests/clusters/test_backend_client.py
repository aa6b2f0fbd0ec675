"""A backend asked directly: here the PostgreSQL of the tests, which replicates to nobody. Standbys: tests/lab."""

import socket
import time
from typing import Any

import pytest

from apps.clusters.outside.backend_client import BackendAddress, BackendUnreachable, KeptBackend, ask_backend
from tests.fake_pgpool import FakePgpool

SLACK_S = 10.0


@pytest.fixture
def address(settings: Any) -> BackendAddress:
    database = settings.DATABASES["default"]
    return BackendAddress(database["HOST"], int(database["PORT"]), database["USER"], database["PASSWORD"])


async def test_a_primary_tells_its_position_and_no_replay(address: BackendAddress) -> None:
    facts = await ask_backend(address, deadline_s=SLACK_S)

    assert not facts.is_in_recovery
    assert facts.current_lsn is not None
    assert "/" in facts.current_lsn
    assert (facts.replay_lag_s, facts.is_replay_paused, facts.receiver_status) == (None, None, None)
    assert facts.replication == ()
    assert facts.probe_ms > 0
    assert facts.started_at < facts.asked_at
    assert facts.aborted_count >= 0


async def test_a_connection_is_kept_only_where_it_is_wanted(address: BackendAddress) -> None:
    kept = KeptBackend()

    await ask_backend(address, deadline_s=SLACK_S, kept=kept)
    first = kept.session
    await ask_backend(address, deadline_s=SLACK_S, kept=kept)

    assert first is not None
    assert kept.session is first
    await kept.close()
    assert not first.is_open


async def test_a_kept_connection_that_was_lost_is_replaced(address: BackendAddress) -> None:
    kept = KeptBackend()
    await ask_backend(address, deadline_s=SLACK_S, kept=kept)
    first = kept.session
    assert first is not None
    first.cut()

    with pytest.raises(BackendUnreachable):
        await ask_backend(address, deadline_s=SLACK_S, kept=kept)
    await ask_backend(address, deadline_s=SLACK_S, kept=kept)

    assert kept.session is not first
    await kept.close()


async def test_a_server_that_hangs_is_given_up_at_the_deadline() -> None:
    async with FakePgpool() as silent:
        silent.mode = "hang"
        kept = KeptBackend()
        started = time.monotonic()

        with pytest.raises(BackendUnreachable, match=r"within 0\.3 s"):
            await ask_backend(
                BackendAddress(silent.host, silent.port, "lifeguard", "secret"), deadline_s=0.3, kept=kept
            )

        assert time.monotonic() - started < SLACK_S
        assert kept.session is None


async def test_a_closed_port_names_postgresqls_own_setting() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    with pytest.raises(BackendUnreachable) as caught:
        await ask_backend(BackendAddress("127.0.0.1", port, "lifeguard", "secret"), deadline_s=SLACK_S)

    assert caught.value.step == "tcp"
    assert "postgresql.conf" in caught.value.fix


def test_an_address_never_shows_its_password() -> None:
    assert "hunter2" not in repr(BackendAddress("pg.example", 5432, "lifeguard", "hunter2"))
