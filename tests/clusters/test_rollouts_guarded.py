"""What pollers store during the hold of a rollout lets it go on, halts it, or pauses it."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.clusters.control import rollout_guards, rollout_holds, rollouts
from apps.clusters.history.append import BackendSampleRow, InstanceSampleRow, append
from apps.clusters.models import BackendLatest, ClusterEvent, InstanceLatest, NodeLatest, Rollout, RolloutLog
from tests.clusters.rollout_scene import OLD_WEIGHTS, Clock, Scene
from tests.clusters.seen_cluster import poll

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_patience")]

WANTED = {0: 0.0, 1: 1.0, 2: 3.0}
# Shares, round trips and cancelled reads have samples of their own, and tables of cases in the domain.
LOST = "Bad by the guard on what is lost: pgpool-2 was lost since."
GUARDS = {"latency_factor": None, "shares": False, "aborted": None}
PLAN = {"strategy": "canary", "hold_s": 60, "guards": GUARDS}


def held(pair: Scene, clock: Clock, plan: dict[str, Any] = PLAN) -> Rollout:
    """A rollout in the hold after its canary, with everything as it should be."""
    poll(pair.cluster, seen_at=clock.now, since=clock.now - timedelta(hours=1))
    NodeLatest.objects.update(error_count=0, select_count=1000)
    rollout = pair.advance(pair.request(plan=plan), clock=clock)
    assert pair.states(rollout) == ["verified", "pending"]
    return rollout


def polled_again(clock: Clock) -> None:
    """Every pgpool and backend was asked just now, and nothing has changed."""
    InstanceLatest.objects.update(polled_at=clock.now)
    BackendLatest.objects.update(polled_at=clock.now)


def test_what_stays_good_goes_on(pair: Scene) -> None:
    clock = Clock()
    rollout = held(pair, clock)

    for _ in range(3):
        clock.sleep(25)
        polled_again(clock)
        pair.advance(rollout, clock=clock)

    assert rollout.state == "verified"
    assert pair.weights() == [WANTED] * 2
    lines = list(RolloutLog.objects.filter(rollout=rollout, text__startswith="Guards: ").values_list("text", flat=True))
    assert lines[0] == (
        "Guards: no pgpool and no backend was lost (good); replay lag at most 0.2 s (good); "
        "0 errors beside 0 reads at pgpool-1 (good)."
    )


def test_a_pgpool_that_is_lost_meanwhile_halts_it_and_the_old_file_comes_back(pair: Scene) -> None:
    clock = Clock()
    rollout = held(pair, clock)
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(state="unreachable", state_since=clock.now)

    clock.sleep(10)
    pair.advance(rollout, clock=clock)

    assert (rollout.state, rollout.halt_reason) == ("rolled_back", LOST)
    assert pair.weights() == [OLD_WEIGHTS] * 2
    assert RolloutLog.objects.filter(
        rollout=rollout, text__startswith="Halted, the old files are put back. Bad by"
    ).exists()


def test_a_way_back_is_paused_by_what_is_bad_and_never_undone(pair: Scene) -> None:
    clock = Clock()
    first = pair.advance(pair.request(), clock=clock)
    poll(pair.cluster, seen_at=clock.now, since=clock.now - timedelta(hours=1))
    NodeLatest.objects.update(error_count=0, select_count=1000)
    back = rollouts.request_rollback(caller=pair.caller, rollout=first, plan=PLAN, now=clock.now)
    pair.advance(back, clock=clock)
    assert pair.states(back) == ["verified", "pending"]
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(state="unreachable", state_since=clock.now)

    clock.sleep(10)
    pair.advance(back, clock=clock)

    reason = "What was seen since is bad by the guard on what is lost: pgpool-2 was lost since."
    assert (back.state, back.is_halting, back.pause_reason) == ("paused", False, reason)
    assert ClusterEvent.objects.latest("pk").title.endswith("paused by its guards")
    assert pair.weights() == [OLD_WEIGHTS, WANTED]
    rollout_holds.resume(caller=pair.caller, rollout=back, now=clock.now)
    pair.advance(back, clock=clock)
    assert (back.state, pair.weights()) == ("verified", [OLD_WEIGHTS] * 2)


def test_errors_that_grow_halt_it(pair: Scene) -> None:
    clock = Clock()
    rollout = held(pair, clock)
    NodeLatest.objects.filter(instance__name="pgpool-1", node_id=1).update(error_count=30, select_count=1100)

    clock.sleep(10)
    pair.advance(rollout, clock=clock)

    assert rollout.state == "rolled_back"
    assert rollout.halt_reason == (
        "Bad by the guard on errors per read: 30 errors beside 100 reads at pgpool-1, usual were 0.1 for 100 reads, "
        "at most 3 times as many are allowed."
    )


def cancelled(pair: Scene, counts: Mapping[datetime, int]) -> None:
    """Samples of what pg2 counted; pg3 cancels nothing, and pg1 is the primary."""
    pg1, pg2, pg3 = pair.cluster.backends.order_by("node_id")
    rows = [
        BackendSampleRow(backend.pk, at, True, backend != pg1, aborted_count=count)
        for at, total in counts.items()
        for backend, count in ((pg1, total), (pg2, total), (pg3, 7))
    ]
    append(backends=rows)


WATCHED = {**PLAN, "guards": {**GUARDS, "aborted": 3}}


def test_cancelled_reads_that_grow_halt_it(pair: Scene) -> None:
    clock = Clock()
    cancelled(pair, {clock.now - timedelta(minutes=20): 100, clock.now - timedelta(minutes=10): 120})
    rollout = held(pair, clock, WATCHED)
    cancelled(pair, {clock.now + timedelta(seconds=1): 120, clock.now + timedelta(seconds=9): 150})

    clock.sleep(10)
    pair.advance(rollout, clock=clock)

    assert rollout.state == "rolled_back"
    assert rollout.halt_reason == (
        "Bad by the guard on cancelled reads: 30 reads cancelled at pg2, 30 a minute, usual were 2 a minute, at most 3 "
        "times as many are allowed."
    )


def test_cancelled_reads_as_before_let_it_go_on_and_a_counter_set_back_pauses_it(pair: Scene) -> None:
    clock = Clock()
    cancelled(pair, {clock.now - timedelta(minutes=20): 100, clock.now - timedelta(minutes=10): 200})
    rollout = held(pair, clock, WATCHED)
    cancelled(pair, {clock.now + timedelta(seconds=1): 200, clock.now + timedelta(seconds=9): 220})
    clock.sleep(10)
    polled_again(clock)

    pair.advance(rollout, clock=clock)

    lines = list(RolloutLog.objects.filter(rollout=rollout, text__startswith="Guards: ").values_list("text", flat=True))
    assert "20 reads cancelled at pg2; 0 reads cancelled at pg3 (good)" in lines[0]
    cancelled(pair, {clock.now: 4})
    clock.sleep(61)
    polled_again(clock)
    pair.advance(rollout, clock=clock)
    assert rollout.state == "paused"
    assert "pg2: its counter of cancelled reads was set back" in rollout.pause_reason


def timed(pair: Scene, clock: Clock, *probe_ms: float) -> None:
    """Round trips of the latest seconds through each pgpool, by its name."""
    rows = [
        InstanceSampleRow(instance.pk, clock.now - timedelta(seconds=second), True, probe_ms=one)
        for instance, one in zip(pair.instances, probe_ms, strict=True)
        for second in range(8)
    ]
    append(instances=rows)


def test_a_load_that_slows_every_pgpool_pauses_it_and_takes_nothing_back(pair: Scene) -> None:
    clock = Clock()
    timed(pair, clock, 8.0, 8.0)
    rollout = held(pair, clock, {**PLAN, "guards": {**GUARDS, "latency_factor": 5}})
    clock.sleep(61)
    polled_again(clock)
    timed(pair, clock, 90.0, 90.0)

    pair.advance(rollout, clock=clock)

    assert rollout.state == "paused"
    assert "pgpool-2 slowed alike" in rollout.pause_reason
    assert pair.weights()[0] == WANTED


def test_one_that_slows_alone_with_its_new_file_halts_it(pair: Scene) -> None:
    clock = Clock()
    timed(pair, clock, 8.0, 8.0)
    rollout = held(pair, clock, {**PLAN, "guards": {**GUARDS, "latency_factor": 5}})
    clock.sleep(61)
    polled_again(clock)
    timed(pair, clock, 90.0, 8.0)

    pair.advance(rollout, clock=clock)

    assert rollout.state == "rolled_back"
    assert rollout.halt_reason.startswith(
        "Bad by the guard on round trips: round trip 90.0 ms through pgpool-1, 8.0 ms"
    )


def test_those_of_earlier_waves_are_compared_with_too(pair: Scene) -> None:
    rollout = pair.advance(pair.request(plan={"strategy": "one_by_one"}))

    assert rollout_guards.just_written(rollout) == {pair.instances[1].pk}


def test_too_little_traffic_pauses_it_and_a_person_lets_it_go_on(pair: Scene) -> None:
    clock = Clock()
    rollout = held(pair, clock, {**PLAN, "guards": {"latency_factor": None, "aborted": None}})

    clock.sleep(60)
    pair.advance(rollout, clock=clock)

    assert (rollout.state, rollout.paused_by_name) == ("paused", "")
    assert "needs about" in rollout.pause_reason
    assert "more sessions" in rollout.pause_reason
    assert ClusterEvent.objects.latest("pk").title.endswith("paused by its guards")
    pair.advance(rollout, clock=clock)
    assert pair.states(rollout) == ["verified", "pending"]

    rollout_holds.resume(caller=pair.caller, rollout=rollout, now=clock.now)
    pair.advance(rollout, clock=clock)

    assert rollout.state == "verified"


@pytest.mark.parametrize("polled_until_s", [0, 30])
def test_where_nobody_polls_nothing_is_good_and_it_pauses(pair: Scene, polled_until_s: int) -> None:
    """The pollers died before the hold began, or amid it."""
    clock = Clock()
    rollout = held(pair, clock)

    if polled_until_s:
        clock.sleep(polled_until_s)
        polled_again(clock)
    clock.sleep(61 - polled_until_s)
    pair.advance(rollout, clock=clock)

    assert (rollout.state, pair.states(rollout)) == ("paused", ["verified", "pending"])
    assert rollout.pause_reason == (
        "Too little was seen to say that it is good: pgpool-1, pgpool-2, pg1, pg2, pg3 were not polled since, or not "
        "lately; pg2, pg3 were not polled since, or not lately; pgpool-1 was not polled since, or not lately."
    )


def test_a_single_pgpool_that_is_not_polled_is_named(pair: Scene) -> None:
    clock = Clock()
    rollout = held(pair, clock)
    clock.sleep(61)
    polled_again(clock)
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(polled_at=clock.now - timedelta(seconds=50))

    pair.advance(rollout, clock=clock)

    assert rollout.pause_reason == (
        "Too little was seen to say that it is good: pgpool-2 was not polled since, or not lately."
    )
