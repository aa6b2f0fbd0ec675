"""A pgpool that nobody can reach owes the revision, and is given it when it returns."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import AuditEntry
from apps.clusters.control import (
    convergence,
    debt_settlement,
    presence,
    revisions,
    rollout_actions,
    rollout_rows,
    rollouts,
    verified_files,
    weight_change,
)
from apps.clusters.models import ClusterEvent, InstanceConfig, InstanceLatest, PgpoolInstance, RevisionDebt, Rollout
from tests.clusters.rollout_scene import NOW, OLD_WEIGHTS, Clock, Killed, Scene, conf_text, scene
from tests.clusters.seen_cluster import count

pytestmark = pytest.mark.django_db

WANTED = {0: 0.0, 1: 1.0, 2: 3.0}
NEW_TEXT = conf_text(weights=("0", "1", "3"))
OWE = {"strategy": "all_at_once", "absent": "owe"}
ASK = {**OWE, "on_return": "ask"}
LATER = NOW + timedelta(minutes=10)


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake answers at once or never; and no lease ends but by the test."""
    monkeypatch.setattr(rollout_actions, "READ_BACK_PATIENCE_S", 0.05)
    monkeypatch.setattr(rollout_rows, "LEASE", timedelta(hours=1))
    monkeypatch.setattr(presence, "DEADLINE_S", 1.0)


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=2) as found:
        yield found


def away(acme: Scene, number: int = 1) -> None:
    """Nobody listens there, as where a pgpool is stopped."""
    PgpoolInstance.objects.filter(pk=acme.instances[number].pk).update(port=1 + number, pcp_port=1)


def back(acme: Scene) -> None:
    """It answers, and the poller has seen it."""
    pgpool = acme.pgpools[1]
    pgpool.mode = "ok"
    PgpoolInstance.objects.filter(pk=acme.instances[1].pk).update(port=pgpool.port, pcp_port=pgpool.pcp_port)
    seen = {"polled_at": LATER, "answered_at": LATER, "state": "answering", "state_since": LATER}
    InstanceLatest.objects.update_or_create(instance=acme.instances[1], defaults=seen)


def host_gone(acme: Scene) -> Path:
    """Its file cannot be read either."""
    away(acme)
    return acme.confs[1].rename(acme.confs[1].with_suffix(".gone"))


def owed(acme: Scene, **wanted: Any) -> Rollout:
    """A rollout that went to one, while the other was away."""
    away(acme)
    return acme.advance(acme.request(**{"plan": OWE, **wanted}))


def settled(acme: Scene) -> Rollout:
    debt_settlement.settle_returned(now=LATER)
    return acme.advance(acme.cluster.rollouts.latest("pk"))


def debt_of(rollout: Rollout) -> RevisionDebt:
    return RevisionDebt.objects.get(step__rollout=rollout)


def titles() -> list[str]:
    return list(ClusterEvent.objects.order_by("pk").values_list("title", flat=True))


def test_the_others_get_it_and_the_silent_one_owes_it(acme: Scene) -> None:
    rollout = owed(acme)

    assert rollout.state == "verified"
    assert acme.states(rollout) == ["verified", "owed"]
    assert acme.texts() == [NEW_TEXT, conf_text()]
    assert acme.pgpools[1].reload_count == 0
    assert debt_of(rollout).state == "open"
    assert titles()[-1] == "revision 2 verified on pgpool-1; pgpool-2 owes it"


@pytest.mark.waits
def test_a_frozen_one_owes_it_as_well(acme: Scene) -> None:
    acme.pgpools[1].mode = "hang"

    rollout = acme.advance(acme.request(plan=OWE))

    assert acme.states(rollout) == ["verified", "owed"]
    assert acme.texts() == [NEW_TEXT, conf_text()]


def test_one_whose_host_is_gone_owes_what_was_made_from_its_known_file(acme: Scene) -> None:
    acme.advance(acme.request({"0": 0, "1": 1, "2": 1}))
    gone = host_gone(acme)

    rollout = acme.advance(acme.request(plan=OWE))
    assert acme.states(rollout) == ["verified", "owed"]

    gone.rename(acme.confs[1])
    back(acme)
    assert settled(acme).state == "verified"
    assert acme.texts() == [NEW_TEXT] * 2


