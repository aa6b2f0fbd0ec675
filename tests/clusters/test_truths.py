"""Every parameter that a rollout changes is read back on several sessions, and what was seen is kept as a receipt."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from apps.clusters.models import PendingRestart, Rollout, RolloutStep
from apps.clusters.polling import store
from apps.clusters.polling.instance_watch import InstanceWatch
from apps.clusters.polling.readings import InstanceReading
from apps.clusters.polling.registry import watched_clusters
from apps.clusters.queries.rollouts import rollout_answer
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import NOW, SECRET, Scene, conf_text, scene

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_patience")]


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    """One pgpool whose file is known, and is then edited by hand in three places."""
    with scene(tmp_path, settings, pgpools=1) as found:
        Rollout.objects.filter(pk=found.request().pk).update(state="cancelled")
        text = conf_text().replace("delay_threshold = 1000", "delay_threshold = 5\nnum_init_children = 64")
        found.confs[0].write_text(text.replace(SECRET, "another-secret"))
        yield found


def adopted(acme: Scene) -> RolloutStep:
    """The step of a rollout that takes the file as it is, which has to be read back."""
    return acme.advance(acme.request(None, base="live")).steps.get()


def truths(step: RolloutStep) -> dict[str, tuple[str, list[str | None]]]:
    return {
        one["name"]: (one["state"], one["seen"])
        for one in step.receipt["read_back"]["parameters"]
        if not one["name"].startswith("backend_weight")
    }


def poll_once(acme: Scene) -> None:
    [cluster] = watched_clusters(shard=0, shards=1, now=NOW)

    async def look() -> InstanceReading:
        watch = InstanceWatch(cluster.instances[0], sessions_before=0)
        try:
            return await watch.look(pool_nodes_every_s=3600)
        finally:
            await watch.close()

    store._note_settings(cluster, [asyncio.run(look())])


def test_what_was_edited_is_read_back_on_every_session(acme: Scene) -> None:
    acme.pgpools[0].values["sr_check_password"] = "*****"
    acme.pgpools[0].kept_on_reload = {"sr_check_password"}

    step = adopted(acme)

    assert step.state == "verified"
    assert truths(step) == {
        "delay_threshold": ("live", ["5"] * 3),
        "num_init_children": ("live", ["64"] * 3),
        "sr_check_password": ("hidden", ["*****"] * 3),
    }
    assert "secret" not in str(step.receipt)


@pytest.mark.parametrize(
    ("fault", "state", "reason"),
    [
        ("rejects", "rejected", "it keeps other values: delay_threshold is 1000, not 5"),
        ("does not know", "ignored", "this version does not know every name: delay_threshold is unknown to it"),
        ("half reloads", "mixed", "its children do not agree: delay_threshold is"),
    ],
)
def test_a_value_that_pgpool_does_not_take_halts_the_rollout(acme: Scene, fault: str, state: str, reason: str) -> None:
    pgpool = acme.pgpools[0]
    if fault == "rejects":
        pgpool.kept_on_reload = {"delay_threshold"}
    elif fault == "does not know":
        pgpool.unknown = {"delay_threshold"}
        del pgpool.values["delay_threshold"]
    else:
        pgpool.mode = "mixed"

    step = adopted(acme)

    assert truths(step)["delay_threshold"][0] == state
    assert reason in step.rollout.halt_reason
    assert step.rollout.state in {"rolled_back", "failed"}


def test_what_waits_for_a_restart_is_verified_and_waits_until_it_is_shown(acme: Scene) -> None:
    acme.pgpools[0].kept_on_reload = {"num_init_children"}

    step = adopted(acme)

    assert step.state == "verified"
    assert truths(step)["num_init_children"] == ("pending_restart", ["32"] * 3)
    waiting = PendingRestart.objects.get()
    assert (waiting.name, waiting.wanted, waiting.running) == ("num_init_children", "64", "32")
    assert (
        acme.cluster.rollouts.latest("pk").log.filter(text__contains="num_init_children waits for a restart").exists()
    )

    since = waiting.since
    conf = acme.confs[0]
    conf.write_text(conf.read_text().replace("num_init_children = 64", "num_init_children = 48"))
    adopted(acme)
    waiting = PendingRestart.objects.get()
    assert (waiting.wanted, waiting.since) == ("48", since)

    conf.write_text(conf.read_text().replace("num_init_children = 48", "num_init_children = 32"))
    adopted(acme)
    assert not PendingRestart.objects.exists()


def test_what_waits_is_told_everywhere_and_goes_when_polling_sees_it_used(acme: Scene) -> None:
    acme.pgpools[0].kept_on_reload = {"num_init_children"}
    rollout = adopted(acme).rollout
    viewer = browser("operator")

    told = {"instance": "pgpool-1", "parameter": "num_init_children", "file": "64", "running": "32"}
    [pending] = script("viewer").get("/api/v1/clusters/orders/").json()["pending_restarts"]
    assert pending.items() >= told.items()
    assert "uses 32" in viewer.get("/o/acme/clusters/orders/").content.decode()
    page = viewer.get(f"/o/acme/rollouts/{rollout.pk}/").content.decode()
    assert "with 1 value waiting for a restart" in page
    assert "num_init_children waits for a restart" in page

    acme.pgpools[0].restart()
    poll_once(acme)
    assert not PendingRestart.objects.exists()


def test_receipts_are_downloaded_by_page_and_by_rest(acme: Scene) -> None:
    rollout = adopted(acme).rollout

    by_rest = script("viewer").get(f"/api/v1/rollouts/{rollout.pk}/receipts/")
    by_page = browser("operator").get(f"/o/acme/rollouts/{rollout.pk}/receipts/")

    assert by_page.json().keys() == by_rest.json().keys()
    assert by_page["Content-Disposition"] == f'attachment; filename="rollout-{rollout.pk}-receipts.json"'
    [receipt] = by_rest.json()["receipts"]
    assert (receipt["instance"], receipt["requested_by"], receipt["delivery"]) == ("pgpool-1", "Ann", "local file")
    assert receipt["sha256_before"] == receipt["sha256_after"] == rollout.steps.get().file.sha256
    delay = next(one for one in receipt["values"] if one["parameter"] == "delay_threshold")
    assert delay == {
        "parameter": "delay_threshold", "wanted": "5", "seen": ["5"] * 3, "state": "live", "state_text": "in use"
    }  # fmt: skip
    assert by_page.json()["receipts"][0]["values"] == receipt["values"]
    assert "secret" not in by_rest.content.decode()


@pytest.mark.parametrize(
    ("name", "moves_reads", "after", "ended"),
    [
        ("log_statement", False, timedelta(0), "This change does not move reads."),
        ("delay_threshold", True, timedelta(0), ""),
        ("delay_threshold", True, timedelta(hours=2), "The reads were not seen to follow within an hour."),
    ],
)
def test_nobody_waits_for_ever_for_reads_to_follow(
    acme: Scene, name: str, moves_reads: bool, after: timedelta, ended: str
) -> None:
    adopted(acme)
    conf = acme.confs[0]
    conf.write_text(conf.read_text() + "log_statement = on\n" if name == "log_statement" else conf_text())
    rollout = adopted(acme).rollout
    rollout.refresh_from_db()
    assert rollout.finished_at is not None

    answer = rollout_answer(rollout=rollout, caller=acme.caller, now=rollout.finished_at + after)

    assert (answer["moves_reads"], answer["reads_ended"]) == (moves_reads, ended)


def test_a_later_change_ends_the_waiting_for_reads(acme: Scene) -> None:
    earlier = adopted(acme).rollout
    acme.advance(acme.request())

    answer = rollout_answer(rollout=earlier, caller=acme.caller, now=NOW)

    assert answer["reads_ended"] == "The reads were not seen to follow before the next change."


def test_the_receipt_of_a_step_that_has_ended_can_be_added_to_and_not_rewritten(acme: Scene) -> None:
    step = adopted(acme)
    steps = RolloutStep.objects.filter(pk=step.pk)

    steps.update(receipt={**step.receipt, "restore": {"reload": "sent"}})
    with pytest.raises(IntegrityError, match="has ended"), transaction.atomic():
        steps.update(receipt={**step.receipt, "sha256_after": "0" * 64})
