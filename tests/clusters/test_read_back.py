"""Values read back on several new sessions: the latest reading counts, and silence is never one."""

import re

import pytest

from apps.clusters.control import rollout_actions, rollout_rows
from apps.clusters.outside import read_back
from apps.clusters.outside.delivery import dry_run, local
from apps.clusters.outside.pgpool_client import PgpoolAddress, PgpoolUnreachable
from apps.clusters.outside.read_back import SESSIONS, ReadBack, read_back_until
from tests.fake_pgpool import FakePgpool

NAMES = ["backend_weight0", "backend_weight1", "backend_weight2"]


def address_of(pgpool: FakePgpool) -> PgpoolAddress:
    return PgpoolAddress(pgpool.host, pgpool.port, pgpool.username, pgpool.password)


async def test_every_session_and_the_shares_are_read() -> None:
    async with FakePgpool() as pgpool:
        reading = await read_back_until(address_of(pgpool), NAMES, is_wanted=lambda _: True, patience_s=5)

    assert len(reading.sessions) == SESSIONS
    assert all(
        list(session) == ["backend_weight0", "backend_weight1", "backend_weight2"] for session in reading.sessions
    )
    assert (list(reading.shares), reading.source) == ([0, 1, 2], "SHOW POOL_NODES")


@pytest.mark.parametrize("most_asked_singly", [0, read_back.MOST_ASKED_SINGLY])
async def test_a_name_that_pgpool_does_not_know_is_left_out(
    monkeypatch: pytest.MonkeyPatch, most_asked_singly: int
) -> None:
    monkeypatch.setattr(read_back, "MOST_ASKED_SINGLY", most_asked_singly)
    async with FakePgpool() as pgpool:
        names = ["delay_threshold", "delay_treshold", "backend"]
        reading = await read_back_until(address_of(pgpool), names, is_wanted=lambda _: True, patience_s=5)

    assert list(reading.sessions) == [{"delay_threshold": "0"}] * SESSIONS


@pytest.mark.parametrize("most_asked_singly", [0, read_back.MOST_ASKED_SINGLY])
async def test_a_value_for_all_backends_is_told_from_that_of_each(
    monkeypatch: pytest.MonkeyPatch, most_asked_singly: int
) -> None:
    monkeypatch.setattr(read_back, "MOST_ASKED_SINGLY", most_asked_singly)
    async with FakePgpool() as pgpool:
        pgpool.values |= {"health_check_period": "2", "health_check_period0": "5"}
        names = ["health_check_period", "health_check_period0", "backend_weight"]
        reading = await read_back_until(address_of(pgpool), names, is_wanted=lambda _: True, patience_s=5)

    assert list(reading.sessions) == [{"health_check_period": "2", "health_check_period0": "5"}] * SESSIONS


async def test_a_pgpool_that_goes_away_while_it_is_read_is_unreachable() -> None:
    async with FakePgpool() as pgpool:

        def goes_away(_: ReadBack) -> bool:
            pgpool.close_sessions()
            return False

        with pytest.raises(PgpoolUnreachable):
            await read_back_until(address_of(pgpool), NAMES, is_wanted=goes_away, patience_s=30)


def waited_s(error: PgpoolUnreachable) -> float:
    match = re.search(r"within ([0-9.e-]+) s", error.reason)
    assert match is not None, error.reason
    return float(match[1])


async def test_the_whole_deadline_holds_for_a_pgpool_that_never_answers() -> None:
    async with FakePgpool() as pgpool:
        pgpool.mode = "hang"

        with pytest.raises(PgpoolUnreachable) as caught:
            await read_back_until(address_of(pgpool), NAMES, is_wanted=lambda _: True, patience_s=60, deadline_s=0.5)

    assert waited_s(caught.value) <= 0.5


async def test_a_pgpool_that_freezes_while_it_is_read_has_only_what_is_left_of_the_deadline() -> None:
    async with FakePgpool() as pgpool:

        def freezes(_: ReadBack) -> bool:
            pgpool.mode = "hang"
            return False

        with pytest.raises(PgpoolUnreachable) as caught:
            await read_back_until(address_of(pgpool), NAMES, is_wanted=freezes, patience_s=60, deadline_s=1.5)

    assert waited_s(caught.value) <= 1.5


async def test_a_pgpool_that_answers_on_and_on_is_not_read_for_longer_than_the_deadline() -> None:
    async with FakePgpool() as pgpool:
        with pytest.raises(PgpoolUnreachable, match="was not done answering within 1 s"):
            await read_back_until(address_of(pgpool), NAMES, is_wanted=lambda _: False, patience_s=3600, deadline_s=1)


def test_a_lease_outlasts_every_action() -> None:
    # A deadline that is held by shutting a socket lets its task notice that: sockets.NOTICE_S, 0.5 s.
    reading_back_s = read_back.DEADLINE_S + 0.5
    actions = {
        "check": dry_run.DEADLINE_S,
        "write": local.WRITE_DEADLINE_S,
        "reload": rollout_actions.RELOAD_DEADLINE_S + 0.5,
        "restore": local.WRITE_DEADLINE_S + rollout_actions.RESTORE_RELOAD_DEADLINE_S + 0.5,
        "confirm": rollout_actions.RESTORE_RELOAD_DEADLINE_S + 0.5 + reading_back_s,
    }

    assert max(actions.values()) <= rollout_actions.LONGEST_ACTION_S
    assert rollout_rows.LEASE.total_seconds() >= rollout_actions.LONGEST_ACTION_S + 1
