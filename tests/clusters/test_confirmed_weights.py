"""The weights as they are: what a rollout just read back counts before what polling saw earlier."""

from datetime import datetime, timedelta

import pytest

from apps.accounts.models import Organisation
from apps.clusters.models import Cluster, ConfigRevision, NodeLatest, RevisionFile, Rollout, RolloutStep
from apps.clusters.queries.editing import weights_answer
from tests.clusters.seen_cluster import NOW, ago, poll, register

pytestmark = pytest.mark.django_db

POLLED = {"0": 0, "1": 1, "2": 3}
ROLLED_OUT = {"0": 0, "1": 1, "2": 1}
SHARES = {"0": 0.0, "1": 0.5, "2": 0.5}


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    cluster = register(organisation)
    poll(cluster)
    return cluster


def roll_out(cluster: Cluster, *, state: str, verified_at: datetime | None, restored_at: datetime | None) -> None:
    names = [instance.name for instance in cluster.instances.all()]
    ConfigRevision.objects.create(cluster=cluster, number=1, origin="live", weights=dict.fromkeys(names, POLLED))
    revision = ConfigRevision.objects.create(
        cluster=cluster, number=2, origin="edit", weights=dict.fromkeys(names, ROLLED_OUT)
    )
    rollout = Rollout.objects.create(cluster=cluster, revision=revision, state=state)
    for position, instance in enumerate(cluster.instances.order_by("name")):
        file = RevisionFile.objects.create(
            revision=revision,
            instance=instance,
            instance_name=instance.name,
            text="",
            sha256="2" * 64,
            base_text="",
            base_sha256="1" * 64,
        )
        RolloutStep.objects.create(
            rollout=rollout,
            position=position,
            instance=instance,
            instance_name=instance.name,
            file=file,
            verified_at=verified_at,
            restored_at=restored_at,
            receipt={
                "read_back": {"lb_weight": SHARES},
                "restored_read_back": {"lb_weight": {"0": 0.0, "1": 0.25, "2": 0.75}},
            },
        )


def test_what_a_rollout_read_back_counts_before_polling_looked_again(cluster: Cluster) -> None:
    roll_out(cluster, state="verified", verified_at=ago(1), restored_at=None)

    found = weights_answer(cluster=cluster, now=NOW)

    assert (found["weights"], found["shares"], found["revision"]) == (ROLLED_OUT, SHARES, 2)


def test_what_polling_saw_after_the_rollout_counts(cluster: Cluster) -> None:
    roll_out(cluster, state="verified", verified_at=ago(3), restored_at=None)
    NodeLatest.objects.update(weight_since=ago(1))

    found = weights_answer(cluster=cluster, now=NOW)

    assert (found["weights"], found["revision"]) == (POLLED, None)


def test_what_polling_still_sees_long_after_the_rollout_counts(cluster: Cluster) -> None:
    roll_out(cluster, state="verified", verified_at=NOW - timedelta(minutes=1), restored_at=None)

    assert weights_answer(cluster=cluster, now=NOW)["weights"] == POLLED


@pytest.mark.parametrize(("state", "restored_at"), [("rolled_back", ago(1)), ("cancelled", None)])
def test_a_revision_that_was_taken_back_is_not_in_force(
    cluster: Cluster, state: str, restored_at: datetime | None
) -> None:
    verified_at = None if restored_at is None else ago(2)
    roll_out(cluster, state=state, verified_at=verified_at, restored_at=restored_at)

    found = weights_answer(cluster=cluster, now=NOW)

    assert (found["weights"], found["revision"]) == (POLLED, 1)
