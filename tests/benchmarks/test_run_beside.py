"""What the cluster did beside a run, as lines of charts: by REST, and on the page where there is something to show."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.clusters.models import Cluster
from tests.benchmarks.scene import RUNS, made_run
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

STANDBY = "127.0.0.1:5001"
Scripts = Callable[..., APIClient]


def looked(at_s: float, **changes: Any) -> dict[str, Any]:
    return {"at_s": at_s, "read_shares": None, "replay_lag_s": {}, "wal_bytes_per_s": None, "cache_hit_share": None} | (
        changes
    )


COURSE = [
    looked(1.0, replay_lag_s={STANDBY: 0.5, "gone:5432": None}),
    looked(3.0, read_shares={"10": 0.25, "2": 0.75}, replay_lag_s={STANDBY: None}, wal_bytes_per_s=3 * 1024**2),
]


def test_each_line_has_its_backend_its_unit_and_its_gaps(cluster: Cluster, api_client: Scripts) -> None:
    run = made_run(cluster, state="done", environment={"course": COURSE})

    lines = api_client("viewer").get(f"{RUNS}{run.pk}/course/").json()["beside"]

    assert [tuple(line.values()) for line in lines] == [
        ("read_shares", "share", 2, "127.0.0.1:5002", [[1, None], [3, 0.75]]),
        ("read_shares", "share", 10, "node 10", [[1, None], [3, 0.25]]),
        ("replay_lag_s", "s", 1, STANDBY, [[1, 0.5], [3, None]]),
        ("wal_bytes_per_s", "MiB/s", None, "primary", [[1, None], [3, 3]]),
    ]
    assert list(lines[0]) == ["metric", "unit", "node_id", "name", "points"]


@pytest.mark.parametrize("environment", [{}, {"course": []}, {"course": COURSE[:1]}])
def test_a_run_without_a_course_has_none(cluster: Cluster, api_client: Scripts, environment: dict[str, Any]) -> None:
    run = made_run(cluster, state="done", environment=environment)

    assert api_client("viewer").get(f"{RUNS}{run.pk}/course/").json()["beside"] == []


def test_the_page_asks_what_there_are_figures_for(cluster: Cluster, client_for: Callable[..., Client]) -> None:
    run = made_run(cluster, state="done", environment={"course": COURSE})

    told = text_of(client_for("viewer").get(f"/o/acme/benchmarks/runs/{run.pk}/"))

    assert "Where did the reads go?" in told
    assert "Did standbys fall behind?" in told
    assert "How much was written?" in told
    assert "Did the query cache answer?" not in told
