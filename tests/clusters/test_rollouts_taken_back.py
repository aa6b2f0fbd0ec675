"""Rollouts that somebody stops or takes back: every touched pgpool uses its old file again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import AuditEntry
from apps.clusters.control import rollouts, weight_change
from apps.clusters.control.rollouts import RolloutRefused
from apps.clusters.control.verified_files import verified_files
from apps.clusters.models import Rollout
from apps.clusters.queries.rollouts import rollout_answer
from tests.clusters.rollout_scene import NOW, OLD_WEIGHTS, Clock, Scene, conf_text, scene

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_patience")]


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=3) as found:
        yield found


def test_a_rollout_cancelled_before_it_begins_touches_nothing(pair: Scene) -> None:
    rollout = pair.request()

    rollouts.cancel(caller=pair.caller, rollout=rollout, now=NOW)
    pair.advance(rollout)

    assert rollout.state == "cancelled"
    assert rollout.halt_reason == "cancelled by Ann"
    assert pair.states(rollout) == ["skipped", "skipped"]
    assert pair.texts() == [conf_text()] * 2
    assert AuditEntry.objects.latest("pk").action == "rollout.cancel_requested"


def test_a_rollout_cancelled_in_the_middle_puts_the_old_files_back(pair: Scene) -> None:
    rollout = pair.request()

    def cancel(look: int) -> None:
        if rollout.steps.filter(position=0, state="verified").exists():
            rollouts.cancel(caller=pair.caller, rollout=rollout, now=NOW)

    pair.advance(rollout, clock=Clock(when_looked=cancel))

    assert rollout.state == "rolled_back"
    assert pair.texts() == [conf_text()] * 2
    assert pair.weights() == [OLD_WEIGHTS] * 2


def test_a_rollout_that_has_ended_cannot_be_cancelled(pair: Scene) -> None:
    rollout = pair.advance(pair.request())

    with pytest.raises(RolloutRefused, match="has ended already: it is verified"):
        rollouts.cancel(caller=pair.caller, rollout=rollout, now=NOW)


def test_a_rollback_is_a_rollout_of_the_files_before(pair: Scene) -> None:
    first = pair.advance(pair.request())

    back = rollouts.request_rollback(caller=pair.caller, rollout=first, now=NOW)
    pair.advance(back)

    assert (back.rollback_of, back.state) == (first, "verified")
    assert (back.revision.number, back.revision.origin) == (3, "rollback")
    assert pair.texts() == [conf_text()] * 2
    assert pair.weights() == [OLD_WEIGHTS] * 2
    assert AuditEntry.objects.latest("pk").action == "rollout.rollback_requested"


def test_a_rollback_goes_on_although_one_pgpool_does_not_answer(acme: Scene) -> None:
    first = acme.advance(acme.request())
    back = rollouts.request_rollback(caller=acme.caller, rollout=first, now=NOW)
    acme.pgpools[0].mode = "refuse"

    acme.advance(back)

    assert back.state == "failed"
    assert acme.states(back) == ["failed", "verified", "verified"]
    assert back.halt_reason.startswith("pgpool-1")
    assert acme.texts() == [conf_text()] * 3
    # What was written back is what shall stand there, although pgpool-1 did not confirm it: no drift.
    known = verified_files(list(acme.cluster.instances.all()))
    assert {file.text for file in known.values()} == {conf_text()}


def test_a_failed_rollout_can_be_rolled_back_when_its_pgpool_answers_again(pair: Scene) -> None:
    first = pair.request()
    pair.advance(first, clock=Clock(when_looked=pair.turns_away(first)))
    assert first.state == "failed"
    pair.pgpools[1].mode = "ok"

    back = pair.advance(rollouts.request_rollback(caller=pair.caller, rollout=first, now=NOW))

    assert back.state == "verified"
    assert pair.weights() == [OLD_WEIGHTS] * 2


def test_a_rollback_over_a_file_changed_since_is_refused(pair: Scene) -> None:
    first = pair.advance(pair.request())
    pair.confs[1].write_text(pair.confs[1].read_text() + "# by hand\n")

    with pytest.raises(RolloutRefused, match=r"pgpool-2 is not the one that rollout \d+ wrote"):
        rollouts.request_rollback(caller=pair.caller, rollout=first, now=NOW)

    assert Rollout.objects.count() == 1


def test_a_rollout_that_changed_nothing_cannot_be_rolled_back(pair: Scene) -> None:
    first = pair.request()
    rollouts.cancel(caller=pair.caller, rollout=first, now=NOW)
    pair.advance(first)

    with pytest.raises(RolloutRefused, match="nothing of it stands"):
        rollouts.request_rollback(caller=pair.caller, rollout=first, now=NOW)


def test_a_rollback_waits_for_the_rollout_that_runs(pair: Scene) -> None:
    first = pair.advance(pair.request())
    pair.request({"0": 0, "1": 1, "2": 1})

    with pytest.raises(weight_change.RolloutRunning):
        rollouts.request_rollback(caller=pair.caller, rollout=first, now=NOW)


def test_where_the_files_were_already_so_nothing_is_said_to_go_back(pair: Scene) -> None:
    """A file that pgpool-2 was given by hand and does not use: it is rolled out as it stands, and halts."""
    pair.confs[1].write_text(conf_text(weights=("0", "1", "3")))
    pair.pgpools[1].mode = "forget"
    rollout = pair.request(None, base="live")

    def mend(look: int) -> None:
        if Rollout.objects.get(pk=rollout.pk).is_halting:
            pair.pgpools[1].mode = "ok"

    pair.advance(rollout, clock=Clock(when_looked=mend))

    told = rollout_answer(rollout=rollout, caller=pair.caller, now=NOW)
    said = [line["text"] for line in told["log"]]
    assert told["state"] == "rolled_back"
    assert [step["is_as_before"] for step in told["steps"]] == [True, True]
    assert told["sentence"] == "Halted. There was nothing to take back: the files were already so."
    assert "Halted; on pgpool-1, pgpool-2 there is nothing to take back: the file was already so." in said
    assert said[-1] == "Rollout of revision 1 stopped; there was nothing to take back."
    assert not [line for line in said if "old file" in line.lower()]


def test_a_halt_names_whose_file_goes_back_and_whose_was_already_so(pair: Scene) -> None:
    """pgpool-1 has the new weights already."""
    pair.confs[0].write_text(conf_text(weights=("0", "1", "3")))
    pair.pgpools[1].mode = "forget"
    rollout = pair.request({"0": 0, "1": 1, "2": 3}, base="live")

    pair.advance(rollout)

    already = "on pgpool-1 there is nothing to take back: the file was already so"
    assert rollout.log.filter(text=f"Halted; pgpool-2 gets the old file back; {already}.").exists()


def test_rolling_back_is_promised_where_it_is_taken_and_only_there(pair: Scene) -> None:
    older = pair.advance(pair.request())
    newer = pair.advance(pair.request({"0": 0, "1": 1, "2": 1}))

    def is_promised(rollout: Rollout) -> bool:
        return rollout_answer(rollout=rollout, caller=pair.caller, now=NOW)["can_roll_back"]

    assert (is_promised(older), is_promised(newer)) == (False, True)
    with pytest.raises(RolloutRefused, match=f"is not the one that rollout {older.pk} wrote"):
        rollouts.request_rollback(caller=pair.caller, rollout=older, now=NOW)

    pair.advance(rollouts.request_rollback(caller=pair.caller, rollout=newer, now=NOW))
    assert (is_promised(older), is_promised(newer)) == (True, False)
    assert pair.advance(rollouts.request_rollback(caller=pair.caller, rollout=older, now=NOW)).state == "verified"
    assert pair.texts() == [conf_text()] * 2
