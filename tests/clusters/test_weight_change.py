"""Weights that somebody wants: what is stored of them, and what is refused without storing anything."""

import threading
from typing import Any

import pytest
import redis
from celery import Celery
from django.db import connection, connections

from apps.accounts.models import AuditEntry
from apps.clusters.control import rollout_rows, weight_change
from apps.clusters.control.weight_change import RolloutRunning
from apps.clusters.domain.weights import WeightError
from apps.clusters.models import ClusterEvent, ConfigRevision, RevisionFile, Rollout
from tests.clusters.rollout_scene import NEW_WEIGHTS, SECRET, Scene, conf_text
from tests.clusters.wished_weights import assert_nothing_stored, finish

pytestmark = pytest.mark.django_db


def test_the_first_change_adopts_the_live_files_as_revision_1_and_stores_its_own_as_revision_2(pair: Scene) -> None:
    before = pair.texts()

    rollout = pair.request(note="more for pg3")

    live, edit = ConfigRevision.objects.order_by("number")
    assert (live.number, live.origin, edit.number, edit.origin, edit.note) == (1, "live", 2, "edit", "more for pg3")
    assert live.weights == {name: {"0": 0, "1": 1, "2": 1} for name in ("pgpool-1", "pgpool-2")}
    assert edit.weights == {name: {"0": 0, "1": 1, "2": 3} for name in ("pgpool-1", "pgpool-2")}
    assert rollout.revision == edit
    assert rollout.state == "pending"
    assert pair.states(rollout) == ["pending", "pending"]
    assert pair.texts() == before  # requesting writes nothing
    assert AuditEntry.objects.get().action == "weights.requested"
    assert ClusterEvent.objects.get().rollout == rollout


def test_the_audit_trail_tells_the_shares_by_name(pair: Scene) -> None:
    pair.request()

    entry = AuditEntry.objects.get()
    assert entry.before["shares"] == "pg1 0 %, pg2 50 %, pg3 50 %"
    assert entry.after["shares"] == "pg1 0 %, pg2 25 %, pg3 75 %"


def test_only_the_weights_of_the_file_change(pair: Scene) -> None:
    rollout = pair.request()

    file = rollout.revision.files.get(instance_name="pgpool-1")
    changed = [(a, b) for a, b in zip(file.base_text.split("\n"), file.text.split("\n"), strict=True) if a != b]
    assert changed == [("backend_weight2 = 1   # of node 2", "backend_weight2 = 3   # of node 2")]


def test_the_text_of_a_revision_lies_encrypted_in_the_table(pair: Scene) -> None:
    pair.request()

    with connection.cursor() as cursor:
        cursor.execute("SELECT text, base_text FROM clusters_revisionfile")
        stored = str(cursor.fetchall())
    assert SECRET not in stored
    assert SECRET in RevisionFile.objects.all()[0].text


def test_a_second_change_starts_from_what_the_first_one_left(pair: Scene) -> None:
    finish(pair.request())

    rollout = pair.request({"0": 0, "1": 2, "2": 1})

    assert [each.number for each in ConfigRevision.objects.order_by("number")] == [1, 2, 3]
    assert rollout.revision.number == 3


def test_the_same_weights_again_are_still_a_rollout(pair: Scene) -> None:
    finish(pair.request())

    again = pair.request()

    assert again.state == "pending"
    assert all(file.text == file.base_text for file in again.revision.files.all())


def test_fractions_are_written_as_the_smallest_integers_of_their_ratio(pair: Scene) -> None:
    rollout = pair.request({"0": 0, "1": 0.25, "2": 0.75})

    assert rollout.revision.weights["pgpool-1"] == {"0": 0, "1": 1, "2": 3}


def test_pgpools_may_get_different_weights(pair: Scene) -> None:
    other = {"0": 0, "1": 1, "2": 0}

    rollout = pair.request(None, per_instance={"pgpool-1": NEW_WEIGHTS, "pgpool-2": other})

    assert rollout.revision.weights == {"pgpool-1": NEW_WEIGHTS, "pgpool-2": other}


def test_base_live_takes_the_changed_file_as_a_revision_of_its_own_and_goes_on_from_it(pair: Scene) -> None:
    finish(pair.request())
    conf = pair.confs[1]
    conf.write_text(conf.read_text().replace("delay_threshold = 1000", "delay_threshold = 5"))

    rollout = pair.request({"0": 0, "1": 1, "2": 1}, base="live")

    assert [each.origin for each in ConfigRevision.objects.order_by("number")] == ["live", "edit", "live", "edit"]
    assert "delay_threshold = 5" in rollout.revision.files.get(instance_name="pgpool-2").text


def test_base_live_alone_rolls_out_the_files_as_they_are(pair: Scene) -> None:
    rollout = pair.request(None, base="live", note="as it stands")

    assert rollout.revision.origin == "live"
    assert rollout.revision.note == "as it stands"
    assert all(file.text == file.base_text for file in rollout.revision.files.all())


