"""The files as they were registered are revision 1 from the first good look on, before anybody changes anything."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from apps.clusters.control import as_registered, revision_return, weight_change
from apps.clusters.control.weight_change import BaseChanged
from apps.clusters.models import Cluster, ConfigRevision, InstanceConfig, PgpoolInstance
from apps.clusters.polling import file_watch
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.drifting import Drifting, drifting_pair
from tests.clusters.rollout_scene import NEW_WEIGHTS, conf_text
from tests.clusters.seen_cluster import poll

HAND = "delay_threshold = 5"


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    with drifting_pair(tmp_path, settings, monkeypatch) as found:
        yield found


def numbers() -> list[tuple[int, str, str, str]]:
    found = ConfigRevision.objects.order_by("number")
    return list(found.values_list("number", "origin", "note", "author_name"))


BASELINE = (1, "live", "as registered", "Lifeguard")


@pytest.mark.django_db
def test_the_first_good_look_keeps_the_files_once(pair: Drifting) -> None:
    first, second = pair.look(), pair.look()

    assert numbers() == [BASELINE]
    revision = ConfigRevision.objects.get()
    assert [file.text for file in revision.files.order_by("instance_name")] == [conf_text()] * 2
    assert revision.weights == {name: {"0": 0, "1": 1, "2": 1} for name in ("pgpool-1", "pgpool-2")}
    for found in (first, second):
        assert (found["state"], [each["revision"] for each in found["instances"]]) == ("in_step", [1, 1])
    page = browser("viewer").get("/o/acme/clusters/orders/revisions/1/").content.decode()
    assert "By Lifeguard" in page


@pytest.mark.django_db
def test_nothing_is_kept_before_every_file_was_read(pair: Drifting) -> None:
    missing = pair.scene.confs[1].rename(pair.scene.confs[1].with_suffix(".away"))
    pair.look()
    assert numbers() == []

    missing.rename(pair.scene.confs[1])
    pair.look()

    assert numbers() == [BASELINE]


@pytest.mark.django_db
def test_a_hand_edit_before_the_first_rollout_is_drift_and_can_be_gone_back_from(pair: Drifting) -> None:
    pair.look()
    pair.edit("delay_threshold = 1000", HAND)

    found = pair.look()
    assert (found["state"], found["instances"][1]["revision"]) == ("drifted", 1)
    with pytest.raises(BaseChanged, match="pgpool-2 was changed outside Lifeguard"):
        pair.scene.request()
    back = revision_return.request_return(
        caller=pair.scene.caller,
        cluster=pair.scene.cluster,
        revision=ConfigRevision.objects.get(number=1),
        base=weight_change.LIVE,
        now=pair.now,
    )

    assert pair.scene.advance(back).state == "verified"
    assert pair.scene.texts() == [conf_text()] * 2
    assert [number for number, *_ in numbers()] == [1, 2, 3]
    assert HAND in ConfigRevision.objects.get(number=2).files.get(instance_name="pgpool-2").text


@pytest.mark.django_db
def test_a_first_change_after_it_is_revision_2(pair: Drifting) -> None:
    pair.look()

    rollout = pair.scene.request()

    assert (rollout.revision.number, len(numbers())) == (2, 2)


@pytest.mark.django_db
def test_what_is_observe_only_has_no_file_to_keep(pair: Drifting) -> None:
    observed = {"delivery_kind": "observe", "delivery_path": "", "delivery_target": None}
    PgpoolInstance.objects.update(**observed)
    file_watch.look(holder="watcher", clock=lambda: pair.now, deadline_s=5)
    assert numbers() == []

    PgpoolInstance.objects.filter(name="pgpool-1").update(
        delivery_kind="local", delivery_path=str(pair.scene.confs[0]), delivery_target=str(pair.scene.confs[0])
    )
    pair.look()

    assert numbers() == [BASELINE]
    assert list(ConfigRevision.objects.get().files.values_list("instance_name", flat=True)) == ["pgpool-1"]


@pytest.mark.django_db
def test_a_draft_that_was_begun_before_is_not_overtaken_by_it(pair: Drifting) -> None:
    writer, address = script("operator"), "/api/v1/clusters/orders/draft/"
    version = writer.patch(address, {"parameters": {"max_pool": "8"}}, format="json").json()["version"]

    pair.look()

    body = writer.get(address).json()
    assert (body["base_revision"], body["newer"], body["version"]) == (1, [], version)


@pytest.mark.django_db
def test_weights_that_were_only_found_are_not_said_to_be_wanted(pair: Drifting) -> None:
    pair.edit("backend_weight1 = 1 ", "backend_weight1 = 3 ")
    pair.look()
    poll(pair.scene.cluster, seen_at=pair.now)

    found = script("viewer").get("/api/v1/clusters/orders/disagreements/").json()["findings"]

    assert numbers() == [BASELINE]
    assert not any("revision 1 says" in each["message"] for each in found)


@pytest.mark.django_db
def test_one_whose_files_cannot_be_kept_holds_up_no_other(
    pair: Drifting, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**_given: object) -> None:
        raise ValueError("odd file")

    monkeypatch.setattr(as_registered, "store_found", fail)

    assert pair.look()["state"] == "in_step"
    assert "the files could not be kept as registered" in caplog.text
    assert not InstanceConfig.objects.exclude(lease_holder="").exists()


def at_once(*works: Callable[[], object]) -> None:
    """Each in a thread with a connection of its own; all begin together."""
    barrier = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        try:
            barrier.wait(timeout=30)
            work()
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.django_db(transaction=True)
def test_workers_that_look_at_once_and_a_change_make_it_one_revision(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with drifting_pair(tmp_path, settings, monkeypatch) as pair:
        InstanceConfig.objects.bulk_create(
            InstanceConfig(instance=each, first_text=conf_text(), file_sha256="known", looked_at=pair.now)
            for each in pair.scene.instances
        )
        key = Cluster.objects.get().pk

        at_once(
            lambda: as_registered.store_found(cluster_id=key),
            lambda: as_registered.store_found(cluster_id=key),
            lambda: pair.scene.request(NEW_WEIGHTS),
        )

    assert [(number, note) for number, _, note, _ in numbers()] == [(1, "as registered"), (2, "")]
