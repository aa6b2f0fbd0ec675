"""How rollouts and revisions are told."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from apps.accounts.access import Caller
from apps.accounts.models import Organisation
from apps.clusters.models import Cluster, ConfigRevision, RevisionFile, Rollout, RolloutLog, RolloutStep
from apps.clusters.queries.revision_history import revision_answers
from apps.clusters.queries.rollouts import organisation_rollouts, rollout_answer, rollout_answers
from tests.clusters.seen_cluster import NOW, register

pytestmark = pytest.mark.django_db

BEFORE = {"0": 0, "1": 1, "2": 1}
AFTER = {"0": 0, "1": 1, "2": 3}
VERIFIED = {
    "state": "verified",
    "is_touched": True,
    "written_at": NOW,
    "reloaded_at": NOW,
    "verified_at": NOW,
    "receipt": {"read_back": {"lb_weight": {"0": 0.0, "1": 0.25, "2": 0.75}}},
}


def conf(weights: dict[str, int]) -> str:
    lines = [
        f"backend_hostname{node} = 'db{node}'\nbackend_weight{node} = {weight}\n" for node, weight in weights.items()
    ]
    return "sr_check_password = 'hunter2'\n" + "".join(lines)


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    return register(organisation)


def rolled_out(cluster: Cluster, steps: list[dict[str, Any]], *, number: int = 1, **facts: Any) -> Rollout:
    instances = list(cluster.instances.order_by("name"))
    revision = ConfigRevision.objects.create(
        cluster=cluster,
        number=number,
        origin="edit",
        note="more to pg3",
        weights={instance.name: AFTER for instance in instances},
        author_name="Ada",
    )
    rollout = Rollout.objects.create(
        cluster=cluster, revision=revision, requested_by_name="Ada", **{"state": "verified", "finished_at": NOW} | facts
    )
    for position, (instance, step) in enumerate(zip(instances, steps, strict=True)):
        file = RevisionFile.objects.create(
            revision=revision,
            instance=instance,
            instance_name=instance.name,
            text=conf(AFTER),
            sha256="b",
            base_text=conf(BEFORE),
            base_sha256="a",
        )
        RolloutStep.objects.create(
            rollout=rollout, position=position, instance=instance, instance_name=instance.name, file=file, **step
        )
    return rollout


def test_a_verified_rollout_is_told_whole(cluster: Cluster, caller: Callable[..., Caller]) -> None:
    rollout = rolled_out(cluster, [VERIFIED, VERIFIED])
    RolloutLog.objects.create(rollout=rollout, instance_name="pgpool-1", text="File written.")

    found = rollout_answer(rollout=rollout, caller=caller("operator"), now=NOW)

    assert (found["state"], found["converged"]) == ("verified", False)
    assert found["sentence"] == "Verified on 2 pgpools. The reads follow as sessions turn over."
    assert found["change_text"] == "pg1 0 %, pg2 50 %, pg3 50 % → 0 %, 25 %, 75 %"
    assert found["rollback_text"] == "pg1 0 %, pg2 25 %, pg3 75 % → 0 %, 50 %, 50 %"
    assert (found["integers_before_text"], found["integers_text"]) == ("0 / 1 / 1", "0 / 1 / 3")
    assert found["weights_before"] == {"pgpool-1": BEFORE, "pgpool-2": BEFORE}
    assert [(step["instance"], step["az"], step["state"]) for step in found["steps"]] == [
        ("pgpool-1", "us-east-1a", "verified"),
        ("pgpool-2", "us-east-1b", "verified"),
    ]
    assert found["steps"][0]["read_back_text"] == "0 / 25 / 75 %"
    assert [line["text"] for line in found["log"]] == ["File written."]
    assert (found["touched"], found["can_roll_back"], found["can_cancel"]) == (2, True, False)
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("follows", "the reads follow."),
        ("within_noise", "the reads are within noise of the weights: 75 sessions allow ±10 points."),
    ],
)
def test_reads_that_are_only_within_noise_are_called_so(
    cluster: Cluster, caller: Callable[..., Caller], state: str, said: str
) -> None:
    node = {"node_id": 1, "effective_share": 0.25, "low": 0.152, "high": 0.348}  # 1.96 * sqrt(0.25 * 0.75 / 75)
    finding = {"state": state, "evidence": "75 sessions", "nodes": [node]}
    rollout = rolled_out(cluster, [VERIFIED, VERIFIED], converged_at=NOW, convergence=finding)

    found = rollout_answer(rollout=rollout, caller=caller("viewer"), now=NOW)

    assert found["sentence"] == f"Verified on 2 pgpools, and {said}"


def test_a_viewer_may_take_nothing_back(cluster: Cluster, caller: Callable[..., Caller]) -> None:
    done = rolled_out(cluster, [VERIFIED, VERIFIED])

    assert not rollout_answer(rollout=done, caller=caller("viewer"), now=NOW)["can_roll_back"]


def test_a_running_rollout_shows_where_it_is(cluster: Cluster, caller: Callable[..., Caller]) -> None:
    rollout = rolled_out(
        cluster, [VERIFIED, {"state": "written", "is_touched": True}], state="running", finished_at=None
    )

    found = rollout_answer(rollout=rollout, caller=caller("operator"), now=NOW)

    assert found["sentence"] == "Rolling out: 1 of 2 pgpools verified."
    assert [step["is_current"] for step in found["steps"]] == [False, True]
    assert (found["can_cancel"], found["can_roll_back"]) == (True, False)


@pytest.mark.parametrize(
    ("step", "doing", "within_s"),
    [
        ({}, "comparing its file with the expected one", None),
        ({"state": "written", "written_at": NOW}, "asking it to reload", 6.5),  # 3 of 1.5 s, 1 s apart
        ({"state": "reloaded", "reloaded_at": NOW}, "reading back what it uses", 15.6),  # 3 of 5 s, 0.3 s apart
        (
            {"state": "reloaded", "reloaded_at": NOW, "attempts": 2, "error": "no answer"},
            "reading back what it uses, once more",
            15.6,
        ),
        ({"state": "restore_pending"}, "asking whether it uses the old file", None),
    ],
)
def test_a_running_rollout_says_what_it_waits_for_and_how_long(
    cluster: Cluster, caller: Callable[..., Caller], step: dict[str, Any], doing: str, within_s: float | None
) -> None:
    is_halting = step.get("state") == "restore_pending"
    done = {**VERIFIED, "state": "restored"} if is_halting else VERIFIED
    second = {"is_touched": bool(step), **step}
    rollout = rolled_out(cluster, [done, second], state="running", finished_at=None, is_halting=is_halting)

    def told(later_s: float = 0) -> dict[str, Any]:
        now = NOW + timedelta(seconds=later_s)
        return dict(rollout_answer(rollout=rollout, caller=caller("viewer"), now=now)["steps"][1])

    found = told()
    assert found["doing"] == doing
    assert found["given_up_at"] == (None if within_s is None else NOW + timedelta(seconds=within_s))
    assert told(60)["given_up_at"] is None  # a worker died: nobody knows


def test_a_rollout_that_is_being_cancelled_is_not_cancelled_twice(
    cluster: Cluster, caller: Callable[..., Caller]
) -> None:
    rollout = rolled_out(cluster, [VERIFIED, {}], state="running", is_cancel_requested=True)

    found = rollout_answer(rollout=rollout, caller=caller("operator"), now=NOW)

    assert not found["can_cancel"]
    assert found["sentence"] == "Cancelling: touched pgpools get their old file back."


def test_nothing_is_taken_back_while_another_rollout_runs(cluster: Cluster, caller: Callable[..., Caller]) -> None:
    done = rolled_out(cluster, [VERIFIED, VERIFIED])
    rolled_out(cluster, [{}, {}], number=2, state="pending")

    found = rollout_answer(rollout=done, caller=caller("operator"), now=NOW)

    assert not found["can_roll_back"]
    assert found["way_back"] == "Another rollout of this cluster is running; wait for its end."


@pytest.mark.parametrize(
    ("state", "steps", "sentence"),
    [
        (
            "failed",
            [{"state": "restored", "is_touched": True}, {"state": "restore_pending", "is_touched": True}],
            "Failed: what pgpool-2 uses is not confirmed.",
        ),
        ("failed", [{"state": "failed"}, {"state": "skipped"}], "Failed before anything was written."),
        ("failed", [{"state": "failed"}, VERIFIED], "Failed on pgpool-1."),
        (
            "rolled_back",
            [{"state": "restored", "is_touched": True}, {"state": "skipped"}],
            "Halted: every touched pgpool uses its old file again.",
        ),
        ("cancelled", [{"state": "skipped"}, {"state": "skipped"}], "Cancelled before anything was touched."),
    ],
)
def test_how_a_rollout_ended_is_said_in_one_sentence(
    cluster: Cluster, caller: Callable[..., Caller], state: str, steps: list[dict[str, Any]], sentence: str
) -> None:
    rollout = rolled_out(cluster, steps, state=state)

    assert rollout_answer(rollout=rollout, caller=caller("viewer"), now=NOW)["sentence"] == sentence


def test_lists_are_latest_first_and_paged(
    cluster: Cluster, other_organisation: Organisation, caller: Callable[..., Caller]
) -> None:
    older = rolled_out(cluster, [VERIFIED, VERIFIED])
    newer = rolled_out(cluster, [VERIFIED, VERIFIED], number=2, converged_at=NOW)
    elsewhere = rolled_out(register(other_organisation), [VERIFIED, VERIFIED])

    viewer = caller("viewer")
    first = rollout_answers(cluster=cluster, caller=viewer, before=None, limit=1, now=NOW)
    second = organisation_rollouts(caller=viewer, before=newer.pk, limit=5, now=NOW)

    assert [one["id"] for one in first] == [newer.pk]
    assert first[0]["converged"]
    assert [one["id"] for one in second] == [older.pk]
    assert elsewhere.pk not in [one["id"] for one in second]


def test_a_list_takes_as_many_statements_for_many_rollouts_as_for_one(
    cluster: Cluster, caller: Callable[..., Caller], django_assert_max_num_queries: Any
) -> None:
    for number in range(1, 7):
        rolled_out(cluster, [VERIFIED, VERIFIED], number=number)
    viewer = caller("viewer")

    with django_assert_max_num_queries(9):
        assert len(rollout_answers(cluster=cluster, caller=viewer, before=None, limit=50, now=NOW)) == 6


def test_what_a_newer_rollout_replaced_cannot_be_rolled_back(cluster: Cluster, caller: Callable[..., Caller]) -> None:
    older = rolled_out(cluster, [VERIFIED, VERIFIED])
    newer = rolled_out(cluster, [VERIFIED, VERIFIED], number=2)
    RevisionFile.objects.filter(revision=newer.revision, instance_name="pgpool-1").update(sha256="c")

    found = rollout_answer(rollout=older, caller=caller("operator"), now=NOW)
    listed = rollout_answers(cluster=cluster, caller=caller("operator"), before=None, limit=5, now=NOW)

    assert found["way_back"] == (
        f"A newer rollout, #{newer.pk}, stands on pgpool-1: only the newest can be rolled back."
    )
    assert not found["can_roll_back"]
    assert [(one["id"], one["can_roll_back"]) for one in listed] == [(newer.pk, True), (older.pk, False)]


def test_what_stands_again_can_be_rolled_back(cluster: Cluster, caller: Callable[..., Caller]) -> None:
    older = rolled_out(cluster, [VERIFIED, VERIFIED])
    newer = rolled_out(cluster, [VERIFIED, VERIFIED], number=2)
    RevisionFile.objects.filter(revision=newer.revision).update(sha256="c", base_sha256="b")
    rolled_out(cluster, [VERIFIED, VERIFIED], number=3, rollback_of=newer)

    assert rollout_answer(rollout=older, caller=caller("operator"), now=NOW)["can_roll_back"]


def test_a_newer_rollout_that_put_the_files_back_is_in_no_way(cluster: Cluster, caller: Callable[..., Caller]) -> None:
    older = rolled_out(cluster, [VERIFIED, VERIFIED])
    restored = {**VERIFIED, "state": "restored"}
    newer = rolled_out(cluster, [restored, restored], number=2, state="rolled_back")
    RevisionFile.objects.filter(revision=newer.revision).update(sha256="c", base_sha256="b")

    assert rollout_answer(rollout=older, caller=caller("operator"), now=NOW)["can_roll_back"]


def test_revisions_name_the_rollouts_that_carried_them(cluster: Cluster) -> None:
    first = rolled_out(cluster, [VERIFIED, VERIFIED])
    rolled_out(cluster, [VERIFIED, VERIFIED], number=2)

    found = revision_answers(cluster=cluster, before=2, limit=5)

    told = "pg1 0 %, pg2 25 %, pg3 75 %"
    assert [(one["number"], one["rollouts"], one["weights_text"]) for one in found] == [(1, [first.pk], told)]


def test_weights_that_differ_are_told_per_pgpool(cluster: Cluster) -> None:
    rolled_out(cluster, [VERIFIED, VERIFIED])
    ConfigRevision.objects.update(weights={"pgpool-1": AFTER, "pgpool-2": BEFORE})

    found = revision_answers(cluster=cluster, before=None, limit=5)[0]

    assert found["weights_text"] == "pgpool-1: pg1 0 %, pg2 25 %, pg3 75 %; pgpool-2: pg1 0 %, pg2 50 %, pg3 50 %"
    assert found["integers_text"] == "pgpool-1: 0 / 1 / 3; pgpool-2: 0 / 1 / 1"