def test_a_cluster_found_with_all_weights_0_can_be_put_right(pair: Scene) -> None:
    for conf in pair.confs:
        conf.write_text(conf_text(weights=("0", "0", "0")))

    rollout = pair.request()

    assert rollout.revision.weights["pgpool-1"] == {"0": 0, "1": 1, "2": 3}
    found = ConfigRevision.objects.get(origin="live")
    assert found.weights["pgpool-1"] == {"0": 0, "1": 0, "2": 0}


def test_all_weights_0_are_never_rolled_out(pair: Scene) -> None:
    pair.confs[1].write_text(conf_text(weights=("0", "0", "0")))

    with pytest.raises(WeightError) as refused:
        pair.request(None, base="live")

    assert refused.value.field == "weights"
    assert_nothing_stored()


def test_after_a_rollback_the_old_file_is_what_is_known(pair: Scene) -> None:
    rollout = pair.request()
    finish(rollout, "rolled_back")
    rollout.steps.update(state="restored")

    assert pair.request().state == "pending"


def test_after_a_failed_step_either_file_is_known(pair: Scene) -> None:
    rollout = pair.request()
    finish(rollout, "failed")
    pair.confs[0].write_text(rollout.revision.files.get(instance_name="pgpool-1").text)

    assert pair.request().state == "pending"


def test_a_second_request_is_refused_while_a_rollout_is_active(pair: Scene) -> None:
    first = pair.request()

    with pytest.raises(RolloutRunning) as refused:
        pair.request()

    assert refused.value.rollout_id == first.pk
    assert Rollout.objects.count() == 1


def test_a_newer_rollout_ends_the_restoring_of_an_older_one(pair: Scene) -> None:
    old = pair.request()
    finish(old, "failed")
    old.steps.update(state="restore_pending")

    pair.request()

    assert set(pair.states(old)) == {"failed"}


@pytest.mark.django_db(transaction=True)
def test_of_two_requests_at_once_one_wins(pair: Scene) -> None:
    outcomes: list[object] = []
    gate = threading.Barrier(2, timeout=30)

    def ask() -> None:
        gate.wait()
        try:
            outcomes.append(pair.request().state)
        except RolloutRunning:
            outcomes.append("refused")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert sorted(map(str, outcomes)) == ["pending", "refused"]
    assert Rollout.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_away_refuses_no_request(pair: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    away = Celery("away", broker="redis://127.0.0.1:1/0", set_as_current=False)
    away.conf.broker_transport_options = {"socket_connect_timeout": 1}
    monkeypatch.setattr(rollout_rows, "current_app", away)

    rollout = pair.request()

    assert Rollout.objects.get(pk=rollout.pk).state == "pending"


@pytest.mark.django_db(transaction=True)
def test_a_request_nudges_a_worker_of_the_rollout_queue(pair: Scene, settings: Any) -> None:
    with redis.Redis.from_url(settings.REDIS_URL) as broker:
        before = broker.llen("rollout")

        pair.request()

        assert broker.llen("rollout") == before + 1


def test_a_preview_shows_the_masked_diff_and_the_expected_shares_and_stores_nothing(pair: Scene) -> None:
    pair.confs[0].write_text(
        pair.confs[0].read_text().replace("backend_weight0", "sr_check_user = 'm'\nbackend_weight0")
    )

    answer = weight_change.preview(cluster=pair.cluster, weights={"0": 1, "1": 1, "2": 2})

    first = answer["instances"][0]
    assert first["instance"] == "pgpool-1"
    assert first["weights"] == {"0": 1, "1": 1, "2": 2}
    assert first["shares"] == {"0": 0.25, "1": 0.25, "2": 0.5}
    assert first["changed_lines"] == 2
    assert [(line["sign"], line["text"]) for line in first["lines"] if line["sign"] != " "] == [
        ("-", "backend_weight0 = 0   # of node 0"),
        ("+", "backend_weight0 = 1   # of node 0"),
        ("-", "backend_weight2 = 1   # of node 2"),
        ("+", "backend_weight2 = 2   # of node 2"),
    ]
    assert SECRET not in str(answer)
    assert answer["summary"].startswith("2 of 2 pgpool.conf files change")
    assert_nothing_stored()


def test_a_preview_of_the_weights_that_stand_there_changes_no_line(pair: Scene) -> None:
    answer = weight_change.preview(cluster=pair.cluster, weights={"0": 0, "1": 1, "2": 1})

    assert [each["changed_lines"] for each in answer["instances"]] == [0, 0]
    assert answer["summary"].startswith("Every pgpool.conf has these weights already")


def test_a_preview_refuses_what_the_request_would_refuse(pair: Scene) -> None:
    with pytest.raises(WeightError, match=r"weights\.1"):
        weight_change.preview(cluster=pair.cluster, weights={"0": 0, "1": -1, "2": 1})
