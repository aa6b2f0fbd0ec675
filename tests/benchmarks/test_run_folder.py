"""The folder of an attempt: what a killed one left goes, what is another installation's stays."""

import tempfile
from pathlib import Path

import pytest

from apps.benchmarks.control.run_folder import folder_of, prefix_of
from apps.clusters.models import Cluster
from tests.benchmarks.scene import made_run

pytestmark = pytest.mark.django_db


def test_only_what_an_attempt_of_the_same_run_left_is_removed(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run = made_run(cluster)
    left = Path(tempfile.mkdtemp(prefix=prefix_of(run)))
    elsewhere = Path(tempfile.mkdtemp(prefix=f"lifeguard-run-{run.pk}-0badcafe-"))

    with folder_of(run) as folder:
        during = sorted(tmp_path.iterdir())

    assert during == sorted([elsewhere, folder])
    assert not left.exists()
    assert list(tmp_path.iterdir()) == [elsewhere]
