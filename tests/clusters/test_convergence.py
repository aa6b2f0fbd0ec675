"""Whether the reads follow a verified rollout: judged on what was counted since, and never too early."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from apps.clusters.control import convergence
from apps.clusters.domain import draws_needed, routing
from apps.clusters.history.append import InstanceSampleRow, NodeSampleRow, append
from apps.clusters.models import Rollout
from tests.clusters.rollout_scene import NOW, Scene

pytestmark = pytest.mark.django_db

VERIFIED_AT = NOW


@pytest.fixture
def rollout(pair: Scene) -> Rollout:
    """Verified, of weights 0 / 1 / 3."""
    rollout = pair.request()
    rollout.steps.update(state="verified", is_touched=True, verified_at=VERIFIED_AT)
    Rollout.objects.filter(pk=rollout.pk).update(state="verified", finished_at=VERIFIED_AT)
    rollout.refresh_from_db()
    return rollout


def after(seconds: float) -> datetime:
    return VERIFIED_AT + timedelta(seconds=seconds)


def count(pair: Scene, *, until_s: float, reads: tuple[int, int, int], sessions: int, only: str | None = None) -> None:
    """Each pgpool sends these reads in so many sessions between 2 s and until_s after the rollout was verified."""
    for instance in [each for each in pair.instances if only in {None, each.name}]:
        for at_s, share in ((2, 0), (until_s, 1)):
            append(
                nodes=[
                    NodeSampleRow(instance.pk, node_id, after(at_s), 1000 + share * reads[node_id], None, is_up=True)
                    for node_id in range(3)
                ],
                instances=[
                    InstanceSampleRow(
                        instance.pk, after(at_s), is_answering=True, children_used=0, session_count=share * sessions
                    )
                ],
            )


def test_reads_in_the_ratio_of_the_weights_converge(pair: Scene, rollout: Rollout) -> None:
    count(pair, until_s=60, reads=(0, 250, 750), sessions=50)

    convergence.judge_recent_rollouts(now=after(61))

    rollout.refresh_from_db()
    assert rollout.converged_at == after(61)
    assert rollout.convergence["state"] == "follows"
    assert rollout.convergence["sessions"] == 100
    # (1.96 / 0.10)^2 * 0.25 * 0.75 = 72.03
    assert rollout.convergence["needed_sessions"] == 73
    assert [(node["name"], node["observed_share"]) for node in rollout.convergence["nodes"]] == [
        ("pg1", 0.0),
        ("pg2", 0.25),
        ("pg3", 0.75),
    ]


def test_too_few_sessions_prove_nothing_yet(pair: Scene, rollout: Rollout) -> None:
    count(pair, until_s=60, reads=(0, 250, 750), sessions=36)  # 72 in all

    convergence.judge_recent_rollouts(now=after(61))

    rollout.refresh_from_db()
    assert rollout.converged_at is None
    assert rollout.convergence["sessions"] == 72


def test_reads_that_go_elsewhere_do_not_converge(pair: Scene, rollout: Rollout) -> None:
    count(pair, until_s=60, reads=(0, 750, 250), sessions=200)

    convergence.judge_recent_rollouts(now=after(61))

    rollout.refresh_from_db()
    assert rollout.converged_at is None
    assert rollout.convergence["state"] == "off"


def test_without_traffic_it_says_so(pair: Scene, rollout: Rollout) -> None:
    convergence.judge_recent_rollouts(now=after(61))

    rollout.refresh_from_db()
    assert rollout.converged_at is None
    assert rollout.convergence["state"] == "too_little_traffic"


def test_the_first_seconds_are_not_judged_since_polls_still_count_older_reads(rollout: Rollout) -> None:
    assert convergence.judge(rollout=rollout, now=after(3)) is None

    rollout.refresh_from_db()
    assert rollout.convergence is None


def test_reads_before_the_rollout_do_not_count(pair: Scene, rollout: Rollout) -> None:
    for instance in pair.instances:
        append(nodes=[NodeSampleRow(instance.pk, node_id, after(-60), 0, None, is_up=True) for node_id in range(3)])
    count(pair, until_s=60, reads=(0, 250, 750), sessions=50)

    convergence.judge_recent_rollouts(now=after(61))

    rollout.refresh_from_db()
    assert rollout.convergence["reads"] == 2000


@pytest.mark.parametrize("state", ["failed", "rolled_back", "cancelled"])
def test_only_verified_rollouts_are_judged(pair: Scene, rollout: Rollout, state: str) -> None:
    Rollout.objects.filter(pk=rollout.pk).update(state=state)

    convergence.judge_recent_rollouts(now=after(61))

    rollout.refresh_from_db()
    assert rollout.convergence is None


def test_after_an_hour_nobody_waits_any_more(rollout: Rollout) -> None:
    convergence.judge_recent_rollouts(now=after(3601))

    rollout.refresh_from_db()
    assert rollout.convergence is None


def test_a_rollout_that_a_newer_one_has_overtaken_is_not_judged(pair: Scene, rollout: Rollout) -> None:
    for step in rollout.steps.select_related("instance", "file"):
        assert step.instance is not None
        Path(step.instance.delivery_path).write_text(step.file.text)
    newer = pair.request({"0": 0, "1": 1, "2": 1})
    newer.steps.filter(position=0).update(is_touched=True)

    convergence.judge_recent_rollouts(now=after(61))

    rollout.refresh_from_db()
    assert rollout.convergence is None


def test_what_converged_once_stays_so(pair: Scene, rollout: Rollout) -> None:
    count(pair, until_s=60, reads=(0, 250, 750), sessions=50)
    convergence.judge_recent_rollouts(now=after(61))

    convergence.judge(rollout=rollout, now=after(600))

    rollout.refresh_from_db()
    assert rollout.converged_at == after(61)
    assert rollout.convergence["state"] == "follows"


def test_every_pgpool_is_judged_on_its_own_sessions(pair: Scene, rollout: Rollout) -> None:
    count(pair, until_s=60, reads=(0, 250, 750), sessions=80, only="pgpool-1")
    count(pair, until_s=60, reads=(0, 24, 76), sessions=20, only="pgpool-2")

    convergence.judge_recent_rollouts(now=after(61))

    rollout.refresh_from_db()
    first, second = (rollout.convergence["instances"][name] for name in ("pgpool-1", "pgpool-2"))
    assert rollout.converged_at == after(61)
    assert (first["converged_at"], first["missing_sessions"]) == (after(61).isoformat(), 0)
    assert first["sentence"] == "Reads follow the weights: 25.0 / 75.0 vs 25 / 75."
    assert (second["converged_at"], second["sessions"], second["missing_sessions"]) == (None, 20, 53)  # 73 - 20
    assert second["sentence"].endswith(" Needs about 53 more sessions.")
    assert [node["observed_share"] for node in second["nodes"]] == [0.0, 0.24, 0.76]
    # 0.25 +- 1.96 * sqrt(0.25 * 0.75 / 20)
    assert [second["nodes"][1][end] for end in ("low", "high")] == [
        pytest.approx(0.0602, abs=1e-4),
        pytest.approx(0.4398, abs=1e-4),
    ]


def test_a_pgpool_is_judged_on_until_it_follows_too(pair: Scene, rollout: Rollout) -> None:
    count(pair, until_s=60, reads=(0, 250, 750), sessions=80, only="pgpool-1")
    convergence.judge_recent_rollouts(now=after(61))
    count(pair, until_s=90, reads=(0, 300, 700), sessions=90, only="pgpool-2")

    convergence.judge_recent_rollouts(now=after(91))

    rollout.refresh_from_db()
    assert rollout.converged_at == after(61)
    assert rollout.convergence["converged_at"] == after(61).isoformat()
    assert rollout.convergence["end"] == after(91).isoformat()  # all together are judged on more sessions meanwhile
    instances = rollout.convergence["instances"]
    assert [instances[name]["converged_at"] for name in ("pgpool-1", "pgpool-2")] == [
        after(61).isoformat(),
        after(91).isoformat(),
    ]


def test_a_pgpool_counts_from_its_own_verification(pair: Scene, rollout: Rollout) -> None:
    rollout.steps.filter(instance_name="pgpool-2").update(verified_at=after(-30))
    count(pair, until_s=60, reads=(0, 250, 750), sessions=80)

    convergence.judge_recent_rollouts(now=after(61))

    rollout.refresh_from_db()
    starts = {name: one["start"] for name, one in rollout.convergence["instances"].items()}
    assert starts == {"pgpool-1": after(3).isoformat(), "pgpool-2": after(-27).isoformat()}


def test_a_pgpool_that_sends_its_reads_elsewhere_is_named(pair: Scene, rollout: Rollout) -> None:
    count(pair, until_s=60, reads=(0, 250, 750), sessions=400, only="pgpool-1")
    count(pair, until_s=60, reads=(0, 75, 25), sessions=80, only="pgpool-2")

    convergence.judge_recent_rollouts(now=after(61))

    rollout.refresh_from_db()
    second = rollout.convergence["instances"]["pgpool-2"]
    assert (second["state"], second["converged_at"]) == ("off", None)
    assert second["sentence"] == "Off: pg3 gets 50 points less than its weight."


def test_before_the_first_read_it_says_so(pair: Scene, rollout: Rollout) -> None:
    convergence.judge_recent_rollouts(now=after(5))

    rollout.refresh_from_db()
    assert rollout.convergence["instances"]["pgpool-1"]["sentence"] == "No reads yet. Needs about 73 more sessions."


def test_two_ticks_at_once_judge_once(rollout: Rollout, pair: Scene) -> None:
    """The one that comes second sees what the first has stored, or leaves it alone."""
    count(pair, until_s=60, reads=(0, 250, 750), sessions=80)
    stale = Rollout.objects.get(pk=rollout.pk)
    convergence.judge(rollout=rollout, now=after(61))

    convergence.judge(rollout=stale, now=after(70))

    rollout.refresh_from_db()
    assert rollout.converged_at == after(61)
    assert rollout.convergence["instances"]["pgpool-1"]["converged_at"] == after(61).isoformat()


@pytest.mark.parametrize(
    ("weights", "needed"),
    [
        ({0: 0, 1: 1, 2: 1}, 97),  # 3.8416 * 0.25 / 0.01 = 96.04
        ({0: 0, 1: 1, 2: 3}, 73),
        ({0: 0, 1: 0, 2: 1}, 10),  # no spread at all
    ],
)
def test_the_sessions_needed_make_the_widest_band_ten_points(weights: dict[int, float], needed: int) -> None:
    verdict = routing.verdict(weights=weights, select_counts={}, sessions=None, statement_level=False)

    assert draws_needed.needed_draws(verdict) == needed
