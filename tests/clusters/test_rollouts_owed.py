"""A pgpool that nobody can reach owes the revision, and the others get it."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import (
    convergence,
    debt_settlement,
    presence,
    revisions,
    rollouts,
    verified_files,
    weight_change,
)
from apps.clusters.models import InstanceConfig, PgpoolInstance, PublishedFile, RevisionDebt, Rollout
from apps.clusters.outside.delivery.outcomes import sha256_of
from tests.clusters.owing import (
    LATER,
    NEW_TEXT,
    OWE,
    WANTED,
    away,
    back,
    debt_of,
    host_gone,
    owed,
    owing,
    settled,
    titles,
)
from tests.clusters.rollout_scene import NOW, OLD_WEIGHTS, Clock, Killed, Scene, conf_text
from tests.clusters.seen_cluster import count

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    with owing(tmp_path, settings, monkeypatch) as found:
        yield found


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


def test_one_whose_name_does_not_resolve_owes_it_as_well(acme: Scene) -> None:
    nowhere = f"{'x' * 64}.example"  # a label is 63 letters long at most
    PgpoolInstance.objects.filter(pk=acme.instances[1].pk).update(host=nowhere)

    rollout = acme.advance(acme.request(plan=OWE))

    assert acme.states(rollout) == ["verified", "owed"]
    assert "does not resolve" in rollout.steps.get(position=1).error


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


def deliver_by_hand(acme: Scene) -> None:
    acme.cluster.instances.update(delivery_kind="manual", delivery_path="", delivery_target=None)
    for instance in acme.instances:
        PublishedFile.objects.create(instance=instance, text=conf_text(), sha256=sha256_of(conf_text().encode()))


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("plan", [None, {"strategy": "all_at_once"}])
def test_without_owing_nothing_is_written_anywhere_while_one_does_not_answer(
    acme: Scene, plan: object, by_hand: bool
) -> None:
    if by_hand:
        deliver_by_hand(acme)
    rollout = acme.request(plan=plan)
    away(acme)

    acme.advance(rollout)

    assert rollout.state == "failed"
    assert acme.states(rollout) == ["skipped", "failed"]
    assert not rollout.steps.filter(written_at__isnull=False).exists()
    assert acme.texts() == [conf_text()] * 2
    assert {file.text for file in PublishedFile.objects.all()} <= {conf_text()}
    assert [pgpool.reload_count for pgpool in acme.pgpools] == [0, 0]
    assert rollout.halt_reason.startswith("pgpool-2: It does not answer: ")
    assert '"absent": "owe"' in rollout.halt_reason


@pytest.mark.waits
def test_all_of_them_are_asked_at_the_same_time(acme: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both by hand: what the database is asked for stays with the worker, what the pgpool is asked does not."""
    deliver_by_hand(acme)
    both_asked = threading.Barrier(2)

    def silent(instance: PgpoolInstance) -> presence.NoSession:
        both_asked.wait(timeout=20)
        return presence.NoSession(f"nobody answers for {instance.name}", "", is_silence=True)

    monkeypatch.setattr(presence, "no_session_at", silent)

    assert acme.advance(acme.request()).state == "failed"


def test_a_way_back_goes_past_one_that_does_not_answer_whatever_its_plan(acme: Scene) -> None:
    rollout = acme.advance(acme.request())
    away(acme)

    back_again = acme.advance(rollouts.request_rollback(caller=acme.caller, rollout=rollout, now=NOW))

    assert acme.states(back_again) == ["verified", "failed"]
    assert acme.weights()[0] == OLD_WEIGHTS


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
