"""Holds of pgpools whose version can never tell what a guard looks for: left out and said, and not waited for."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.clusters.models import BackendLatest, InstanceLatest, NodeLatest, PgpoolInstance, Rollout
from apps.clusters.queries.rollouts import rollout_answer
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import Clock, Scene, scene
from tests.clusters.seen_cluster import poll

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_patience")]

# Round trips and cancelled reads have samples of their own.
PLAN = {"strategy": "canary", "hold_s": 60, "guards": {"latency_factor": None, "aborted": None}}
NO_ERRORS = "pgpool-1: Pgpool-II 4.1.2 tells no errors, which needs 4.2"
NO_SESSIONS = (
    "pgpool-1: Pgpool-II 4.1.2 counts no sessions, which needs 4.3, and how far its shares move was not measured yet, "
    "which takes 5 min of reads"
)


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=2) as found:
        PgpoolInstance.objects.update(version="4.1.2")
        yield found


def after_the_hold(pair: Scene, plan: dict[str, Any] = PLAN) -> Rollout:
    """Polled all the time, by pgpools that tell neither errors nor sessions."""
    clock = Clock()
    poll(pair.cluster, seen_at=clock.now, since=clock.now - timedelta(hours=1))
    NodeLatest.objects.update(error_count=None, select_count=1000)
    InstanceLatest.objects.update(session_count=None)
    rollout = pair.advance(pair.request(plan=plan), clock=clock)
    assert pair.states(rollout) == ["verified", "pending"]
    for _ in range(3):
        clock.sleep(25)
        InstanceLatest.objects.update(polled_at=clock.now)
        BackendLatest.objects.update(polled_at=clock.now)
        pair.advance(rollout, clock=clock)
    return rollout


def guarded(rollout: Rollout) -> str:
    return str(rollout.log.filter(text__startswith="Guards: ").order_by("pk").values_list("text", flat=True)[0])


def test_what_this_version_never_tells_is_left_out_and_the_rest_decides(pair: Scene) -> None:
    rollout = after_the_hold(pair)

    assert (rollout.state, rollout.pause_reason) == ("verified", "")
    assert guarded(rollout) == (
        "Guards: no pgpool and no backend was lost (good); replay lag at most 0.2 s (good); "
        f"{NO_ERRORS} (left out); {NO_SESSIONS} (left out)."
    )


def test_what_should_be_told_and_was_not_is_waited_for(pair: Scene) -> None:
    PgpoolInstance.objects.update(version="4.2.1")

    rollout = after_the_hold(pair)

    assert rollout.state == "paused"
    assert rollout.pause_reason.endswith(": pgpool-1 tells no error counters.")


def test_where_nothing_is_left_to_judge_by_it_pauses_and_says_what_it_needs(pair: Scene) -> None:
    off = {"replay_lag_s": None, "latency_factor": None, "lost": False, "shares": False, "aborted": None}

    rollout = after_the_hold(pair, {**PLAN, "guards": off})

    assert rollout.state == "paused"
    assert rollout.pause_reason == (
        "Too little was seen to say that it is good: nothing is left to judge by: it needs another guard, or a "
        f"Pgpool-II that tells more ({NO_ERRORS})."
    )


def test_the_rollout_and_its_page_and_the_preview_say_it(pair: Scene) -> None:
    PgpoolInstance.objects.filter(name="pgpool-2").update(version="4.3.5")
    asker, address = script("operator"), "/api/v1/clusters/orders/"
    sent = {"weights": {"0": 0, "1": 1, "2": 3}, "plan": PLAN}

    preview = asker.post(f"{address}weights/preview/", sent, format="json").json()["plan"]
    changed = {"parameters": {"delay_threshold": "5000"}, "plan": PLAN}
    other = asker.post(f"{address}parameters/preview/", changed, format="json").json()["plan"]
    answer = asker.put(f"{address}weights/", sent, format="json").json()

    assert preview["text"] == answer["plan_text"]
    assert preview["guards"] == other["guards"] == answer["guards"]
    told = answer["guards"]
    assert [(one["guard"], one["instances"]) for one in told["left_out"]] == [
        ("error_factor", ["pgpool-1"]),
        ("shares", ["pgpool-1"]),
    ]
    assert told["text"].startswith("After the last ones no guard looks: hold_last is off. ")
    assert f"Left out is error_factor of {NO_ERRORS}." in told["text"]
    page = browser("viewer").get(f"/o/acme/rollouts/{answer['id']}/").content.decode()
    assert f"Left out is error_factor of {NO_ERRORS}." in page


def test_the_form_of_a_change_says_it_before(pair: Scene) -> None:
    poll(pair.cluster, seen_at=timezone.now())

    shown = browser("operator").get("/o/acme/clusters/orders/weights/").content.decode()

    assert "Errors per read: left out of pgpool-1, pgpool-2: Pgpool-II 4.1.2 tells no errors, which needs 4.2." in shown


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"guards": {"replay_lag_s": 5}}, "No guard looks: hold_s is 0, so there is no time to watch."),
        ({"strategy": "all_at_once"}, "No guard looks: hold_s is 0, so there is no time to watch."),
        ({"hold_s": 60, "guards": {**PLAN["guards"], "shares": False, "error_factor": None}}, "After the last ones"),
    ],
)
def test_guards_that_look_at_nothing_are_said(pair: Scene, plan: dict[str, Any], words: str) -> None:
    rollout = pair.request(plan=plan)

    told = rollout_answer(rollout=rollout, caller=pair.caller, now=Clock().now)["guards"]

    assert told["text"].startswith(words)
    assert told["left_out"] == []
