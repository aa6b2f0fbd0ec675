"""The scene that most tests of clusters begin with."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import rollout_actions, rollout_rows
from tests.clusters.rollout_scene import Scene, scene


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    """The cluster orders of the organisation acme: two pgpools that are fakes, with real files."""
    with scene(tmp_path, settings, pgpools=2) as found:
        yield found


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake has its new values at once or never; and no lease ends but by the test."""
    monkeypatch.setattr(rollout_actions, "READ_BACK_PATIENCE_S", 0.05)
    monkeypatch.setattr(rollout_rows, "LEASE", timedelta(hours=1))
