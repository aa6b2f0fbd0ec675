"""Whether reads follow where pgpool counts no sessions: told by how far the shares moved, in reads."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.clusters.control import convergence
from apps.clusters.history.append import InstanceSampleRow, NodeSampleRow, append
from apps.clusters.models import InstanceLatest, NodeLatest, PgpoolInstance, Rollout
from apps.clusters.polling.draws import measure_draws
from apps.clusters.queries.rollouts import rollout_answer
from tests.clusters.rollout_scene import NOW, Scene, scene
from tests.clusters.seen_cluster import poll

pytestmark = pytest.mark.django_db

SESSION_READS = 40


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=1) as found:
        PgpoolInstance.objects.update(version="4.1.2")
        poll(found.cluster, seen_at=NOW, since=NOW - timedelta(hours=1))
        yield found


def verified(acme: Scene, weights: object = None) -> Rollout:
    """Of weights 0 / 1 / 3 unless told."""
    rollout = acme.request(weights or {"0": 0, "1": 1, "2": 3})
    rollout.steps.update(state="verified", is_touched=True, verified_at=NOW)
    Rollout.objects.filter(pk=rollout.pk).update(state="verified", finished_at=NOW)
    NodeLatest.objects.update(weight_since=NOW)
    rollout.refresh_from_db()
    return rollout


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def count(acme: Scene, *, until_s: int, reads: tuple[int, int, int]) -> None:
    """These reads between 2 s and until_s after the rollout was verified; no sessions are told."""
    [instance] = acme.instances
    for at_s, share in ((2, 0), (until_s, 1)):
        append(
            nodes=[
                NodeSampleRow(instance.pk, one, after(at_s), 1000 + share * reads[one], None, is_up=True)
                for one in range(3)
            ],
            instances=[InstanceSampleRow(instance.pk, after(at_s), True, session_count=None, children_used=0)],
        )


def sessions(acme: Scene, *, until_s: int) -> None:
    """Every second one session of 40 reads, one of four from pg2, the others from pg3, as chance has it."""
    random = np.random.default_rng(11)
    [instance] = acme.instances
    reads = {0: 0, 1: 0, 2: 0}
    nodes, rows = [], []
    for at_s in range(until_s):
        reads[1 if random.random() < 0.25 else 2] += SESSION_READS
        nodes += [NodeSampleRow(instance.pk, one, after(at_s), reads[one], None, is_up=True) for one in reads]
        rows.append(InstanceSampleRow(instance.pk, after(at_s), True, session_count=None, children_used=0))
    append(nodes=nodes, instances=rows)


def judged(rollout: Rollout, at_s: float) -> dict[str, Any]:
    convergence.judge_recent_rollouts(now=after(at_s))
    rollout.refresh_from_db()
    return dict(rollout.convergence)


def test_before_anything_was_measured_it_says_what_it_takes(acme: Scene) -> None:
    rollout = verified(acme)
    count(acme, until_s=60, reads=(0, 25_000, 75_000))

    found = judged(rollout, 61)

    assert (found["converged_at"], found["missing_sessions"], found["missing_reads"]) == (None, None, None)
    assert found["sentence"] == (
        "Cannot tell: sessions are not counted, and pgpool draws a backend once per session. How far the shares move "
        "tells it instead, once there were about 5 min of reads under the same weights."
    )


def test_how_far_the_shares_moved_lets_the_reads_converge(acme: Scene) -> None:
    rollout = verified(acme)
    sessions(acme, until_s=900)

    measure_draws(acme.cluster.pk, now=after(900))
    found = judged(rollout, 900)

    measured = InstanceLatest.objects.get().draws_per_read
    assert measured is not None
    assert 0.5 / SESSION_READS < measured < 2 / SESSION_READS
    # 300 sessions in the latest five minutes: even half as many are enough.
    assert (rollout.converged_at, found["sessions"], found["missing_reads"]) == (after(900), None, 0)
    assert found["evidence"].startswith("reads that weigh like ")


def test_what_was_measured_before_counts_at_once(acme: Scene) -> None:
    rollout = verified(acme)
    InstanceLatest.objects.update(draws_per_read=1 / SESSION_READS)
    count(acme, until_s=60, reads=(0, 1000, 3000))  # like 100 sessions, and it takes 73

    found = judged(rollout, 61)

    assert rollout.converged_at == after(61)
    assert found["sentence"] == "Reads follow the weights: 25.0 / 75.0 vs 25 / 75."
    assert (found["missing_sessions"], found["missing_reads"]) == (None, 0)
    assert found["evidence"] == "reads that weigh like 100 sessions"


def test_what_is_missing_is_said_in_reads(acme: Scene) -> None:
    rollout = verified(acme)
    InstanceLatest.objects.update(draws_per_read=1 / SESSION_READS)
    count(acme, until_s=60, reads=(0, 250, 750))  # like 25 sessions: 48 are missing, of 40 reads each

    found = judged(rollout, 61)

    assert (found["converged_at"], found["missing_reads"]) == (None, 1920)
    assert found["sentence"].endswith(" Needs about 1,920 more reads.")
    assert found["evidence"] == "reads that weigh like 25 sessions, needs about 1,920 more reads"
    assert found["instances"]["pgpool-1"]["missing_reads"] == 1920
    told = rollout_answer(rollout=rollout, caller=acme.caller, now=after(3700))
    assert told["reads_ended"].endswith("within an hour; it needed about 1,920 more reads.")


def test_without_reads_it_says_how_many_it_takes(acme: Scene) -> None:
    rollout = verified(acme)
    InstanceLatest.objects.update(draws_per_read=1 / SESSION_READS)

    found = judged(rollout, 61)

    assert found["sentence"] == "No reads yet. Needs about 2,920 more reads."  # 73 sessions of 40 reads each


@pytest.mark.parametrize(
    ("reads", "state", "has_converged"),
    [
        ((0, 0, 4000), "follows", True),
        ((0, 0, 150), "too_little_traffic", False),  # 300 say that less than 1 in 100 goes elsewhere
        ((0, 80, 3920), "off", False),
    ],
)
def test_where_one_backend_takes_all_no_chance_is_to_be_measured(
    acme: Scene, reads: tuple[int, int, int], state: str, has_converged: bool
) -> None:
    rollout = verified(acme, {"0": 0, "1": 0, "2": 1})
    count(acme, until_s=60, reads=reads)

    found = judged(rollout, 61)

    assert (found["state"], found["converged_at"] is not None) == (state, has_converged)


def test_one_that_should_count_sessions_and_did_not_is_not_told_by_guessing(acme: Scene) -> None:
    PgpoolInstance.objects.update(version="4.3.5")
    rollout = verified(acme)
    count(acme, until_s=60, reads=(0, 25_000, 75_000))

    found = judged(rollout, 61)

    assert (found["converged_at"], found["evidence"]) == (None, "sessions are not counted")
    assert found["sentence"].endswith("pgpool draws a backend once per session.")
