"""A canary, a hold, and then the rest, on real pgpools; what guards see goes bad there, too, and all goes back."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.clusters.control import rollouts, weight_change
from apps.clusters.models import BackendLatest, InstanceLatest, NodeLatest, Rollout
from deploy.lab import Lab
from tests.clusters.polling_scene import watching
from tests.lab.registered import register_lab
from tests.lab.test_rollouts_for_real import Registered

pytestmark = pytest.mark.django_db(transaction=True)

Wait = Callable[..., None]
FIRST, MOVED = [0.0, 0.5, 0.5], [0.0, 1.0, 0.0]
LIMIT_S = 1
# Nobody reads here, and a busy machine makes round trips slow: only what was lost, lags and errors are watched.
GUARDS = {"latency_factor": None, "shares": False, "aborted": None}


@pytest.fixture
def orders(restored_lab: Lab, settings: Any, transactional_db: None, wait_until: Wait) -> Iterator[Registered]:
    """Watched, and seen to be well: what a hold begins with."""
    found = Registered(restored_lab, *register_lab(restored_lab, settings))
    with watching():
        wait_until(is_well, "all is seen to be well")
        yield found


def is_well() -> bool:
    """Every pgpool answers and tells its counters, and neither standby is behind."""
    counted = NodeLatest.objects.filter(error_count__isnull=False, select_count__isnull=False).count()
    behind = [lag is None or lag >= LIMIT_S for lag in lags().values()]
    return InstanceLatest.objects.filter(state="answering").count() == 3 and counted == 9 and behind == [False] * 2


def lags() -> dict[str, float | None]:
    found = BackendLatest.objects.filter(backend__node_id__gt=0)
    return dict(found.values_list("backend__application_name", "replay_lag_s"))


def after_the_canary(orders: Registered, *, hold_s: int, **guards: Any) -> Rollout:
    """A rollout in the hold after pgpool-2, which alone has the new file."""
    plan = {"strategy": "canary", "canary": "pgpool-2", "hold_s": hold_s, "guards": {**GUARDS, **guards}}
    rollout = weight_change.request_weights(
        caller=orders.caller, cluster=orders.cluster, weights={"0": 0, "1": 1, "2": 0}, plan=plan, now=timezone.now()
    )
    orders.advance(rollout)
    assert orders.states(rollout) == ["verified", "pending", "pending"], orders.story(rollout)
    assert orders.shown_weights() == [FIRST, MOVED, FIRST]
    return rollout


def advance_later(orders: Registered, rollout: Rollout, by: timedelta) -> None:
    def clock() -> datetime:
        return timezone.now() + by

    rollouts.advance(rollout_id=rollout.pk, holder="later", clock=clock)
    rollout.refresh_from_db()


def fall_behind(orders: Registered, rollout: Rollout, wait_until: Wait) -> None:
    """pg3 replays nothing any more, and the guards of a hold of an hour look at it, as they do once a minute."""
    orders.lab.pause_replay("pg3")
    with orders.lab.backends.connect(orders.lab.plan.backends[0], "shop") as connection:

        def is_behind() -> bool:
            connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id <= 10")
            return (lags()["pg3"] or 0) > LIMIT_S

        wait_until(is_behind, "pg3 is seen to be behind")

        advance_later(orders, rollout, timedelta(seconds=61))


def test_the_others_follow_a_canary_once_its_hold_was_good(orders: Registered, wait_until: Wait) -> None:
    rollout = after_the_canary(orders, hold_s=6)
    held_since, held_until = rollout.hold_started_at, rollout.hold_ends_at
    assert held_since is not None
    assert held_until is not None
    asked_since = {"polled_at__gte": held_since}
    wait_until(
        lambda: (
            InstanceLatest.objects.filter(**asked_since).count() == 3
            and BackendLatest.objects.filter(**asked_since).count() == 3
        ),
        "everybody was asked during the hold",
    )

    advance_later(orders, rollout, max(held_until - timezone.now(), timedelta()))

    assert rollout.state == "verified", orders.story(rollout)
    assert orders.shown_weights() == [MOVED] * 3
    assert "The hold is over; the next pgpools follow." in orders.story(rollout)
    others = rollout.steps.exclude(instance_name="pgpool-2")
    assert min(others.values_list("written_at", flat=True)) >= held_until


def test_a_standby_that_falls_behind_during_the_hold_gives_the_canary_its_old_file_back(
    orders: Registered, wait_until: Wait
) -> None:
    rollout = after_the_canary(orders, hold_s=3600, replay_lag_s=LIMIT_S)

    fall_behind(orders, rollout, wait_until)

    assert rollout.state == "rolled_back", orders.story(rollout)
    assert rollout.halt_reason.startswith("Bad by the guard on replay lag: pg3 is ")
    assert rollout.halt_reason.endswith(f" s behind, allowed are {LIMIT_S} s.")
    assert orders.states(rollout) == ["restored", "skipped", "skipped"]
    assert orders.shown_weights() == [FIRST] * 3


def test_a_standby_that_falls_behind_after_the_last_ones_gives_all_their_old_files_back(
    orders: Registered, wait_until: Wait
) -> None:
    guards = {**GUARDS, "replay_lag_s": LIMIT_S}
    plan = {"strategy": "all_at_once", "hold_s": 3600, "hold_last": True, "guards": guards}
    rollout = weight_change.request_weights(
        caller=orders.caller, cluster=orders.cluster, weights={"0": 0, "1": 1, "2": 0}, plan=plan, now=timezone.now()
    )
    orders.advance(rollout)
    assert (rollout.state, orders.states(rollout)) == ("running", ["verified"] * 3), orders.story(rollout)
    assert orders.shown_weights() == [MOVED] * 3

    fall_behind(orders, rollout, wait_until)

    assert rollout.state == "rolled_back", orders.story(rollout)
    assert rollout.halt_reason.startswith("Bad by the guard on replay lag: pg3 is ")
    assert orders.states(rollout) == ["restored"] * 3
    assert orders.shown_weights() == [FIRST] * 3
