"""Restarts that another worker goes on with: nothing is ordered twice, and a look goes before giving up."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import restart_rows, restart_steps
from apps.clusters.models import RollingRestart
from tests.clusters.restart_scene import advance, allow, counts, ordered, request, restarting, states, steps
from tests.clusters.rollout_scene import NOW, Clock, Killed, Scene

pytestmark = pytest.mark.django_db

State = RollingRestart.State


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with restarting(tmp_path, settings) as found:
        yield found


@pytest.mark.parametrize("look", [1, 2, 3, 4, 5, 6, 8, 10])
def test_a_worker_killed_anywhere_restarts_none_twice(acme: Scene, look: int) -> None:
    restart = request(acme)
    clock = Clock(step_s=0, killed_at=look)
    with pytest.raises(Killed):
        restart_steps.advance(restart_id=restart.pk, holder="dies", clock=clock, sleep=clock.sleep)
    assert advance(restart, holder="next").state == State.RUNNING  # the lease is another one's
    RollingRestart.objects.update(lease_expires_at=None)

    assert advance(restart, holder="next").state == State.DONE, restart.outcome
    assert counts(acme) == [1, 1]


def test_an_order_that_may_not_have_been_begun_is_given_once_more(acme: Scene) -> None:
    restart = request(acme, "pgpool-1")
    ordered(restart, acme)

    advance(restart, now=NOW + restart_rows.ORDER_UNKNOWN_FOR - timedelta(seconds=1))
    assert (restart.state, counts(acme)) == (State.RUNNING, [0, 0])
    advance(restart, now=NOW + restart_rows.ORDER_UNKNOWN_FOR)

    assert (restart.state, counts(acme)) == (State.DONE, [1, 0])
    assert steps(restart)[0].attempts == 2


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"ended_at": NOW},
        {"way": "hand"},
        {"attempts": 2},
        {"state": "restarted", "returned_at": NOW},
        {"state": "restarted", "returned_at": NOW, "serves_at": NOW},
    ],
    ids=["unknown", "ended", "by hand", "ordered twice", "restarted", "serves"],
)
def test_workers_that_come_back_late_look_before_they_order_again_or_give_up(
    acme: Scene, found: dict[str, Any]
) -> None:
    restart = request(acme, "pgpool-1")
    ordered(restart, acme)
    restart.steps.update(**found)
    acme.pgpools[0].restart()

    advance(restart, now=NOW + timedelta(days=8))

    assert (restart.state, counts(acme)) == (State.DONE, [1, 0]), restart.outcome


def test_late_workers_give_up_what_is_still_the_same(acme: Scene) -> None:
    restart = request(acme, "pgpool-1")
    ordered(restart, acme, ended_at=NOW)

    advance(restart, now=NOW + timedelta(hours=1))

    assert (restart.state, counts(acme)) == (State.FAILED, [0, 0])
    assert "the same pgpool still runs there" in restart.outcome


def test_a_pgpool_that_is_starting_is_not_told_again(acme: Scene) -> None:
    """It may look for its primary for minutes, and nobody knows what came of the command."""
    restart = request(acme, "pgpool-1")
    ordered(restart, acme)
    acme.pgpools[0].mode = "refuse"
    at = NOW + restart_rows.ORDER_UNKNOWN_FOR + timedelta(seconds=5)
    later = at + restart_rows.RETURNS_WITHIN

    advance(restart, now=at)
    assert (steps(restart)[0].silent_at, steps(restart)[0].attempts) == (at, 1)
    advance(restart, now=later - timedelta(seconds=20))
    assert (restart.state, steps(restart)[0].attempts) == (State.RUNNING, 1)
    acme.pgpools[0].mode = "ok"
    acme.pgpools[0].restart()
    advance(restart, now=later - timedelta(seconds=10))

    assert (restart.state, counts(acme)) == (State.DONE, [1, 0]), restart.outcome


def test_a_pgpool_that_stays_away_is_told_once_more(acme: Scene) -> None:
    restart = request(acme, "pgpool-1")
    ordered(restart, acme, silent_at=NOW)
    acme.pgpools[0].mode = "refuse"

    advance(restart, now=NOW + restart_rows.RETURNS_WITHIN)

    assert steps(restart)[0].attempts == 2


def test_a_worker_is_free_for_rollouts_while_a_pgpool_takes_long(acme: Scene, settings: Any) -> None:
    allow(settings, "true")
    restart, clock = request(acme), Clock(step_s=0.1)

    restart_steps.advance(restart_id=restart.pk, holder="worker", clock=clock, sleep=clock.sleep)

    restart.refresh_from_db()
    assert (restart.state, states(restart), restart.lease_holder) == (State.RUNNING, ["ordered", "pending"], "")
    assert restart.next_look_at is not None
    assert restart.next_look_at > clock.now
    assert NOW + timedelta(seconds=10) < clock.now < NOW + timedelta(seconds=20)
    assert restart_rows.due_restart_ids(now=clock.now) == []
    assert restart_rows.due_restart_ids(now=clock.now + timedelta(seconds=2)) == [restart.pk]


def test_a_worker_that_takes_over_has_time_to_read_back(acme: Scene) -> None:
    restart = request(acme, "pgpool-1")
    ordered(restart, acme)
    acme.pgpools[0].unknown = {"max_pool"}  # not in use yet
    acme.pgpools[0].restart()
    restart.steps.update(state="restarted", returned_at=NOW, serves_at=NOW)
    taken_over = NOW + restart_rows.LEASE + timedelta(seconds=5)

    assert advance(restart, now=taken_over).state == State.RUNNING
    acme.pgpools[0].unknown = set()
    acme.pgpools[0].restart()
    assert advance(restart, now=taken_over + timedelta(seconds=5)).state == State.DONE, restart.outcome


def test_a_lease_is_taken_by_one_worker(acme: Scene) -> None:
    restart = request(acme)

    assert restart_rows.take_lease(restart.pk, "one")
    assert not restart_rows.take_lease(restart.pk, "two")
    assert restart_rows.due_restart_ids(now=NOW) == []
