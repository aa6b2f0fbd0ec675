"""Several pgpools, each within its bounds, that together ask for more sessions than a backend has: a warning."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.models import BackendLatest
from tests.clusters.callers_at_doors import script
from tests.clusters.drifting import Drifting, drifting_pair
from tests.clusters.rollout_scene import NOW

pytestmark = pytest.mark.django_db

REST = "/api/v1/clusters/orders/"
SUM = (
    "num_init_children × max_pool = 192 over 2 pgpools (pgpool-1: 96, pgpool-2: 96), but backend 0 lets others open 97"
)


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    with drifting_pair(tmp_path, settings, monkeypatch) as found:
        cluster = found.scene.cluster
        cluster.instances.update(version="4.3.5")
        BackendLatest.objects.bulk_create(
            BackendLatest(backend=backend, polled_at=NOW, connection_limit=97) for backend in cluster.backends.all()
        )
        found.look()
        yield found


def warnings(found: dict[str, Any]) -> list[str]:
    return [one["message"] for one in found["findings"] if one["severity"] == "warning"]


def test_validation_and_preview_tell_the_sum_and_let_it_go(pair: Drifting) -> None:
    operator = script("operator")
    wish = {"parameters": {"num_init_children": "48", "max_pool": "2"}}

    validated = operator.post(f"{REST}validate/", wish).json()
    previewed = operator.post(f"{REST}parameters/preview/", wish).json()

    for found in (validated, previewed):
        [only] = warnings(found)
        assert only.startswith(SUM)
        assert found["ok"]
    assert operator.put(f"{REST}parameters/", wish).status_code == 202


def test_pgpools_that_have_room_together_are_no_matter(pair: Drifting) -> None:
    operator = script("operator")
    wish = {"parameters": {"num_init_children": "24", "max_pool": "2"}}

    assert warnings(operator.post(f"{REST}validate/", wish).json()) == []
    assert warnings(operator.post(f"{REST}parameters/preview/", wish).json()) == []
