"""Attach, detach and drain: what pgpool shows afterwards counts, and any worker goes on where another one died."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import AuditEntry
from apps.clusters.control import (
    backend_operation_rows,
    backend_operation_steps,
    backend_operations,
    writes_switch,
)
from apps.clusters.control.backend_operation_rows import OperationRunning
from apps.clusters.control.backend_operations import OperationInvalid, OperationRefused
from apps.clusters.control.rollout_rows import RolloutRunning
from apps.clusters.control.writes import WritesStopped
from apps.clusters.models import BackendOperation, ClusterEvent, Rollout
from tests.clusters.callers_at_doors import member
from tests.clusters.rollout_scene import NOW, Clock, Killed, Scene
from tests.fake_show import FakeClient

pytestmark = pytest.mark.django_db

State = BackendOperation.State


def request(pair: Scene, kind: str, *, node_id: int = 2, **wanted: Any) -> BackendOperation:
    backend = pair.cluster.backends.get(node_id=node_id)
    return backend_operations.request(
        caller=pair.caller, cluster=pair.cluster, backend=backend, kind=kind, now=NOW, **wanted
    )


def advance(
    operation: BackendOperation, *, now: datetime = NOW, holder: str = "worker", clock: Clock | None = None
) -> BackendOperation:
    clock = clock or Clock(now=now, step_s=0)
    backend_operation_steps.advance(operation_id=operation.pk, holder=holder, clock=clock, sleep=clock.sleep)
    operation.refresh_from_db()
    return operation


def statuses(pair: Scene, node_id: int = 2) -> list[str]:
    return [pgpool.backends[node_id].status for pgpool in pair.pgpools]


def asked(pair: Scene) -> list[list[str]]:
    return [[each for each in pgpool.received if each.startswith("pcp ")] for pgpool in pair.pgpools]


def drained(pair: Scene, **wanted: Any) -> BackendOperation:
    """Its weight is gone everywhere: the next look counts sessions."""
    operation = request(pair, "drain", **wanted)
    assert operation.rollout is not None
    pair.advance(operation.rollout)
    return operation


def test_a_detach_is_done_when_every_pgpool_shows_it(pair: Scene) -> None:
    operation = advance(request(pair, "detach", reason="new disk"))

    assert (operation.state, operation.outcome) == (State.DONE, "pg3 is down at pgpool-1 and pgpool-2.")
    assert statuses(pair) == ["down", "down"]
    receipts = [step.receipt for step in operation.steps.order_by("position")]
    assert [(one["before"]["status"], one["after"]["status"], one["pcp"]) for one in receipts] == [
        ("up", "down", "Command Successful")
    ] * 2
    assert AuditEntry.objects.get(action="backend.detach.requested").after["reason"] == "new disk"
    titles = list(ClusterEvent.objects.order_by("pk").values_list("title", "node_id"))
    assert titles == [("Detach of pg3 requested by Ann", 2), ("Detach of pg3: done", 2)]


def test_an_attach_is_read_back_too(pair: Scene) -> None:
    operation = request(pair, "detach")
    # Its servers are fakes that no PostgreSQL stands behind: whether it may be attached is asked in the lab.
    BackendOperation.objects.update(kind="attach", checked_at=NOW)
    pair.pgpools[1].backends[2].status = "down"

    advance(operation)

    assert operation.state == State.DONE
    assert statuses(pair) == ["up", "up"]
    assert asked(pair) == [[], ["pcp attach 2"]]


def test_command_successful_proves_nothing(pair: Scene) -> None:
    pair.pgpools[0].mode = "deaf"
    operation = request(pair, "detach")
    operation.steps.filter(position=0).update(attempts=2)  # one try is left

    advance(operation)

    assert operation.state == State.FAILED
    assert "confirmed down at pgpool-2" in operation.outcome
    assert "SHOW POOL_NODES shows it as up" in operation.outcome
    assert statuses(pair) == ["up", "down"]


def test_who_takes_over_looks_before_it_acts(pair: Scene) -> None:
    operation = request(pair, "detach")
    backend_operation_rows.take_lease(operation.pk, "died")
    pair.pgpools[0].backends[2].status = "down"  # done, and never stored
    operation.steps.filter(position=0).update(attempts=1)

    assert advance(operation).state == State.ACTING  # the lease is another one's
    BackendOperation.objects.update(lease_expires_at=None)
    advance(operation)

    assert operation.state == State.DONE
    assert asked(pair) == [[], ["pcp detach 2"]]


@pytest.mark.parametrize("look", range(1, 7))
def test_a_worker_killed_anywhere_leaves_nothing_stuck(pair: Scene, look: int) -> None:
    operation = request(pair, "detach")
    clock = Clock(step_s=0, killed_at=look)
    try:
        backend_operation_steps.advance(operation_id=operation.pk, holder="dies", clock=clock, sleep=clock.sleep)
    except Killed:
        BackendOperation.objects.update(lease_expires_at=None)

    assert advance(operation, holder="next").state == State.DONE
    assert statuses(pair) == ["down", "down"]


def test_a_drain_waits_for_the_sessions_of_before_and_detaches_then(pair: Scene) -> None:
    pair.pgpools[0].clients = [FakeClient(1), FakeClient(2), FakeClient(3, username="lifeguard", database="postgres")]
    operation = drained(pair)

    advance(operation)
    assert operation.state == State.WAITING
    assert backend_operations.sessions_left(operation) == 2  # the third is our own
    assert [pgpool.weights[2] for pgpool in pair.pgpools] == [0, 0]

    pair.pgpools[0].clients = [FakeClient(2), FakeClient(1, began="later")]
    advance(operation, now=NOW + timedelta(seconds=5))
    assert backend_operations.sessions_left(operation) == 1

    pair.pgpools[0].clients = [FakeClient(1, began="later")]
    advance(operation, now=NOW + timedelta(seconds=10))
    assert (operation.state, statuses(pair)) == (State.DONE, ["down", "down"])


def test_sessions_that_are_not_counted_are_not_taken_for_none(pair: Scene) -> None:
    operation = drained(pair)
    pair.pgpools[1].mode = "refuse"

    advance(operation)

    assert operation.state == State.WAITING
    assert backend_operations.sessions_left(operation) is None
    assert operation.steps.get(position=1).sessions_reason


def test_a_drain_that_lasts_too_long_asks_and_goes_on_when_told(pair: Scene) -> None:
    pair.pgpools[0].clients = [FakeClient(1)]
    operation = drained(pair, wait_limit_s=60)
    advance(operation)

    advance(operation, now=NOW + timedelta(seconds=61))
    assert operation.state == State.ASKING
    backend_operations.go_on(caller=pair.caller, operation=operation, now=NOW)
    advance(operation, now=NOW + timedelta(seconds=62))

    assert (operation.state, statuses(pair)) == (State.DONE, ["down", "down"])


@pytest.mark.parametrize("is_verified", [False, True])
def test_a_cancelled_drain_gives_the_weights_back(pair: Scene, is_verified: bool) -> None:
    before = pair.weights()
    pair.pgpools[0].clients = [FakeClient(1)]
    operation = drained(pair) if is_verified else request(pair, "drain")
    advance(operation)

    operation = backend_operations.cancel(caller=pair.caller, operation=operation, now=NOW)
    if not is_verified:  # the second one who cancels finds it done
        backend_operations.cancel(caller=pair.caller, operation=operation, now=NOW)
    for rollout in Rollout.objects.filter(state__in=Rollout.ACTIVE):
        pair.advance(rollout)
    operation = advance(operation)

    assert operation.state == State.CANCELLED
    assert AuditEntry.objects.filter(action="backend.drain.cancelled").count() == 1
    assert (operation.way_back is not None) == is_verified
    assert pair.weights() == before
    assert statuses(pair) == ["up", "up"]


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_drain_that_is_cancelled_while_its_rollout_verifies_gives_the_weights_back(
    pair: Scene, is_killed: bool
) -> None:
    """Every pgpool has its new weights, and the rollout is about to say so: it is too late to cancel that one."""
    before, operation = pair.weights(), request(pair, "drain")
    assert operation.rollout is not None
    rollout = operation.rollout

    def cancel_at_the_end(_look: int) -> None:
        if pair.states(rollout) == ["verified"] * 2 and not BackendOperation.objects.get().cancelled_by_name:
            backend_operations.cancel(caller=pair.caller, operation=operation, now=NOW)

    pair.advance(rollout, clock=Clock(when_looked=cancel_at_the_end))
    assert rollout.state == "verified"
    if is_killed:
        with pytest.raises(Killed):
            advance(operation, clock=Clock(killed_at=2))
        BackendOperation.objects.update(lease_expires_at=None)
    operation = advance(operation, holder="another")
    for active in Rollout.objects.filter(state__in=Rollout.ACTIVE):
        pair.advance(active)

    assert (operation.state, operation.way_back is not None) == (State.CANCELLED, True)
    assert operation.outcome == f"Cancelled by Ann. Rollout #{operation.way_back_id} gives the weights back."
    assert pair.weights() == before
    assert statuses(pair) == ["up", "up"]


def test_a_cancelled_drain_waits_for_writes_to_give_the_weights_back(pair: Scene) -> None:
    before, operation = pair.weights(), request(pair, "drain")
    assert operation.rollout is not None
    BackendOperation.objects.update(cancelled_by=pair.caller.user, cancelled_by_name="Ann")
    pair.advance(operation.rollout)
    writes_switch.stop(caller=pair.caller, reason="", now=NOW)

    operation = advance(operation)
    assert (operation.state, operation.way_back) == (State.WEIGHING, None)
    assert "stopped by Ann" in operation.outcome
    writes_switch.allow(caller=member("admin"), reason="", now=NOW)
    operation = advance(operation, now=NOW + timedelta(seconds=5))
    pair.advance(operation.way_back)

    assert operation.state == State.CANCELLED
    assert pair.weights() == before


def test_a_drain_whose_rollout_does_not_end_well_detaches_nothing(pair: Scene) -> None:
    operation = request(pair, "drain")
    Rollout.objects.update(state="rolled_back")

    advance(operation)

    assert operation.state == State.FAILED
    assert "did not end as verified, so nothing was detached" in operation.outcome
    assert statuses(pair) == ["up", "up"]


def test_what_changed_since_it_was_asked_for_stops_it(pair: Scene) -> None:
    operation = request(pair, "detach")
    for pgpool in pair.pgpools:
        pgpool.backends[0].status = pgpool.backends[1].status = "down"

    advance(operation)

    assert (operation.state, statuses(pair)) == (State.FAILED, ["up", "up"])
    assert "last backend that is up" in operation.outcome


def test_a_pgpool_that_was_silent_when_asked_and_holds_it_for_the_primary_is_not_told(pair: Scene) -> None:
    operation = request(pair, "detach")
    BackendOperation.objects.update(checked_at=NOW)
    pair.pgpools[1].backends[2].role = "primary"

    advance(operation)

    assert (operation.state, statuses(pair)) == (State.FAILED, ["down", "up"])
    assert "pgpool-2: it holds the backend for its primary, and would fail over" in operation.outcome
    assert asked(pair) == [["pcp detach 2"], []]


def test_one_thing_at_a_time_is_done_to_a_cluster(pair: Scene) -> None:
    rollout = pair.request()
    with pytest.raises(RolloutRunning):
        request(pair, "detach")
    pair.advance(rollout)

    request(pair, "detach")
    with pytest.raises(OperationRunning, match="Detach of pg3 is under way"):
        request(pair, "detach", node_id=1)
    with pytest.raises(OperationRunning):
        pair.request()
    assert BackendOperation.objects.count() == 1


def test_stopped_writes_hold_it_up_and_count_no_try(pair: Scene) -> None:
    operation = request(pair, "detach")
    writes_switch.stop(caller=pair.caller, reason="storm", now=NOW)

    advance(operation)
    assert (operation.state, statuses(pair)) == (State.ACTING, ["up", "up"])
    assert "All writes were stopped by Ann: storm." in operation.outcome
    with pytest.raises(WritesStopped):
        request(pair, "detach", node_id=1)

    writes_switch.allow(caller=member("admin"), reason="over", now=NOW)
    advance(operation, now=NOW + timedelta(seconds=5))
    assert (operation.state, [step.attempts for step in operation.steps.all()]) == (State.DONE, [1, 1])


@pytest.mark.parametrize(
    ("kind", "node_id", "said"),
    [
        ("detach", 0, "pg1 is the primary"),
        ("attach", 2, "PostgreSQL of pg3 does not answer"),
        ("drain", 2, "No other backend has a weight at pgpool-1"),
    ],
)
def test_a_refusal_stores_nothing(pair: Scene, kind: str, node_id: int, said: str) -> None:
    for conf in pair.confs:
        conf.write_text(conf.read_text().replace("backend_weight1 = 1", "backend_weight1 = 0"))

    with pytest.raises(OperationRefused, match=said):
        request(pair, kind, node_id=node_id)

    assert not BackendOperation.objects.exists()
    assert not Rollout.objects.exists()


def test_a_cluster_that_is_only_observed_is_left_alone(pair: Scene) -> None:
    pair.cluster.instances.filter(name="pgpool-2").update(
        delivery_kind="observe", delivery_path="", delivery_target=None
    )

    with pytest.raises(OperationRefused, match="pgpool-2: registered as observe only"):
        request(pair, "detach")

    assert statuses(pair) == ["up", "up"]


@pytest.mark.parametrize(
    ("given", "field"),
    [({"reason": "x" * 501}, "reason"), ({"reason": "\0"}, "reason"), ({"wait_limit_s": -1}, "wait_limit_s")],
)
def test_odd_requests_are_refused_by_field(pair: Scene, given: dict[str, Any], field: str) -> None:
    with pytest.raises(OperationInvalid) as caught:
        request(pair, "detach", **given)

    assert caught.value.field == field


def test_only_a_drain_that_still_waits_can_be_cancelled_or_go_on(pair: Scene) -> None:
    operation = request(pair, "detach")

    with pytest.raises(OperationRefused, match="only a drain"):
        backend_operations.cancel(caller=pair.caller, operation=operation, now=NOW)
    with pytest.raises(OperationRefused, match="does not wait for sessions"):
        backend_operations.go_on(caller=pair.caller, operation=operation, now=NOW)
