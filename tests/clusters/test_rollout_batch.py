"""What many pgpools came to is stored with few statements, and by compare-and-set all the same."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.clusters.control import rollout_rows
from apps.clusters.control.rollout_batch import Batch
from apps.clusters.models import Rollout, RolloutStep
from tests.clusters.rollout_scene import NOW, Scene, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def four(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=4) as found:
        yield found


@pytest.fixture
def rollout(four: Scene) -> Rollout:
    found = four.request()
    assert rollout_rows.take_lease(found.pk, "worker")
    return found


def _store(rollout: Rollout, *, steps: list[RolloutStep], holder: str = "worker") -> None:
    batch = Batch(rollout, holder)
    with transaction.atomic():
        for step in steps[:2]:
            batch.change(step, state="written", attempts=0, written_at=NOW, receipt={"sha256_after": "ab'c"})
        for step in steps[2:]:
            batch.change(step, attempts=1, error="it's gone", retry_at=NOW)
        batch.log("looked")
        batch.log("gone", instance_name="pgpool-4", is_problem=True)
        batch.store(now=NOW)


def test_steps_that_change_alike_are_stored_together(rollout: Rollout) -> None:
    steps = list(rollout.steps.order_by("position"))

    with CaptureQueriesContext(
        connection,
    ) as asked:
        _store(rollout, steps=steps)

    written = [query["sql"].split()[0] for query in asked if query["sql"].split()[0] in ("UPDATE", "INSERT")]
    assert written == ["UPDATE", "UPDATE", "INSERT"]
    for stored in (steps, list(rollout.steps.order_by("position"))):
        assert [(step.state, step.attempts, step.written_at) for step in stored] == (
            [("written", 0, NOW)] * 2 + [("pending", 1, None)] * 2
        )
        assert [step.receipt for step in stored[:2]] == [{"sha256_after": "ab'c"}] * 2
        assert [(step.error, step.retry_at) for step in stored[2:]] == [("it's gone", NOW)] * 2
    assert list(rollout.log.order_by("pk").values_list("text", "instance_name", "is_problem"))[-2:] == [
        ("looked", "", False),
        ("gone", "pgpool-4", True),
    ]


@pytest.mark.parametrize("lost", ["state", "attempts", "lease", "holder"])
def test_nothing_of_a_turn_is_stored_when_somebody_was_there_first(rollout: Rollout, lost: str) -> None:
    steps = list(rollout.steps.order_by("position"))
    if lost == "lease":
        Rollout.objects.filter(pk=rollout.pk).update(lease_expires_at=NOW - timedelta(days=365))
    elif lost != "holder":
        RolloutStep.objects.filter(pk=steps[1].pk).update(
            **{"state": {"state": "failed"}, "attempts": {"attempts": 3}}[lost]
        )
    before = list(rollout.steps.order_by("position").values())

    with pytest.raises(rollout_rows.LeaseLost):
        _store(rollout, steps=steps, holder="somebody else" if lost == "holder" else "worker")

    assert list(rollout.steps.order_by("position").values()) == before
    assert not rollout.log.filter(text="looked").exists()


def test_a_step_is_changed_once_in_a_turn(rollout: Rollout) -> None:
    step = rollout.steps.order_by("position")[0]
    batch = Batch(rollout, "worker")
    batch.change(step, attempts=1)

    with pytest.raises(ValueError, match="changed twice"):
        batch.change(step, attempts=2)
