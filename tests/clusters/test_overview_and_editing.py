"""What the overview and the weights page are made of."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from apps.accounts.access import Caller
from apps.accounts.models import Organisation
from apps.clusters.models import (
    BackendLatest,
    Cluster,
    ClusterEvent,
    ConfigRevision,
    InstanceLatest,
    NodeLatest,
    PgpoolInstance,
    Rollout,
)
from apps.clusters.queries.editing import Editor, editor, weights_answer
from apps.clusters.queries.overview import Overview, events, overview
from tests.clusters.seen_cluster import NOW, ago, count, poll, register

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    found = register(organisation)
    poll(found)
    return found


def seen(cluster: Cluster) -> Overview:
    return overview(cluster=cluster, window_s=300, now=NOW)


def edited(cluster: Cluster, caller: Caller) -> Editor:
    return editor(caller=caller, cluster=cluster, seen=seen(cluster), now=NOW)


def revise(cluster: Cluster, number: int, weights: dict[str, int]) -> ConfigRevision:
    names = cluster.instances.values_list("name", flat=True)
    return ConfigRevision.objects.create(
        cluster=cluster,
        number=number,
        origin=ConfigRevision.Origin.EDIT,
        weights=dict.fromkeys(names, weights),
        author_name="Maja",
    )


def test_the_overview_says_how_much_was_counted_and_what_chance_does(cluster: Cluster) -> None:
    for instance in cluster.instances.order_by("name"):
        count(instance, {1: 250, 2: 750})

    found = seen(cluster)

    # ± 1.96 * sqrt(0.25 * 0.75 / 2008) = 1.9 points
    assert found["evidence"] == (
        "Last 5 min, 2,000 reads in 2,008 sessions. pgpool picks a backend once per session, "
        "so chance alone moves a share by ±1.9 points."
    )
    assert [round(each["reads_per_s"] or 0, 2) for each in found["instances"]] == [3.33, 3.33]
    assert [each["observed_share"] for each in found["backends"]] == [0, 0.25, 0.75]
    # pgpool-1 is in AZ a and pgpool-2 in b; pg2 (25 %) is in b, pg3 (75 %) in c: only 12.5 % stays within its AZ.
    assert found["cross_az_share"] == pytest.approx(0.875)
    assert len(found["ribbons"]) == 4


def test_sessions_that_are_not_counted_are_said_so(cluster: Cluster) -> None:
    for instance in cluster.instances.order_by("name"):
        count(instance, {1: 250, 2: 750}, sessions=None)

    assert "Sessions are not counted" in seen(cluster)["evidence"]


def test_an_az_that_is_not_known_leaves_the_crossing_share_unknown(cluster: Cluster) -> None:
    cluster.backends.filter(node_id=2).update(az="")
    count(cluster.instances.get(name="pgpool-1"), {1: 250, 2: 750})

    found = seen(cluster)
    assert (found["cross_az_share"], found["lacks_azs"]) == (None, "backends")


def test_the_query_cache_is_judged_by_differences(cluster: Cluster) -> None:
    found = seen(cluster)["cache"]

    assert (found["hits"], found["hit_ratio"]) == (None, None)
    assert found["reason"]


def test_a_pool_has_what_others_left_but_for_our_own_two_sessions(cluster: Cluster) -> None:
    InstanceLatest.objects.filter(instance__name="pgpool-1").update(children_used=10, children_total=32)
    InstanceLatest.objects.filter(instance__name="pgpool-2").update(children_used=None)

    assert [each["children_free"] for each in seen(cluster)["instances"]] == [20, None]


def test_a_backend_that_pgpools_disagree_about_is_said_so(cluster: Cluster) -> None:
    NodeLatest.objects.filter(instance__name="pgpool-2", node_id=1).update(status="down")

    assert seen(cluster)["backends"][1]["status"] == "up at 1 of 2 pgpools"


def test_what_a_backend_says_of_itself_goes_before_pgpools_belief(cluster: Cluster) -> None:
    BackendLatest.objects.filter(backend__node_id=0).update(is_in_recovery=True)

    assert seen(cluster)["backends"][0]["role"] == "standby"


def test_events_come_latest_first_and_page_by_id(cluster: Cluster) -> None:
    made = [
        ClusterEvent.objects.create(cluster=cluster, at=ago(60 - n), kind="backend", title=f"event {n}")
        for n in range(5)
    ]

    latest = events(cluster=cluster, before=None, limit=2)
    older = events(cluster=cluster, before=latest[-1]["id"], limit=10)

    assert [each["title"] for each in latest] == ["event 4", "event 3"]
    assert [each["id"] for each in older] == [made[2].pk, made[1].pk, made[0].pk]


def test_weights_without_a_revision_are_those_that_pgpool_shows(cluster: Cluster) -> None:
    PgpoolInstance.objects.filter(cluster=cluster).update(shown_weights={"0": 0, "1": 250, "2": 750})

    found = weights_answer(cluster=cluster, now=NOW)

    assert found["weights"] == {"0": 0, "1": 250, "2": 750}
    assert found["shares"] == {"0": 0, "1": 0.25, "2": 0.75}
    assert (found["is_uniform"], found["revision"]) == (True, None)


def test_weights_that_pgpool_cut_are_the_smallest_integers_of_its_shares(cluster: Cluster) -> None:
    # backend_weight 0.25 and 0.75 read back as 0 and 0.
    PgpoolInstance.objects.filter(cluster=cluster).update(shown_weights={"0": 0, "1": 0, "2": 0})

    assert weights_answer(cluster=cluster, now=NOW)["weights"] == {"0": 0, "1": 1, "2": 3}


def test_a_revision_that_runs_is_named(cluster: Cluster) -> None:
    revise(cluster, 1, {"0": 0, "1": 20, "2": 60})

    found = weights_answer(cluster=cluster, now=NOW)

    assert (found["weights"], found["revision"]) == ({"0": 0, "1": 20, "2": 60}, 1)


def test_pgpools_that_differ_have_no_common_weights(cluster: Cluster) -> None:
    NodeLatest.objects.filter(instance__name="pgpool-2", node_id=1).update(lb_weight=0.5)
    NodeLatest.objects.filter(instance__name="pgpool-2", node_id=2).update(lb_weight=0.5)

    found = weights_answer(cluster=cluster, now=NOW)

    assert (found["weights"], found["is_uniform"]) == (None, False)
    assert found["per_instance"] == {
        "pgpool-1": {"0": 0, "1": 1, "2": 3},
        "pgpool-2": {"0": 0, "1": 1, "2": 1},
    }


def test_where_pgpools_differ_the_editor_goes_on_from_their_mean(
    cluster: Cluster, caller: Callable[..., Caller]
) -> None:
    NodeLatest.objects.filter(instance__name="pgpool-2", node_id=1).update(lb_weight=0.5)
    NodeLatest.objects.filter(instance__name="pgpool-2", node_id=2).update(lb_weight=0.5)

    rows = edited(cluster, caller("operator"))["rows"]

    assert [row["weight"] for row in rows] == [round(row["share"] * 1000) for row in rows]
    assert [row["percent"] for row in rows] == [f"{row['share'] * 100:.1f}".removesuffix(".0") for row in rows]
    assert rows[1]["share"] not in (0.25, 0.5)


def test_the_way_back_is_the_latest_revision_that_differs(cluster: Cluster, caller: Callable[..., Caller]) -> None:
    revise(cluster, 1, {"0": 0, "1": 1, "2": 1})
    revise(cluster, 2, {"0": 0, "1": 1, "2": 3})

    assert edited(cluster, caller("operator"))["previous"] == {"0": 0, "1": 0.5, "2": 0.5}


def test_what_keeps_weights_from_being_edited_is_said(cluster: Cluster, caller: Callable[..., Caller]) -> None:
    revision = revise(cluster, 1, {"0": 0, "1": 1, "2": 3})
    rollout = Rollout.objects.create(cluster=cluster, revision=revision, requested_by_name="Maja")

    found = edited(cluster, caller("viewer"))

    assert found["running"] == rollout.pk
    assert [
        word for word in ("viewer", "observe only", f"#{rollout.pk}") if word not in " ".join(found["blockers"])
    ] == []


def test_an_operator_of_writable_pgpools_is_kept_from_nothing(cluster: Cluster, caller: Callable[..., Caller]) -> None:
    for instance in cluster.instances.all():
        path = f"/etc/{instance.name}/pgpool.conf"
        PgpoolInstance.objects.filter(pk=instance.pk).update(
            delivery_kind="local", delivery_path=path, delivery_target=path
        )

    assert edited(cluster, caller("operator"))["blockers"] == []


def test_backends_that_are_down_or_behind_are_warned_of(cluster: Cluster, caller: Callable[..., Caller]) -> None:
    NodeLatest.objects.filter(node_id=1).update(status="down")
    BackendLatest.objects.filter(backend__node_id=2).update(replay_lag_bytes=5000)  # delay_threshold is 1000

    found = edited(cluster, caller("operator"))

    assert "pg2 is down" in found["warnings"][0]
    assert "pg3 is behind by more than delay_threshold" in found["warnings"][1]
    assert [row["is_warning"] for row in found["rows"]] == [False, True, True]


def test_old_figures_are_called_old(cluster: Cluster, caller: Callable[..., Caller]) -> None:
    later = NOW + timedelta(minutes=7)
    found = overview(cluster=cluster, window_s=300, now=later)

    warned = editor(caller=caller("operator"), cluster=cluster, seen=found, now=later)["warnings"]

    assert found["freshness"]["state"] == "stale"
    assert any("old" in warning for warning in warned)
