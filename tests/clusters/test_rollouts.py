"""A rollout carries a revision to every pgpool or puts the old files back, whoever dies in the middle of it."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import rollout_actions, rollout_rows, rollouts
from apps.clusters.models import ClusterEvent, PgpoolInstance, RollingRestart, Rollout, RolloutLog, RolloutStep
from apps.clusters.outside import read_back
from tests.clusters.rollout_scene import NOW, OLD_WEIGHTS, SECRET, Clock, Scene, conf_text, scene
from tests.fake_pgpool import Mode

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_patience")]

WANTED = {0: 0.0, 1: 1.0, 2: 3.0}


@pytest.fixture
def short_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a pgpool that never answers: the deadlines themselves are tested with the clients."""
    monkeypatch.setattr(read_back, "CONNECT_DEADLINE_S", 0.5)
    monkeypatch.setattr(rollout_actions, "RELOAD_DEADLINE_S", 0.5)
    monkeypatch.setattr(rollout_actions, "RESTORE_RELOAD_DEADLINE_S", 0.2)


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=3) as found:
        yield found


def test_every_pgpool_gets_the_file_and_shows_it(acme: Scene) -> None:
    rollout = acme.advance(acme.request())

    assert rollout.state == "verified"
    assert acme.states(rollout) == ["verified"] * 3
    assert acme.weights() == [WANTED] * 3
    assert acme.texts() == [conf_text(weights=("0", "1", "3"))] * 3
    assert rollout.started_at is not None
    assert rollout.finished_at is not None
    assert (rollout.lease_holder, rollout.lease_expires_at) == ("", None)


def test_every_step_leaves_a_receipt(acme: Scene) -> None:
    rollout = acme.advance(acme.request())

    step = rollout.steps.select_related("file").get(position=0)
    assert step.receipt["base_sha256"] == step.file.base_sha256
    assert step.receipt["sha256_before"] == step.file.base_sha256
    assert step.receipt["sha256_after"] == step.file.sha256
    assert Path(step.receipt["backup"]).read_text() == conf_text()
    assert step.receipt["reload"]["channel"] == "pcp"
    assert step.receipt["read_back"]["sessions"] == 3
    assert step.receipt["read_back"]["weights"] == {
        "backend_weight0": ["0"], "backend_weight1": ["1"], "backend_weight2": ["3"]
    }  # fmt: skip
    assert step.receipt["read_back"]["lb_weight"] == {"0": 0.0, "1": 0.25, "2": 0.75}
    assert step.written_at is not None
    assert step.reloaded_at is not None
    assert step.verified_at is not None


def test_the_log_and_the_events_tell_it_without_secrets(acme: Scene) -> None:
    rollout = acme.advance(acme.request())

    lines = list(RolloutLog.objects.filter(rollout=rollout).order_by("pk"))
    assert lines[0].text == "Rollout of revision 2 requested by Ann."
    assert lines[-1].text == "Revision 2 verified on pgpool-1, pgpool-2, pgpool-3."
    assert not any(line.is_problem for line in lines)
    assert SECRET not in str([line.text for line in lines])
    assert ClusterEvent.objects.latest("pk").title == "revision 2 verified on pgpool-1, pgpool-2, pgpool-3"


def test_nothing_is_written_before_every_base_was_checked(acme: Scene) -> None:
    rollout = acme.request()
    by_hand = acme.confs[2].read_text() + "# by hand\n"
    acme.confs[2].write_text(by_hand)

    acme.advance(rollout)

    assert rollout.state == "failed"
    assert acme.states(rollout) == ["skipped", "skipped", "failed"]
    assert acme.texts() == [conf_text(), conf_text(), by_hand]
    assert [pgpool.reload_count for pgpool in acme.pgpools] == [0, 0, 0]
    assert rollout.halt_reason.startswith("pgpool-3: base_changed")


def test_a_file_edited_between_check_and_write_is_left_as_it_is(acme: Scene) -> None:
    rollout = acme.request()
    by_hand = acme.confs[1].read_text() + "# by hand\n"

    def edit(look: int) -> None:
        if rollout.steps.filter(position=0, state="verified").exists():
            acme.confs[1].write_text(by_hand)

    acme.advance(rollout, clock=Clock(when_looked=edit))

    assert acme.states(rollout) == ["restored", "failed", "skipped"]
    assert rollout.state == "failed"  # pgpool-2 was about to be written, so it is not confirmed on its old file
    assert acme.texts() == [conf_text(), by_hand, conf_text()]