def test_the_first_change_of_all_starts_from_the_file_that_was_seen_latest(acme: Scene) -> None:
    gone = host_gone(acme)
    with pytest.raises(revisions.ConfigUnusable, match="No file of it is known"):
        acme.request(plan=OWE)
    InstanceConfig.objects.create(instance=acme.instances[1], file_text=conf_text(), first_text=conf_text())

    assert acme.states(acme.advance(acme.request(plan=OWE))) == ["verified", "owed"]

    gone.rename(acme.confs[1])
    back(acme)
    assert settled(acme).state == "verified"
    assert acme.texts() == [NEW_TEXT] * 2


def test_reads_are_held_against_the_new_weights_only_where_they_stand(acme: Scene) -> None:
    rollout = owed(acme)
    for instance in acme.instances:
        count(instance, {1: 250, 2: 750} if instance.name == "pgpool-1" else {1: 500, 2: 500})

    assert rollout.finished_at is not None
    found = convergence.judge(rollout=rollout, now=rollout.finished_at + timedelta(minutes=1))

    assert found is not None
    assert list(found["instances"]) == ["pgpool-1"]


def test_without_owing_nothing_is_rolled_out_past_a_file_that_cannot_be_read(acme: Scene) -> None:
    acme.advance(acme.request({"0": 0, "1": 1, "2": 1}))
    host_gone(acme)

    with pytest.raises(revisions.ConfigUnusable, match="pgpool-2"):
        acme.request()


def test_one_that_answers_and_whose_file_cannot_be_read_is_not_away(acme: Scene) -> None:
    acme.advance(acme.request({"0": 0, "1": 1, "2": 1}))
    acme.confs[1].rename(acme.confs[1].with_suffix(".gone"))

    with pytest.raises(revisions.ConfigUnusable, match="pgpool-2"):
        acme.request(plan=OWE)


def test_one_that_answers_and_does_not_take_the_file_halts_it_all_the_same(acme: Scene) -> None:
    acme.pgpools[1].mode = "lie"

    rollout = acme.advance(acme.request(plan=OWE))

    assert rollout.state == "rolled_back"
    assert acme.texts() == [conf_text()] * 2
    assert not RevisionDebt.objects.exists()


def test_at_least_one_has_to_take_it(acme: Scene) -> None:
    for number in range(2):
        away(acme, number)

    rollout = acme.advance(acme.request(plan=OWE))

    assert rollout.state == "failed"
    assert acme.states(rollout) == ["skipped"] * 2
    assert acme.texts() == [conf_text()] * 2
    assert "does not answer" in rollout.halt_reason
    assert not RevisionDebt.objects.exists()


def silenced(acme: Scene, number: int, state: str) -> Clock:
    """A clock at whose look the pgpool falls silent: when its own step stands there."""

    def silence(look: int) -> None:
        steps = Rollout.objects.latest("pk").steps
        if steps.filter(position=number, state=state, is_touched=True).exists():
            away(acme, number)

    return Clock(when_looked=silence)


def test_one_that_falls_silent_once_it_is_written_gets_its_old_file_back_and_owes_it(acme: Scene) -> None:
    rollout = acme.request(plan={"strategy": "one_by_one", "absent": "owe"})

    acme.advance(rollout, clock=silenced(acme, 1, "written"))

    assert rollout.state == "verified"
    assert acme.states(rollout) == ["verified", "owed"]
    assert acme.texts() == [NEW_TEXT, conf_text()]
    back(acme)
    assert settled(acme).state == "verified"
    assert acme.texts() == [NEW_TEXT] * 2


def test_the_first_to_fall_silent_with_the_new_file_halts_it_since_the_file_may_be_why(acme: Scene) -> None:
    rollout = acme.request(plan={"strategy": "one_by_one", "absent": "owe"})

    acme.advance(rollout, clock=silenced(acme, 0, "written"))

    assert rollout.state == "failed"
    assert acme.texts() == [conf_text()] * 2
    assert "the file may be why" in rollout.halt_reason
    assert not RevisionDebt.objects.exists()


