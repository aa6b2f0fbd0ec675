"""What pgpool would misread in an edited file is told before it is adopted; halting would take the edit back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import adoptable
from apps.clusters.models import InstanceConfig, Rollout
from apps.clusters.polling import file_watch
from tests.clusters.callers_at_doors import script
from tests.clusters.rollout_scene import NOW, Scene, conf_text, scene

pytestmark = pytest.mark.django_db

ADOPT = "/api/v1/clusters/orders/drift/adopt/"


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=2) as found:
        found.cluster.instances.update(version="4.3.5")
        yield found


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("frobnicate = 1\n", "line 14: frobnicate is no parameter"),
        ("load_balance_mod = on\n", "expected load_balance_mode"),
        ("log_connections = maybe\n", "line 14: log_connections: 'maybe' is neither on nor off"),
        ("\ufefflog_connections = on\n", "log_connections' is no parameter"),
    ],
)
def test_what_pgpool_would_misread_is_not_adopted_and_stays(pair: Scene, line: str, reason: str) -> None:
    file_watch.look(holder="watcher", clock=lambda: NOW, deadline_s=5)
    pair.confs[1].write_text(conf_text() + line)

    answer = script("operator").post(ADOPT, {}, content_type="application/json")

    assert answer.status_code == 409
    assert reason in answer.json()["detail"]
    assert "pgpool-2: " in answer.json()["detail"]
    assert not Rollout.objects.exists()
    assert pair.confs[1].read_text() == conf_text() + line


def test_the_page_says_it_before_anybody_asks(pair: Scene) -> None:
    file_watch.look(holder="watcher", clock=lambda: NOW, deadline_s=5)
    pair.confs[1].write_text(conf_text() + "frobnicate = 1\n")
    InstanceConfig.objects.update(looked_at=None)

    file_watch.look(holder="watcher", clock=lambda: NOW, deadline_s=5)

    assert "frobnicate is no parameter" in InstanceConfig.objects.get(instance__name="pgpool-2").fault


def test_a_line_added_at_the_end_counts_and_what_was_wrong_before_is_left(pair: Scene) -> None:
    verified = conf_text() + "frobnicate = 1\n"
    [first, _] = pair.instances

    assert adoptable.fault_of(first, verified + "delay_threshold = 5\n", verified=verified) == ""
    assert "frobnicate" in adoptable.fault_of(first, verified.replace("= 1\n", "= 2\n"), verified=verified)