@pytest.mark.parametrize("mode", ["forget", "half_apply", "mixed", "lie"])
def test_a_pgpool_that_does_not_take_the_file_halts_the_rollout_and_all_get_the_old_one_back(
    acme: Scene, mode: Mode
) -> None:
    rollout = acme.request({"0": 1, "1": 1, "2": 3})
    acme.pgpools[1].mode = mode

    def mend(look: int) -> None:
        if Rollout.objects.get(pk=rollout.pk).is_halting:
            acme.pgpools[1].mode = "ok"

    acme.advance(rollout, clock=Clock(when_looked=mend))

    assert rollout.state == "rolled_back"
    assert acme.states(rollout) == ["restored", "restored", "skipped"]
    assert acme.texts() == [conf_text()] * 3
    assert acme.weights() == [OLD_WEIGHTS] * 3
    assert rollout.halt_reason.count("pgpool-2") == 1  # it is named once, whatever the reason says itself
    assert rollout.halt_reason.startswith("pgpool-2")
    assert ClusterEvent.objects.latest("pk").is_problem
    assert ClusterEvent.objects.latest("pk").detail == rollout.halt_reason


def frozen_on_the_way(acme: Scene) -> Callable[[int], None]:
    """pgpool-2 answers the check, and nothing once its own file was written."""

    def freeze(look: int) -> None:
        if RolloutStep.objects.filter(rollout__state__in=Rollout.ACTIVE, position=1, state="written").exists():
            acme.pgpools[1].mode = "hang"

    return freeze


@pytest.mark.waits
@pytest.mark.usefixtures("short_deadlines")
def test_a_frozen_pgpool_halts_the_rollout_and_is_confirmed_once_it_answers_again(acme: Scene) -> None:
    rollout = acme.request()

    acme.advance(rollout, clock=Clock(when_looked=frozen_on_the_way(acme)))

    assert rollout.state == "failed"
    assert acme.states(rollout) == ["restored", "restore_pending", "skipped"]
    assert acme.texts() == [conf_text()] * 3
    assert acme.weights() == [OLD_WEIGHTS] * 3

    acme.pgpools[1].mode = "ok"
    later = Clock(now=NOW + timedelta(minutes=5))
    restart = RollingRestart.objects.create(cluster=acme.cluster)
    assert rollout_rows.due_rollout_ids(now=later.now, restoring_for=rollouts.RESTORE_FOR) == []
    restart.delete()
    assert rollout_rows.due_rollout_ids(now=later.now, restoring_for=rollouts.RESTORE_FOR) == [rollout.pk]
    acme.advance(rollout, clock=later)

    assert rollout.state == "rolled_back"
    assert acme.states(rollout) == ["restored", "restored", "skipped"]


@pytest.mark.waits
@pytest.mark.usefixtures("short_deadlines")
def test_nobody_waits_long_for_a_frozen_pgpool(acme: Scene) -> None:
    """It may answer three times, and once about its old file, since it is asked again after the end anyway."""
    rollout = acme.request()

    acme.advance(rollout, clock=Clock(step_s=5, when_looked=frozen_on_the_way(acme)))

    problems = RolloutLog.objects.filter(rollout=rollout, instance_name="pgpool-2", is_problem=True)
    assert rollout.state == "failed"
    assert problems.count() == 4
    restored = list(RolloutLog.objects.filter(rollout=rollout, text__startswith="The old file is back").order_by("pk"))
    assert [line.instance_name for line in restored] == ["pgpool-1", "pgpool-2"]


def test_a_pgpool_whose_reload_is_refused_halts_the_rollout(acme: Scene) -> None:
    PgpoolInstance.objects.filter(name="pgpool-1").update(pcp_username="somebody")
    rollout = acme.request()

    acme.advance(rollout)

    assert acme.texts() == [conf_text()] * 3
    assert rollout.halt_reason.startswith("pgpool-1")
    assert acme.states(rollout) == ["restored", "skipped", "skipped"]
    assert rollout.state == "rolled_back"


def test_a_rollout_that_has_ended_is_left_alone(pair: Scene) -> None:
    rollout = pair.advance(pair.request())
    lines = RolloutLog.objects.count()

    pair.advance(rollout, holder="second")

    assert RolloutLog.objects.count() == lines
    assert [pgpool.reload_count for pgpool in pair.pgpools] == [1, 1]


def test_weights_that_stand_there_already_are_verified_too(pair: Scene) -> None:
    rollout = pair.advance(pair.request({"0": 0, "1": 1, "2": 1}))

    assert rollout.state == "verified"
    assert [pgpool.reload_count for pgpool in pair.pgpools] == [1, 1]
    assert rollout.steps.get(position=0).receipt["read_back"]["lb_weight"] == {"0": 0.0, "1": 0.5, "2": 0.5}
