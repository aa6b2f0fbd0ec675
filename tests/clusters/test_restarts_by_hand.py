"""Restarts that a person carries out: asked for, seen, and not waited for for ever."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import restart_rows, writes_switch
from apps.clusters.models import ClusterEvent, RollingRestart
from apps.clusters.queries.restarts import restart_answer
from tests.clusters.callers_at_doors import member
from tests.clusters.restart_scene import advance, request, restarting, states
from tests.clusters.rollout_scene import NOW, Scene

pytestmark = pytest.mark.django_db
State = RollingRestart.State


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    """Two pgpools, none of which has a restart command. Nobody has to begin with one for two hours."""
    with restarting(tmp_path, settings) as found:
        found.cluster.instances.update(restart_command="", longest_wait_h=2)
        yield found


def test_by_hand_it_says_when_and_sees_it(acme: Scene) -> None:
    restart = advance(request(acme, "pgpool-2"))

    assert (restart.state, states(restart)) == (State.RUNNING, ["ordered"])
    assert ClusterEvent.objects.filter(title="restart pgpool-2 now").exists()
    acme.pgpools[1].reload()
    assert advance(restart, now=NOW + timedelta(seconds=5)).state == State.RUNNING
    acme.pgpools[1].restart()

    assert advance(restart, now=NOW + timedelta(seconds=10)).state == State.DONE
    assert advance(restart).outcome == "pgpool-2 was restarted and uses its file."


def test_by_hand_it_does_not_wait_for_ever(acme: Scene) -> None:
    restart = advance(request(acme, "pgpool-2"))

    advance(restart, now=NOW + timedelta(hours=2))

    assert (restart.state, restart.outcome.split(". ")[0]) == (State.FAILED, "Nobody restarted pgpool-2 within 2 h")


def test_by_hand_its_time_begins_anew_once_stopped_writes_are_allowed_again(acme: Scene) -> None:
    restart = advance(request(acme, "pgpool-2"))
    writes_switch.stop(caller=acme.caller, reason="storm", now=NOW + timedelta(hours=1))

    assert advance(restart, now=NOW + timedelta(hours=5)).state == State.RUNNING
    assert restart_answer(restart=restart, caller=acme.caller)["sentence"] == (
        "pgpool-2 waits to be restarted by hand. All writes were stopped by Ann: storm. The time for it, 2 h, begins "
        "anew once they are allowed again. 0 of 1 pgpools restarted."
    )
    assert restart_rows.away_for(acme.instances[1].pk, now=NOW + timedelta(hours=5)) is not None

    writes_switch.allow(caller=member("admin"), reason="over", now=NOW + timedelta(hours=6))
    assert advance(restart, now=NOW + timedelta(hours=7.9)).state == State.RUNNING
    assert restart_answer(restart=restart, caller=acme.caller)["sentence"].startswith("Restart pgpool-2 now:")
    assert advance(restart, now=NOW + timedelta(hours=8)).state == State.FAILED


def test_by_hand_it_is_seen_while_writes_are_stopped_too(acme: Scene) -> None:
    restart = advance(request(acme, "pgpool-2"))
    writes_switch.stop(caller=acme.caller, reason="storm", now=NOW)
    acme.pgpools[1].restart()

    assert advance(restart, now=NOW + timedelta(days=9)).state == State.DONE