def test_it_is_given_when_it_returns(acme: Scene) -> None:
    rollout = owed(acme)
    back(acme)

    settlement = settled(acme)

    assert settlement.state == "verified"
    assert settlement.steps.get().instance_name == "pgpool-2"
    assert settlement.steps.get().receipt["read_back"]["lb_weight"] == {"0": 0.0, "1": 0.25, "2": 0.75}
    assert acme.weights() == [WANTED] * 2
    assert debt_of(rollout).state == "settled"
    assert titles()[-1] == "pgpool-2 returned and was given revision 2"
    assert AuditEntry.objects.filter(action="debt.given").count() == 1


def test_nothing_is_given_before_it_is_seen_to_answer(acme: Scene) -> None:
    rollout = owed(acme)

    debt_settlement.settle_returned(now=LATER)

    assert acme.cluster.rollouts.latest("pk") == rollout


def test_it_is_given_once_however_many_workers_look(acme: Scene) -> None:
    owed(acme)
    back(acme)

    for _ in range(3):
        debt_settlement.settle_returned(now=LATER)

    assert acme.cluster.rollouts.filter(settles__isnull=False).count() == 1


def test_where_somebody_is_to_be_asked_it_is_told_once_and_given_on_their_word(acme: Scene) -> None:
    rollout = owed(acme, plan=ASK)
    back(acme)

    for _ in range(2):
        debt_settlement.settle_returned(now=LATER)

    assert titles().count("pgpool-2 is back and owes revision 2: give it, or let it go") == 1
    assert acme.texts()[1] == conf_text()

    given = debt_settlement.give(caller=acme.caller, debt=debt_of(rollout), now=LATER)
    assert acme.advance(given).state == "verified"
    assert acme.texts() == [NEW_TEXT] * 2


def test_a_debt_that_is_let_go_is_never_given(acme: Scene) -> None:
    rollout = owed(acme, plan=ASK)
    back(acme)

    debt_settlement.forgive(caller=acme.caller, debt=debt_of(rollout), now=LATER)
    debt_settlement.settle_returned(now=LATER)

    assert acme.texts()[1] == conf_text()
    assert (debt_of(rollout).state, debt_of(rollout).closed_by_name) == ("forgiven", "Ann")
    assert AuditEntry.objects.filter(action="debt.forgiven").count() == 1
    with pytest.raises(debt_settlement.DebtRefused, match="let go"):
        debt_settlement.give(caller=acme.caller, debt=debt_of(rollout), now=LATER)


def test_a_file_edited_meanwhile_is_asked_about_and_never_written_over(acme: Scene) -> None:
    rollout = owed(acme)
    by_hand = conf_text().replace("delay_threshold = 1000", "delay_threshold = 5")
    acme.confs[1].write_text(by_hand)
    back(acme)

    debt_settlement.settle_returned(now=LATER)

    debt = debt_of(rollout)
    assert (debt.state, debt.needs_person) == ("open", True)
    assert "edited by hand" in debt.reason
    assert acme.texts()[1] == by_hand
    with pytest.raises(debt_settlement.EditedMeanwhile):
        debt_settlement.give(caller=acme.caller, debt=debt, now=LATER)
    assert titles()[-1] == "pgpool-2 is back and owes revision 2, which was not given"


def test_a_newer_revision_leaves_out_nothing_that_was_owed(acme: Scene) -> None:
    first = owed(acme)
    second = acme.advance(acme.request({"0": 1, "1": 1, "2": 1}, plan=OWE))

    assert (debt_of(first).state, debt_of(second).state) == ("superseded", "open")
    back(acme)
    third = acme.advance(acme.request({"0": 0, "1": 1, "2": 3}))

    assert acme.states(third) == ["verified"] * 2
    assert debt_of(second).state == "superseded"
    assert acme.weights() == [WANTED] * 2


