"""Where the reads stand after a rollout: told for the cluster and for every pgpool, on the page and by REST."""

import pytest
from django.utils import timezone

from apps.clusters.control import convergence
from apps.clusters.models import Rollout
from apps.clusters.queries.rollout_reads import reads_groups
from apps.clusters.queries.rollout_shapes import RolloutAnswer
from apps.clusters.queries.rollouts import rollout_answer
from tests.clusters.callers_at_doors import browser
from tests.clusters.rollout_scene import Scene
from tests.clusters.test_convergence import VERIFIED_AT, after, count
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

NAMES = {0: "pg1", 1: "pg2", 2: "pg3"}


@pytest.fixture
def rollout(pair: Scene) -> Rollout:
    """Verified, of weights 0 / 1 / 3."""
    rollout = pair.request()
    rollout.steps.update(state="verified", is_touched=True, verified_at=VERIFIED_AT)
    Rollout.objects.filter(pk=rollout.pk).update(state="verified", finished_at=VERIFIED_AT)
    return Rollout.objects.get(pk=rollout.pk)


def told(pair: Scene, rollout: Rollout) -> RolloutAnswer:
    return rollout_answer(rollout=rollout, caller=pair.caller, now=timezone.now())


def test_every_step_tells_its_own_reads(pair: Scene, rollout: Rollout) -> None:
    count(pair, until_s=60, reads=(0, 250, 750), sessions=80, only="pgpool-1")
    count(pair, until_s=60, reads=(0, 24, 76), sessions=20, only="pgpool-2")
    convergence.judge(rollout=rollout, now=after(61))

    answer = told(pair, rollout)

    first, second = answer["steps"]
    assert (answer["converged"], first["converged"], second["converged"]) == (True, True, False)
    assert first["reads_text"] == "25.0 / 75.0 vs 25 / 75 %, ±9 pp"  # 1.96 * sqrt(0.25 * 0.75 / 80)
    assert second["reads_text"] == "24.0 / 76.0 vs 25 / 75 %, ±19 pp"  # 1.96 * sqrt(0.25 * 0.75 / 20)
    assert second["convergence"] is not None
    assert second["convergence"]["evidence"] == "20 sessions, needs about 53 more"
    assert second["convergence"]["progress"] == pytest.approx(20 / 73)


def test_before_anything_is_counted_the_table_has_its_full_size(pair: Scene, rollout: Rollout) -> None:
    empty = reads_groups(told(pair, rollout), NAMES)
    count(pair, until_s=60, reads=(0, 250, 750), sessions=80)
    convergence.judge(rollout=rollout, now=after(61))
    full = reads_groups(told(pair, rollout), NAMES)

    assert [group["title"] for group in empty] == ["All pgpools", "pgpool-1", "pgpool-2"]
    assert [len(group["nodes"]) for group in empty] == [len(group["nodes"]) for group in full] == [3, 3, 3]
    assert [node["effective_share"] for node in empty[1]["nodes"]] == [0, 0.25, 0.75]
    assert [node["observed_share"] for node in empty[1]["nodes"]] == [None, None, None]


def test_the_page_keeps_verified_and_converged_apart_per_pgpool(pair: Scene, rollout: Rollout) -> None:
    count(pair, until_s=60, reads=(0, 250, 750), sessions=80, only="pgpool-1")
    count(pair, until_s=60, reads=(0, 24, 76), sessions=20, only="pgpool-2")
    convergence.judge(rollout=rollout, now=after(61))

    text = text_of(browser("viewer").get(f"/o/acme/rollouts/{rollout.pk}/"))

    for words in ("Configuration Reads", "Verified Follow", "Verified Collecting", "20 sessions, needs about 53 more"):
        assert words in text
