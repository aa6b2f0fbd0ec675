"""Rollouts whose worker dies, stands still or is overtaken: the rows tell another how to go on."""

import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.http import Http404
from django.utils import timezone

from apps.clusters.control import rollout_actions, rollout_rows, rollouts
from apps.clusters.control.rollout_actions import ActionFailed
from apps.clusters.models import Rollout, RolloutLog, RolloutStep
from tests.clusters.rollout_scene import NOW, OLD_WEIGHTS, Clock, Killed, Scene, conf_text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_patience")]

WANTED = {0: 0.0, 1: 1.0, 2: 3.0}
NEW_TEXT = conf_text(weights=("0", "1", "3"))


def forget_lease(rollout: Rollout) -> None:
    """As if the lease of a dead worker had run out."""
    Rollout.objects.filter(pk=rollout.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize("look", range(1, 16))
def test_a_worker_killed_at_any_point_is_continued_by_another(pair: Scene, look: int) -> None:
    """A look at the clock precedes every action and follows it, before the row that tells of it: 15 in this rollout."""
    rollout = pair.request()

    with pytest.raises(Killed):
        pair.advance(rollout, clock=Clock(killed_at=look), holder="first")
    assert pair.advance(rollout, holder="second").state not in {"verified", "failed"}  # the lease still holds
    forget_lease(rollout)
    pair.advance(rollout, holder="second")

    assert rollout.state == "verified"
    assert pair.states(rollout) == ["verified"] * 2
    assert pair.weights() == [WANTED] * 2
    assert pair.texts() == [conf_text(weights=("0", "1", "3"))] * 2


def test_an_action_that_kills_every_worker_is_given_up(pair: Scene) -> None:
    rollout = pair.request()
    rollout.steps.filter(position=0).update(attempts=15)

    pair.advance(rollout)

    assert rollout.state == "failed"
    assert "15 tries ended without an outcome" in rollout.halt_reason
    assert pair.texts() == [conf_text()] * 2


@pytest.mark.parametrize("after_halt", range(1, 6))
def test_a_worker_killed_while_restoring_is_continued_by_another(pair: Scene, after_halt: int) -> None:
    rollout = pair.request()
    turn_away, looks = pair.turns_away(rollout), 0

    def kill(look: int) -> None:
        nonlocal looks
        turn_away(look)
        looks += Rollout.objects.get(pk=rollout.pk).is_halting
        if looks == after_halt:
            pair.pgpools[1].mode = "ok"
            raise Killed

    with pytest.raises(Killed):
        pair.advance(rollout, clock=Clock(when_looked=kill), holder="first")
    forget_lease(rollout)
    pair.advance(rollout, clock=Clock(now=NOW + timedelta(minutes=5)), holder="second")

    assert rollout.state == "rolled_back"
    assert pair.states(rollout) == ["restored"] * 2
    assert pair.weights() == [OLD_WEIGHTS] * 2
    assert pair.texts() == [conf_text()] * 2


def test_an_instance_is_marked_as_touched_before_its_file_is_written(pair: Scene) -> None:
    rollout = pair.request()
    marks: list[tuple[bool, bool]] = []

    def look_closely(look: int) -> None:
        is_written = pair.texts()[0] != conf_text()
        marks.append((is_written, rollout.steps.get(position=0).is_touched))

    pair.advance(rollout, clock=Clock(when_looked=look_closely))

    assert (True, True) in marks
    assert (True, False) not in marks


def test_a_worker_that_lost_its_lease_stops_at_once(pair: Scene) -> None:
    rollout = pair.request()

    def take_over(look: int) -> None:
        if pair.texts()[0] != conf_text():
            Rollout.objects.filter(pk=rollout.pk).update(lease_holder="another")

    pair.advance(rollout, clock=Clock(when_looked=take_over))

    assert rollout.lease_holder == "another"
    assert pair.states(rollout) == ["pending", "pending"]
    assert pair.texts() == [conf_text(weights=("0", "1", "3")), conf_text()]
    assert pair.pgpools[0].reload_count == 0


def test_the_tick_finds_what_no_living_worker_holds(pair: Scene) -> None:
    rollout = pair.request()

    def due() -> list[int]:
        return rollout_rows.due_rollout_ids(now=NOW, restoring_for=rollouts.RESTORE_FOR)

    assert due() == [rollout.pk]
    assert rollout_rows.take_lease(rollout.pk, "first")
    assert due() == []
    assert not rollout_rows.take_lease(rollout.pk, "second")
    forget_lease(rollout)
    assert due() == [rollout.pk]
    assert rollout_rows.take_lease(rollout.pk, "second")


def due(*, later: timedelta = timedelta(0)) -> list[int]:
    return rollout_rows.due_rollout_ids(now=NOW + later, restoring_for=rollouts.RESTORE_FOR)


@pytest.mark.parametrize(("act", "stands"), [(rollout_actions.write, conf_text()), (rollout_actions.restore, NEW_TEXT)])
def test_a_worker_that_stood_still_until_its_lease_had_ended_writes_nothing(
    pair: Scene, act: Callable[[RolloutStep, float], object], stands: str
) -> None:
    """Another may have carried the rollout on meanwhile, and left a file that looks as if nobody had."""
    step = pair.request().steps.select_related("file", "instance__cluster__organisation").get(position=0)
    pair.confs[0].write_text(stands)

    with pytest.raises(ActionFailed, match="held up for too long"):
        act(step, time.monotonic() - 1)

    assert pair.texts()[0] == stands


def failed_rollout(pair: Scene) -> Rollout:
    """pgpool-2 has its old file back, and did not say that it uses it."""
    rollout = pair.request()
    pair.advance(rollout, clock=Clock(when_looked=pair.turns_away(rollout)))
    assert (rollout.state, pair.states(rollout)) == ("failed", ["restored", "restore_pending"])
    return rollout


def test_a_worker_killed_while_it_asks_about_an_old_file_is_replaced_too(pair: Scene) -> None:
    rollout = failed_rollout(pair)
    later = timedelta(minutes=5)

    with pytest.raises(Killed):
        pair.advance(rollout, clock=Clock(now=NOW + later, killed_at=2), holder="first")
    forget_lease(rollout)
    pair.pgpools[1].mode = "ok"

    assert due(later=later) == [rollout.pk]
    assert pair.advance(rollout, clock=Clock(now=NOW + later), holder="second").state == "rolled_back"


def test_asking_again_and_again_does_not_fill_the_log(pair: Scene) -> None:
    rollout = failed_rollout(pair)
    lines = RolloutLog.objects.count()

    for minutes in (5, 10):
        pair.advance(rollout, clock=Clock(now=NOW + timedelta(minutes=minutes)))

    assert RolloutLog.objects.count() == lines


def test_an_old_file_that_kills_every_worker_is_given_up(pair: Scene) -> None:
    rollout = pair.advance(pair.request())
    Rollout.objects.filter(pk=rollout.pk).update(state="running", finished_at=None, is_halting=True)
    rollout.steps.update(attempts=20)  # 15 of the reading back, at most, and 5 of its own

    pair.advance(rollout)

    assert rollout.state == "rolled_back"
    assert RolloutLog.objects.filter(rollout=rollout, text__contains="20 tries ended without an outcome").count() == 2


def test_cancelling_when_all_is_done_changes_nothing_and_says_so(pair: Scene) -> None:
    rollout = pair.request()

    def cancel(look: int) -> None:
        if rollout.steps.filter(position=1, state="reloaded", attempts=1).exists():
            rollouts.cancel(caller=pair.caller, rollout=rollout, now=NOW)

    pair.advance(rollout, clock=Clock(when_looked=cancel))

    assert (rollout.state, rollout.halt_reason) == ("verified", "")
    assert pair.weights() == [WANTED] * 2
    assert "the request to cancel came too late" in RolloutLog.objects.latest("pk").text


def test_a_rollout_that_was_removed_with_its_cluster_cannot_be_cancelled(pair: Scene) -> None:
    rollout = pair.request()
    Rollout.objects.all().delete()

    with pytest.raises(Http404, match="was removed with its cluster"):
        rollouts.cancel(caller=pair.caller, rollout=rollout, now=NOW)


def test_a_rollback_can_be_rolled_back(pair: Scene) -> None:
    first = pair.advance(pair.request())
    back = pair.advance(rollouts.request_rollback(caller=pair.caller, rollout=first, now=NOW))
    assert pair.weights() == [OLD_WEIGHTS] * 2

    again = pair.advance(rollouts.request_rollback(caller=pair.caller, rollout=back, now=NOW))

    assert (again.state, again.rollback_of) == ("verified", back)
    assert pair.weights() == [WANTED] * 2
    assert pair.texts() == [NEW_TEXT] * 2