def test_rolling_back_takes_the_debt_back_with_it(acme: Scene) -> None:
    rollout = owed(acme)

    rollback = acme.advance(rollouts.request_rollback(caller=acme.caller, rollout=rollout, now=NOW))

    assert rollback.state == "verified"
    assert list(rollback.steps.order_by("position").values_list("instance_name", flat=True)) == ["pgpool-1"]
    assert debt_of(rollout).state == "taken_back"
    back(acme)
    debt_settlement.settle_returned(now=LATER)
    assert acme.texts() == [conf_text()] * 2
    assert acme.weights()[0] == OLD_WEIGHTS


def test_rolling_back_the_newer_one_leaves_the_older_one_owed(acme: Scene) -> None:
    first = owed(acme)
    second = acme.advance(acme.request({"0": 1, "1": 1, "2": 1}, plan=OWE))

    acme.advance(rollouts.request_rollback(caller=acme.caller, rollout=second, now=NOW))

    assert (debt_of(first).state, debt_of(second).state) == ("open", "taken_back")
    back(acme)
    settled(acme)
    assert acme.weights() == [WANTED] * 2


def test_what_was_given_late_is_rolled_back_with_the_others(acme: Scene) -> None:
    rollout = owed(acme)
    back(acme)
    settled(acme)

    rollback = acme.advance(rollouts.request_rollback(caller=acme.caller, rollout=rollout, now=LATER))

    assert acme.states(rollback) == ["verified"] * 2
    assert acme.texts() == [conf_text()] * 2


def test_healthy_ones_are_rolled_back_although_the_host_of_one_is_gone(acme: Scene) -> None:
    rollout = acme.advance(acme.request(plan=OWE))
    assert acme.states(rollout) == ["verified"] * 2
    gone = host_gone(acme)

    rollback = acme.advance(rollouts.request_rollback(caller=acme.caller, rollout=rollout, now=NOW))

    assert acme.states(rollback) == ["verified", "owed"]
    gone.rename(acme.confs[1])
    back(acme)
    assert settled(acme).state == "verified"
    assert acme.texts() == [conf_text()] * 2


def test_a_settlement_that_fails_is_tried_again_and_then_asked_about(acme: Scene) -> None:
    rollout = owed(acme)
    back(acme)
    acme.pgpools[1].mode = "lie"

    now = LATER
    for tries in range(1, 4):
        debt_settlement.settle_returned(now=now)
        clock = Clock(now=now)
        assert acme.advance(acme.cluster.rollouts.latest("pk"), clock=clock).state == "rolled_back"
        assert debt_of(rollout).tries == tries
        debt_settlement.settle_returned(now=clock.now)
        now = clock.now + timedelta(minutes=10)

    debt = debt_of(rollout)
    assert (debt.state, debt.needs_person) == ("open", True)
    assert acme.cluster.rollouts.filter(settles=debt).count() == 3


@pytest.mark.parametrize("killed_at", [3, 6, 9])
def test_whoever_dies_in_the_middle_another_one_goes_on(acme: Scene, killed_at: int) -> None:
    rollout = acme.request(plan={"strategy": "one_by_one", "absent": "owe"})
    clock = silenced(acme, 1, "written")
    clock.killed_at = killed_at

    with pytest.raises(Killed):
        acme.advance(rollout, clock=clock)
    Rollout.objects.filter(pk=rollout.pk).update(lease_expires_at=NOW - timedelta(days=1))
    clock.killed_at = None
    acme.advance(rollout, clock=clock, holder="another")

    assert acme.states(rollout) == ["verified", "owed"]
    assert acme.texts() == [NEW_TEXT, conf_text()]
    assert RevisionDebt.objects.count() == 1


def test_a_preview_shows_what_an_owing_one_would_get(acme: Scene) -> None:
    owed(acme)

    preview = weight_change.preview(cluster=acme.cluster, weights={"0": 0, "1": 1, "2": 3})

    assert [each["changed_lines"] for each in preview["instances"]] == [0, 1]
    assert verified_files.verified_files(acme.instances).keys() == {each.pk for each in acme.instances[:1]}
