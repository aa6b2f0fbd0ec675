"""Files edited by hand: seen, told once, adopted or reverted; with real files and pgpools that are fakes."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import AuditEntry
from apps.clusters.control import drift_changes, parameter_change, rollouts
from apps.clusters.control.drift_changes import DriftRefused
from apps.clusters.control.revisions import ConfigUnusable, ObserveOnly
from apps.clusters.control.writes import WritesStopped
from apps.clusters.models import ClusterEvent, InstanceConfig, PgpoolInstance, Rollout, WritesSwitch
from apps.clusters.polling import file_watch
from apps.clusters.polling.running_values import RUNNING_IS_OLD
from tests.clusters.drifting import Drifting, drifting_pair
from tests.clusters.owing import away
from tests.clusters.rollout_scene import NOW, SECRET, Clock, conf_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    with drifting_pair(tmp_path, settings, monkeypatch) as found:
        yield found


def test_what_was_found_first_is_in_step_and_what_is_edited_later_is_drift(pair: Drifting) -> None:
    assert pair.answer()["state"] == "looking"
    assert pair.look()["state"] == "in_step"

    pair.edit("backend_weight1 = 1 ", "backend_weight1 = 9 ", reload=False)
    found = pair.look()

    assert found["state"] == "drifted"
    assert found["sentence"] == "Edited by hand on pgpool-2: backend_weight1 1 → 9."
    [only] = found["differences"]
    assert (only["instance"], only["parameter"]) == ("pgpool-2", "backend_weight1")
    assert (only["verified"], only["file"], only["running"]) == ("1", "9", "1")
    assert only["kind"] == "not_reloaded"
    assert [each["state"] for each in found["instances"]] == ["in_step", "drifted"]
    assert found["can_adopt"]
    assert found["can_revert"]


def test_children_that_disagree_are_told_as_mixed_and_not_as_one_of_them(pair: Drifting) -> None:
    pair.look()
    pair.scene.pgpools[1].mode = "mixed"
    pair.edit("delay_threshold = 1000", "delay_threshold = 5")

    [only] = pair.look()["differences"]

    assert only["kind"] == "mixed"
    assert sorted(set((only["running"] or "").split(" / "))) == ["1000", "5"]
    assert only["meaning"].startswith("pgpool's children disagree")
    assert pair.told() == ["Edited by hand on pgpool-2: delay_threshold 1000 → 5"]

    pair.scene.pgpools[1].mode = "ok"
    [only] = pair.look()["differences"]
    assert (only["kind"], only["running"]) == ("edited_live", "5")


def test_children_that_still_disagree_after_the_file_was_put_back_are_not_in_step(pair: Drifting) -> None:
    pair.look()
    pair.edit("delay_threshold = 1000", "delay_threshold = 5")
    pair.look()
    pair.scene.pgpools[1].mode = "mixed"
    pair.edit("delay_threshold = 5", "delay_threshold = 1000")

    found = pair.look()

    assert [(one["kind"], one["file"]) for one in found["differences"]] == [("mixed", "1000")]
    assert pair.told()[-1].startswith("pgpool-2 does not use its file: delay_threshold is ")
    pair.scene.pgpools[1].mode = "ok"
    assert pair.look()["state"] == "in_step"


def test_a_pgpool_that_opens_no_session_is_told_by_what_it_showed_latest(pair: Drifting) -> None:
    pair.look()
    pair.edit("delay_threshold = 1000", "delay_threshold = 5")
    away(pair.scene)

    assert pair.look()["differences"][0]["kind"] == "edited_live"


def test_a_change_is_told_once_and_its_end_too(pair: Drifting) -> None:
    pair.look()
    pair.edit("backend_weight1 = 1 ", "backend_weight1 = 9 ", reload=False)
    pair.look()
    pair.scene.pgpools[1].reload()
    assert pair.look()["differences"][0]["kind"] == "edited_live"
    pair.edit("backend_weight1 = 9 ", "backend_weight1 = 1 ")
    pair.look()

    assert pair.told() == [
        "Edited by hand on pgpool-2: backend_weight1 1 → 9",
        "pgpool-2 is as it was verified again",
    ]


def test_comments_and_order_are_no_drift_but_can_be_adopted(pair: Drifting) -> None:
    pair.look()
    pair.edit("# kept as it is", "# written by hand\n\n")

    found = pair.look()

    assert (found["state"], found["differences"]) == ("in_step", [])
    assert found["instances"][1]["is_only_text"]
    assert "comments, spacing or order only" in found["instances"][1]["sentence"]
    assert pair.adopt("pgpool-2").state == "verified"
    assert not pair.look()["instances"][1]["is_only_text"]


def test_a_secret_is_told_without_its_value(pair: Drifting) -> None:
    pair.look()
    pair.edit(SECRET, "another-secret")

    found = pair.look()

    assert found["differences"][0]["parameter"] == "sr_check_password"
    assert pair.told() == ["Edited by hand on pgpool-2: sr_check_password was changed"]
    kept = list(InstanceConfig.objects.values_list("differences", "reason", "running"))
    assert "another-secret" not in str([found, kept[0][0], kept[1][0], *ClusterEvent.objects.values_list("detail")])


def test_an_adopted_file_is_a_revision_that_was_read_back(pair: Drifting) -> None:
    pair.look()
    pair.edit("backend_weight1 = 1 ", "backend_weight1 = 9 ", reload=False)
    pair.look()

    rollout = pair.adopt()

    assert rollout.state == "verified", list(rollout.log.values_list("text", flat=True))
    assert rollout.revision.origin == "adopted"
    file = rollout.revision.files.get()
    assert (file.instance_name, file.base_text) == ("pgpool-2", conf_text())
    assert pair.scene.pgpools[1].weights == {0: 0.0, 1: 9.0, 2: 1.0}
    assert pair.scene.confs[1].read_text() == conf_text(weights=("0", "9", "1"))
    assert AuditEntry.objects.latest("pk").action == "drift.adopted"
    assert pair.look()["state"] == "in_step"
    assert pair.answer()["instances"][1]["revision"] == rollout.revision.number


def test_what_was_edited_after_an_adoption_is_drift_against_that(pair: Drifting) -> None:
    pair.look()
    pair.edit("backend_weight1 = 1 ", "backend_weight1 = 9 ")
    pair.look()
    pair.adopt()
    pair.look()
    pair.edit("backend_weight1 = 9 ", "backend_weight1 = 4 ")

    [only] = pair.look()["differences"]
    assert (only["verified"], only["file"]) == ("9", "4")

    rollout = pair.revert("pgpool-2")
    assert (rollout.state, rollout.revision.origin) == ("verified", "reverted")
    assert pair.scene.weights() == [{0: 0.0, 1: 1.0, 2: 1.0}, {0: 0.0, 1: 9.0, 2: 1.0}]
    assert AuditEntry.objects.latest("pk").action == "drift.reverted"
    assert pair.look()["state"] == "in_step"


def test_only_the_chosen_pgpool_is_touched(pair: Drifting) -> None:
    pair.look()
    for number in (1, 2):
        pair.edit("delay_threshold = 1000", f"delay_threshold = {number}", number=number)
    found = pair.look()
    assert found["sentence"] == "Edited by hand on pgpool-1: delay_threshold 1000 → 1; also on pgpool-2."

    pair.revert("pgpool-1")

    assert pair.scene.texts()[0] == conf_text()
    [only] = pair.look()["differences"]
    assert (only["instance"], only["file"]) == ("pgpool-2", "2")


def test_a_line_that_is_gone_is_adopted_with_its_default_written_out(pair: Drifting) -> None:
    pair.look()
    pair.edit("delay_threshold = 1000\n", "")

    assert pair.look()["differences"][0]["kind"] == "missing"
    assert pair.adopt().state == "verified"
    assert pair.scene.texts()[1] == conf_text().replace("delay_threshold = 1000", "delay_threshold = 0")
    assert pair.look()["state"] == "in_step"


def test_a_line_that_was_added_is_reverted_to_its_default(pair: Drifting) -> None:
    pair.look()
    pair.edit("delay_threshold = 1000\n", "delay_threshold = 1000\nlog_connections = on\n")

    assert [(each["verified"], each["file"]) for each in pair.look()["differences"]] == [(None, "on")]
    assert pair.revert().state == "verified"
    assert pair.scene.pgpools[1].values["log_connections"] == "off"
    assert pair.look()["state"] == "in_step"


def test_what_a_halted_rollout_has_put_back_is_as_verified(pair: Drifting) -> None:
    pair.look()
    pair.scene.advance(pair.scene.request(), clock=Clock(now=pair.now))
    pair.look()
    pair.scene.pgpools[1].mode = "forget"
    asked = {"caller": pair.scene.caller, "cluster": pair.scene.cluster, "now": pair.now}

    wish = parameter_change.Wish(parameters={"log_connections": "on"})
    rollout = parameter_change.request_change(**asked, wish=wish)
    pair.now += timedelta(seconds=5)
    assert pair.scene.advance(rollout, clock=Clock(now=pair.now)).state in {"failed", "rolled_back"}
    pair.scene.pgpools[1].mode = "ok"
    pair.scene.pgpools[1].reload()

    assert (pair.look()["state"], pair.scene.pgpools[1].values["log_connections"]) == ("in_step", "off")


@pytest.mark.parametrize("broken", ["delay_threshold = 1000\n!!", "include 'x'"])
def test_a_file_that_pgpool_cannot_read_can_be_reverted_only(pair: Drifting, broken: str) -> None:
    pair.look()
    pair.edit("delay_threshold = 1000", broken, reload=False)

    found = pair.look()

    assert found["differences"][0]["kind"] == "unreadable"
    assert not found["can_adopt"]
    with pytest.raises(ConfigUnusable):
        pair.adopt()
    reverted = pair.revert()
    assert reverted.state == "verified"
    assert pair.scene.texts() == [conf_text()] * 2
    with pytest.raises(rollouts.RollbackRefused, match=r"stood on pgpool-2 before .* cannot be read, or includes"):
        rollouts.request_rollback(caller=pair.scene.caller, rollout=reverted, now=pair.now)
    assert pair.scene.texts() == [conf_text()] * 2


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("backend_weight1 = 1 ", "backend_weight1 = 1.0e999 ", "pgpool-2: backend_weight1 = '1.0e999' is no weight"),
        ("= 1   #", "= 0   #", "pgpool-2: all weights are 0: pgpool would send every read to node 0"),
    ],
)
def test_weights_that_pgpool_cannot_balance_by_are_not_adopted(pair: Drifting, old: str, new: str, reason: str) -> None:
    pair.look()
    pair.edit(old, new, reload=False)

    assert reason.removeprefix("pgpool-2: ") in pair.look()["instances"][1]["adopt_reason"]
    with pytest.raises(DriftRefused, match=reason.replace("'", ".")):
        pair.adopt()
    assert not Rollout.objects.exists()


def test_a_file_that_is_as_verified_and_not_in_force_is_reverted_by_a_reload(pair: Drifting) -> None:
    pair.look()
    pair.scene.pgpools[0].weights = {1: 7}

    found = pair.look()

    assert found["differences"][0]["kind"] == "not_in_force"
    assert found["sentence"] == "pgpool-1 does not use its file: backend_weight1 is 7, its file says 1."
    assert (found["can_adopt"], found["can_revert"]) == (False, True)
    assert pair.revert().state == "verified"
    assert pair.look()["state"] == "in_step"


def test_there_is_nothing_to_do_where_nothing_differs(pair: Drifting) -> None:
    found = pair.look()

    assert found["adopt_reason"].startswith("There is nothing to adopt")
    with pytest.raises(DriftRefused, match="nothing to adopt"):
        pair.adopt()
    with pytest.raises(DriftRefused, match="nothing to revert"):
        pair.revert("pgpool-1")
    with pytest.raises(drift_changes.UnknownInstances, match="'nobody'"):
        pair.revert("nobody")


def test_weights_that_differ_on_purpose_are_no_drift(pair: Drifting) -> None:
    pair.look()
    weights = {"0": 0, "1": 1, "2": 3}
    rollout = pair.scene.request(None, per_instance={"pgpool-1": weights, "pgpool-2": {"0": 0, "1": 3, "2": 1}})
    pair.scene.advance(rollout, clock=Clock(now=pair.now))

    assert pair.look()["state"] == "in_step"
    assert [each["revision"] for each in pair.answer()["instances"]] == [rollout.revision.number] * 2


def test_one_that_cannot_be_looked_at_is_named_and_hides_no_other(pair: Drifting) -> None:
    pair.look()
    pair.scene.confs[0].unlink()
    pair.edit("delay_threshold = 1000", "delay_threshold = 5")

    found = pair.look()

    assert [each["state"] for each in found["instances"]] == ["unknown", "drifted"]
    assert "is not a file that this worker can see" in found["instances"][0]["reason"]
    assert found["adopt_reason"] == "Not all at once: pgpool-1 cannot be. Take them one by one."
    assert pair.adopt("pgpool-2").state in {"verified", "failed", "rolled_back"}


def test_values_that_pgpool_showed_long_ago_are_not_held_against_its_file(pair: Drifting) -> None:
    pair.look()
    pair.now += RUNNING_IS_OLD
    file_watch.look(holder="watcher", clock=lambda: pair.now)

    assert pair.answer()["state"] == "unknown"
    assert pair.answer()["sentence"] == "pgpool-1 and pgpool-2 cannot be compared."


def test_observe_only_is_told_and_never_read(pair: Drifting) -> None:
    PgpoolInstance.objects.update(delivery_kind="observe", delivery_path="", delivery_target=None)

    found = pair.look()

    assert (found["state"], found["instances"][0]["reason"][:12]) == ("unknown", "Observe only")
    assert found["sentence"] == "The files of this cluster are not looked at: observe only."
    assert not InstanceConfig.objects.exclude(looked_at=None).exists()
    with pytest.raises(ObserveOnly):
        pair.revert()


def test_while_writes_are_stopped_drift_is_seen_and_left(pair: Drifting) -> None:
    pair.look()
    pair.edit("delay_threshold = 1000", "delay_threshold = 5")
    WritesSwitch.objects.create(organisation=None, is_stopped=True, changed_by_name="Ann", changed_at=NOW)

    found = pair.look()

    assert (found["state"], found["can_adopt"], found["can_revert"]) == ("drifted", False, False)
    assert "stopped by Ann" in found["adopt_reason"]
    with pytest.raises(WritesStopped):
        pair.revert()


def test_a_row_that_another_worker_holds_is_left_to_it(pair: Drifting) -> None:
    pair.look()
    file_watch._take("first", now=pair.now + timedelta(minutes=1))

    assert file_watch.look(holder="second", clock=lambda: pair.now + timedelta(minutes=1)) == 0
    InstanceConfig.objects.update(lease_expires_at=NOW - timedelta(days=9999))  # by the database's clock
    assert file_watch.look(holder="second", clock=lambda: pair.now + timedelta(minutes=1)) == 2
