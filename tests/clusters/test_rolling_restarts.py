"""Rolling restarts: one pgpool after the other, seen to be another run, and read back."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from apps.accounts.models import AuditEntry
from apps.clusters.control import backend_operations, restart_steps, restarts, writes_switch
from apps.clusters.control.parameter_change import Wish, request_change
from apps.clusters.control.restart_rows import RestartRunning
from apps.clusters.control.restarts import RestartInvalid, RestartRefused
from apps.clusters.control.rollout_rows import RolloutRunning
from apps.clusters.control.writes import WritesStopped
from apps.clusters.models import (
    ClusterEvent,
    InstanceConfig,
    PendingRestart,
    PgpoolInstance,
    RestartStep,
    RollingRestart,
)
from apps.clusters.registry import instance_changes
from apps.clusters.registry.registry_locks import RegistryConflict
from controlplane.environment import RestartCommand
from tests.clusters.callers_at_doors import member
from tests.clusters.restart_scene import (
    COMMAND,
    advance,
    allow,
    counts,
    request,
    restarting,
    states,
    steps,
    until_it_ends,
)
from tests.clusters.rollout_scene import NOW, Clock, Scene
from tests.clusters.test_renumbered import SWAPPED, swap

pytestmark = pytest.mark.django_db

State = RollingRestart.State


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with restarting(tmp_path, settings) as found:
        yield found


def roll_out(acme: Scene) -> None:
    """The same once more, as a rollout that ended well."""
    wish = Wish({"max_pool": "8", "delay_threshold": "2000"})
    rollout = request_change(caller=acme.caller, cluster=acme.cluster, wish=wish, now=NOW)
    assert acme.advance(rollout).state == "verified"
    assert PendingRestart.objects.count() == 2


def test_every_pgpool_that_waits_is_restarted_and_read_back(acme: Scene) -> None:
    roll_out(acme)
    restart = advance(request(acme))

    assert (restart.state, states(restart)) == (State.DONE, ["done", "done"]), restart.outcome
    assert restart.outcome == "pgpool-1 and pgpool-2 were restarted and use their files."
    assert counts(acme) == [1, 1]
    assert not PendingRestart.objects.exists()
    first = steps(restart)[0]
    assert first.parameters == ["max_pool"]
    receipt = first.receipt
    assert (receipt["command"]["code"], receipt["command"]["said"]) == (0, "restarting")
    assert receipt["checked"]["answering"] == ["pgpool-2"]
    assert not set(receipt["checked"]["generation"]["children"]) & set(receipt["generation"]["children"])
    assert receipt["out_of_service_s"] is not None
    [max_pool] = [one for one in receipt["read_back"]["parameters"] if one["name"] == "max_pool"]
    assert (max_pool["state"], set(max_pool["seen"])) == ("live", {"8"})
    titles = list(ClusterEvent.objects.filter(kind="restart").order_by("pk").values_list("title", flat=True))
    assert titles == [
        f"restart #{restart.pk} of pgpool-1 and pgpool-2 requested by Ann",
        "pgpool-1 is being restarted",
        "pgpool-1 was restarted and uses its file",
        "pgpool-2 is being restarted",
        "pgpool-2 was restarted and uses its file",
        f"restart #{restart.pk} of pgpools done",
    ]
    entry = AuditEntry.objects.get(action="pgpools.restart.requested")
    assert entry.after["pgpools"] == ["pgpool-1", "pgpool-2"]


def test_a_command_that_restarts_nothing_is_found_out_and_halts(acme: Scene, settings: Any) -> None:
    allow(settings, "true")
    restart = until_it_ends(request(acme), Clock(step_s=5))

    assert (restart.state, states(restart)) == (State.FAILED, ["failed", "skipped"])
    assert "ended well, and yet the same pgpool still runs there" in restart.outcome
    assert "pgpool-2 was left as it is." in restart.outcome
    assert (counts(acme), PendingRestart.objects.count()) == ([0, 0], 2)


def test_a_command_that_fails_halts_and_its_words_are_kept(acme: Scene, settings: Any) -> None:
    allow(settings, "echo no such unit >&2; exit 5")
    restart = advance(request(acme))

    assert restart.state == State.FAILED
    assert "was not restarted by the command fake: it ended with code 5. Operators read what it said" in restart.outcome
    assert steps(restart)[0].receipt["command"]["said"] == "no such unit"
    assert counts(acme) == [0, 0]


def test_a_pgpool_that_does_not_come_back_halts_and_says_what_to_do(acme: Scene, settings: Any) -> None:
    allow(settings, "true")
    restart = request(acme)
    clock = Clock(step_s=20)

    def stops(look: int) -> None:
        if RestartStep.objects.filter(state="ordered").exists():
            acme.pgpools[0].mode = "refuse"

    clock.when_looked = stops
    until_it_ends(restart, clock)

    assert (restart.state, states(restart)) == (State.FAILED, ["failed", "skipped"])
    assert "pgpool-1 does not answer since" in restart.outcome
    assert "start it, and look at its log" in restart.outcome


def test_a_restart_that_does_not_bring_the_file_in_halts(acme: Scene) -> None:
    acme.pgpools[0].unknown = {"max_pool"}  # it starts with another file
    restart = until_it_ends(request(acme), Clock(step_s=5))

    assert (restart.state, counts(acme)) == (State.FAILED, [1, 0])
    assert "does not use its file: max_pool is 4, not 8. Check which file it starts with." in restart.outcome
    assert PendingRestart.objects.count() == 2


def test_a_backend_that_is_down_after_the_restart_halts(acme: Scene) -> None:
    restart = request(acme, "pgpool-1")
    clock = Clock(step_s=20)

    def forgets(look: int) -> None:
        if acme.pgpools[0].restart_count:
            acme.pgpools[0].backends[2].status = "down"

    clock.when_looked = forgets
    until_it_ends(restart, clock)

    assert restart.state == State.FAILED
    assert "pg3 is not up at pgpool-1 since it was restarted" in restart.outcome


def renumbering(acme: Scene, clock: Clock) -> Clock:
    """The restart of pgpool-1 swaps the numbers of two of its backends, once."""
    before = acme.pgpools[0].backends[1].port

    def look(number: int) -> None:
        if acme.pgpools[0].restart_count and acme.pgpools[0].backends[1].port == before:
            swap(acme.pgpools[0])

    clock.when_looked = look
    return clock


def test_a_pgpool_that_starts_with_other_numbers_halts(acme: Scene) -> None:
    restart = request(acme, "pgpool-1")
    until_it_ends(restart, renumbering(acme, Clock(step_s=1)))

    assert restart.state == State.FAILED
    assert f"pgpool-1 numbers the backends differently since it was restarted: {SWAPPED}." in restart.outcome


def test_what_a_renumbered_pgpool_had_up_is_looked_for_by_its_new_numbers(acme: Scene) -> None:
    """It remembers by number what is down: that is pg2 afterwards, which was up."""
    swap(acme.pgpools[0])
    acme.pgpools[0].backends[1].status = "down"  # 25434, which the cluster numbers 2
    restart = request(acme, "pgpool-1")
    until_it_ends(restart, renumbering(acme, Clock(step_s=20)))

    assert restart.state == State.FAILED
    assert "pg2 is not up at pgpool-1 since it was restarted" in restart.outcome


def test_a_file_that_is_not_the_verified_one_is_never_brought_in(acme: Scene) -> None:
    roll_out(acme)
    acme.confs[0].write_text(acme.confs[0].read_text() + "# by hand\n")
    restart = advance(request(acme))

    assert (restart.state, counts(acme)) == (State.FAILED, [0, 0])
    assert "is not the verified one of revision" in restart.outcome
    assert "page Drift" in restart.outcome


def test_a_file_edited_since_it_was_found_is_never_brought_in(acme: Scene) -> None:
    """Nothing was rolled out here yet."""
    text = acme.confs[0].read_text()
    InstanceConfig.objects.create(instance=acme.instances[0], file_text=text, first_text=text)
    acme.confs[0].write_text(text + "# by hand\n")

    restart = advance(request(acme))

    assert (restart.state, counts(acme)) == (State.FAILED, [0, 0])
    assert "pgpool.conf of pgpool-1 is not as it was found first: somebody edited it" in restart.outcome


def test_another_pgpool_that_goes_away_meanwhile_stops_it(acme: Scene) -> None:
    restart = request(acme, "pgpool-1")
    acme.pgpools[1].mode = "refuse"

    advance(restart)

    assert (restart.state, counts(acme)) == (State.FAILED, [0, 0])
    assert "pgpool-2 does not answer, so nothing is restarted" in restart.outcome


def test_a_command_that_is_no_longer_allowed_is_never_run(acme: Scene, settings: Any) -> None:
    restart = request(acme)
    settings.RESTART_COMMANDS = [RestartCommand("rival", "fake", COMMAND)]

    advance(restart)

    assert (restart.state, counts(acme)) == (State.FAILED, [0, 0])
    assert "no longer allows the command 'fake'" in restart.outcome
    assert "restarted by hand" in " ".join(restarts.risk_of(cluster=acme.cluster).risks)


def test_one_thing_at_a_time_is_done_to_a_cluster(acme: Scene) -> None:
    rollout = acme.request()
    with pytest.raises(RolloutRunning):
        request(acme)
    acme.advance(rollout)

    restart = request(acme)
    with pytest.raises(RestartRunning, match=f"Restart #{restart.pk} of pgpools of this cluster is under way"):
        request(acme, "pgpool-2")
    with pytest.raises(RestartRunning):
        acme.request()
    with pytest.raises(RestartRunning):
        backend = acme.cluster.backends.get(node_id=2)
        backend_operations.request(caller=acme.caller, cluster=acme.cluster, backend=backend, kind="detach", now=NOW)
    with pytest.raises(RegistryConflict, match="Restart"):
        instance_changes.remove_instance(caller=member("admin"), instance=acme.instances[0], now=NOW)
    with pytest.raises(IntegrityError, match="restart_one_running_per_cluster"), transaction.atomic():
        RollingRestart.objects.create(cluster=acme.cluster)
    with pytest.raises(IntegrityError, match="restart_one_pgpool_at_a_time"), transaction.atomic():
        restart.steps.update(state="ordered")


def test_stopped_writes_hold_it_up_and_count_no_try(acme: Scene) -> None:
    restart = request(acme)
    writes_switch.stop(caller=acme.caller, reason="storm", now=NOW)

    advance(restart)
    assert (restart.state, counts(acme)) == (State.RUNNING, [0, 0])
    assert "All writes were stopped by Ann: storm." in restart.outcome
    with pytest.raises(WritesStopped):
        request(acme)

    writes_switch.allow(caller=member("admin"), reason="over", now=NOW)
    assert advance(restart, now=NOW + timedelta(seconds=5)).state == State.DONE
    assert [step.attempts for step in steps(restart)] == [1, 1]


def test_cancelling_ends_what_has_not_begun(acme: Scene) -> None:
    restart = request(acme)

    restart = restarts.cancel(caller=acme.caller, restart=restart, now=NOW)

    assert (restart.state, states(restart)) == (State.CANCELLED, ["skipped", "skipped"])
    assert restart.outcome == "Cancelled by Ann: pgpool-1 and pgpool-2 were not restarted by it."
    assert advance(restart).state == State.CANCELLED
    assert counts(acme) == [0, 0]
    with pytest.raises(RestartRefused, match="nothing to cancel"):
        restarts.cancel(caller=acme.caller, restart=restart, now=NOW)


def test_cancelling_lets_the_pgpool_under_way_come_back(acme: Scene) -> None:
    restart = request(acme)
    clock = Clock(step_s=0)

    def cancels(look: int) -> None:
        current = RollingRestart.objects.get()
        if current.steps.filter(state="restarted").exists() and not current.is_cancel_requested:
            restarts.cancel(caller=acme.caller, restart=current, now=NOW)

    clock.when_looked = cancels
    restart_steps.advance(restart_id=restart.pk, holder="worker", clock=clock, sleep=clock.sleep)
    restart.refresh_from_db()

    assert (restart.state, states(restart), counts(acme)) == (State.CANCELLED, ["done", "skipped"], [1, 0])


def test_a_pgpool_that_is_away_or_only_observed_is_refused(acme: Scene) -> None:
    acme.pgpools[1].mode = "refuse"
    with pytest.raises(RestartRefused, match="pgpool-2 does not answer"):
        request(acme, "pgpool-1")
    acme.pgpools[1].mode = "ok"
    none: dict[str, Any] = {"delivery_kind": "observe", "delivery_path": "", "delivery_target": None}
    PgpoolInstance.objects.filter(name="pgpool-2").update(**none, restart_command="")
    with pytest.raises(RestartRefused, match="pgpool-2: registered as observe only"):
        request(acme, "pgpool-2")
    PendingRestart.objects.all().delete()
    with pytest.raises(RestartRefused, match="No pgpool of this cluster waits for a restart"):
        request(acme)
    assert not RollingRestart.objects.exists()


@pytest.mark.parametrize(("names", "said"), [([], "names no pgpool"), (["pgpool-9"], "there is no pgpool 'pgpool-9'")])
def test_odd_names_are_refused_by_field(acme: Scene, names: list[str], said: str) -> None:
    with pytest.raises(RestartInvalid, match=said) as caught:
        restarts.request(caller=acme.caller, cluster=acme.cluster, names=names, now=NOW)

    assert caught.value.field == "instances"
