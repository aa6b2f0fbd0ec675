"""Weights that differ from pgpool to pgpool on purpose, from the page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.models import Rollout
from tests.clusters.callers_at_doors import browser
from tests.clusters.rollout_scene import Scene, scene
from tests.clusters.seen_cluster import poll

pytestmark = pytest.mark.django_db
PAGE = "/o/acme/clusters/orders/weights/each/"


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=2) as found:
        for number, instance in enumerate(found.instances):
            instance.az = "ab"[number]
            instance.save()
        for backend in found.cluster.backends.all():
            backend.az = "aab"[backend.node_id]
            backend.save()
        poll(found.cluster)
        yield found


def fields(scene: Scene, *columns: tuple[str, ...]) -> dict[str, str]:
    return {
        f"weight_{instance.pk}_{node_id}": text
        for instance, column in zip(scene.instances, columns, strict=True)
        for node_id, text in enumerate(column)
    }


def test_each_pgpool_gets_its_own_weights(pair: Scene) -> None:
    operator = browser("operator")

    proposed = operator.get(f"{PAGE}?propose=own-az").content.decode()
    for name, text in fields(pair, ("0", "9", "1"), ("0", "1", "9")).items():
        assert f'name="{name}" min="0" step="any" value="{text}"' in proposed
    answer = operator.post(PAGE, fields(pair, ("0", "9", "1"), ("0", "1", "9")))

    rollout = Rollout.objects.get()
    assert answer["Location"] == f"/o/acme/rollouts/{rollout.pk}/"
    assert rollout.revision.weights == {
        "pgpool-1": {"0": 0, "1": 9, "2": 1}, "pgpool-2": {"0": 0, "1": 1, "2": 9}
    }  # fmt: skip


def test_a_file_that_was_edited_by_hand_is_told_and_can_be_gone_on_from(pair: Scene) -> None:
    pair.edit_by_hand()
    operator, wanted = browser("operator"), fields(pair, ("0", "9", "1"), ("0", "1", "9"))

    told = operator.post(PAGE, wanted)
    assert told.status_code == 409
    assert "pgpool-2: delay_threshold 1000 → 5" in told.content.decode()
    assert '<input type="hidden" name="base" value="live">' in told.content.decode()
    assert 'step="any" value="9"' in told.content.decode()
    odd = operator.post(PAGE, {**wanted, "base": "mine"})
    assert (odd.status_code, "The base" in odd.content.decode()) == (422, True)
    assert operator.post(PAGE, {**wanted, "base": "live"}).status_code == 303

    revision = Rollout.objects.latest("pk").revision
    assert revision.weights["pgpool-2"] == {"0": 0, "1": 1, "2": 9}
    assert "delay_threshold = 5" in revision.files.get(instance_name="pgpool-2").text


def test_odd_weights_are_refused_with_pgpool_and_backend_named(pair: Scene) -> None:
    operator = browser("operator")

    for text in ("abc", "-1", "1e400", "nan", "9" * 5000, "", "\0"):
        answer = operator.post(PAGE, fields(pair, ("0", "9", "1"), ("0", "1", text)))
        assert (answer.status_code, "pg3 on pgpool-2" in answer.content.decode()) == (422, True), text
    zero = operator.post(PAGE, fields(pair, ("0", "9", "1"), ("0", "0", "0")))
    assert (zero.status_code, "pgpool-2" in zero.content.decode()) == (422, True)
    assert not Rollout.objects.exists()
