"""A watched shard against fake pgpools and real PostgreSQL: what is stored in which state of the far side."""

import datetime as dt
from collections.abc import Iterator

import pytest
from django.db import connection, transaction

from apps.clusters.models import (
    BackendLatest,
    BackendSample,
    Cluster,
    ClusterEvent,
    InstanceLatest,
    InstanceSample,
    NodeLatest,
    NodeSample,
    PgpoolInstance,
    Shard,
)
from apps.clusters.polling import lease as leases
from apps.clusters.polling.lease import LeaseLost
from apps.clusters.polling.registry import watched_clusters
from apps.clusters.polling.watch import ShardWatch, watch_shard
from apps.clusters.queries.unanswered import outlook
from apps.clusters.registry.registry_locks import locked
from tests.clusters.polling_scene import Scene, scene, wait_until, watching

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.waits]


@pytest.fixture
def pair() -> Iterator[Scene]:
    with scene(pgpools=2) as made:
        yield made


def state_of(made: Scene, name: str) -> str | None:
    latest = InstanceLatest.objects.filter(instance__cluster=made.cluster, instance__name=name).first()
    return None if latest is None else latest.state


def ticks(made: Scene, name: str) -> int:
    return InstanceSample.objects.filter(instance_id=made.instance(name).pk, is_answering=True).count()


def wait_for_ticks(made: Scene, name: str, more: int = 2) -> None:
    wanted = ticks(made, name) + more
    wait_until(lambda: ticks(made, name) >= wanted, f"{more} more samples of {name}")


def titles() -> list[str]:
    return list(ClusterEvent.objects.order_by("at", "pk").values_list("title", flat=True))


def test_a_watched_cluster_is_stored(pair: Scene) -> None:
    pair.pgpools["pgpool-1"].backends[1].select_count = 142076
    pair.pgpools["pgpool-1"].weights = {0: 0, 1: 1, 2: 3}
    pair.pgpools["pgpool-1"].cache_hits = 7
    pair.pgpools["pgpool-1"].values.update({"delay_threshold": "2MB", "statement_level_load_balance": "on"})
    pair.pgpools["pgpool-2"].values["delay_threshold"] = "2MB"

    with watching():
        wait_until(
            lambda: NodeLatest.objects.filter(lb_weight__isnull=False).count() == 6, "weights of both pgpools are known"
        )
        wait_for_ticks(pair, "pgpool-1")

    instance = pair.instance("pgpool-1")
    latest = instance.latest
    assert (latest.state, latest.reason, latest.children_total, latest.children_used) == ("answering", "", 32, 0)
    assert latest.probe_ms is not None
    assert (latest.cache_hit_count, latest.cache_miss_count) == (7, 0)
    assert (instance.version, instance.shown_weights) == ("4.3.5", {"0": 0, "1": 1, "2": 3})
    node = NodeLatest.objects.get(instance=instance, node_id=1)
    assert (node.status, node.role, node.select_count, node.lb_weight) == ("up", "standby", 142076, 0.25)
    cluster = Cluster.objects.get(pk=pair.cluster.pk)
    assert (cluster.delay_threshold_bytes, cluster.is_statement_level) == (2097152, True)
    sample = NodeSample.objects.filter(instance_id=instance.pk, node_id=1).order_by("-at")[0]
    assert (sample.select_count, sample.is_up, sample.lb_weight) == (142076, True, 0.25)
    assert Shard.objects.get(number=0).ticked_at is not None
    assert titles() == []


def test_a_backend_that_does_not_answer_has_a_reason_and_no_figures(pair: Scene) -> None:
    with watching():
        wait_until(lambda: BackendLatest.objects.count() == 3, "all backends were asked")

    latest = BackendLatest.objects.order_by("backend__node_id")[1]
    assert latest.answered_at is None
    assert "refuses connections" in latest.reason
    assert (latest.probe_ms, latest.replay_lag_bytes, latest.is_in_recovery) == (None, None, None)
    assert latest.lag_reason
    assert not BackendSample.objects.filter(backend_id=latest.pk, is_answering=True).exists()


def test_a_frozen_pgpool_delays_no_other(pair: Scene) -> None:
    with watching():
        wait_for_ticks(pair, "pgpool-1", 1)
        pair.pgpools["pgpool-2"].mode = "hang"
        wait_until(lambda: state_of(pair, "pgpool-2") == "unreachable", "pgpool-2 is seen not to answer")
        wait_until(lambda: titles() == ["pgpool-2 does not answer"], "it is told")
        wait_for_ticks(pair, "pgpool-1", 3)
        latest = pair.instance("pgpool-2").latest
        pair.pgpools["pgpool-2"].mode = "ok"
        wait_until(lambda: state_of(pair, "pgpool-2") == "answering", "pgpool-2 is seen to answer again")

    assert latest.probe_ms is None
    assert "PCP does not answer either" in latest.reason
    assert titles() == ["pgpool-2 does not answer", "pgpool-2 answers again"]
    # The two that froze end when it wakes up, at the moment when those that replace them begin.
    assert pair.pgpools["pgpool-2"].most_open_sessions <= 4
    assert pair.pgpools["pgpool-1"].most_open_sessions <= 2


def test_pcp_tells_a_pgpool_that_hangs_from_one_that_is_gone(pair: Scene) -> None:
    pair.pgpools["pgpool-2"].mode = "hang_sql"

    with watching():
        wait_until(lambda: state_of(pair, "pgpool-2") == "hanging", "pgpool-2 is seen to hang")

    assert "PCP answers" in pair.instance("pgpool-2").latest.reason


def test_a_pgpool_that_refuses_our_password_is_told_apart(pair: Scene) -> None:
    pair.pgpools["pgpool-2"].mode = "wrong_password"

    with watching():
        wait_until(lambda: state_of(pair, "pgpool-2") == "refused", "pgpool-2 refuses us")
        wait_until(lambda: titles() == ["pgpool-2 refuses Lifeguard"], "it is told once")

    assert "ALTER ROLE lifeguard" in pair.instance("pgpool-2").latest.reason


def test_a_pgpool_that_closes_every_connection_at_once_is_there_and_cannot_owe(pair: Scene) -> None:
    pair.pgpools["pgpool-2"].mode = "refuse"

    with watching():
        wait_until(lambda: state_of(pair, "pgpool-2") == "refused", "it is seen to close them")
        wait_until(lambda: titles() == ["pgpool-2 closes every connection at once"], "it is told once")

    assert "see that a pgpool runs behind it" in pair.instance("pgpool-2").latest.reason
    [told] = outlook(cluster=pair.cluster)
    assert "It is there, so it cannot owe the change: nothing is rolled out before that is mended." in told
    assert "that it owes the change" not in told


def test_a_pgpool_that_is_gone_is_unreachable() -> None:
    with scene(has_pcp=False) as made:
        PgpoolInstance.objects.update(port=1)
        with watching():
            wait_until(lambda: state_of(made, "pgpool-1") == "unreachable", "it is seen to be away")

        assert "refuses connections" in made.instance("pgpool-1").latest.reason


def test_a_session_that_pgpool_closes_is_replaced_at_once(pair: Scene) -> None:
    with watching():
        wait_for_ticks(pair, "pgpool-1", 1)
        pair.pgpools["pgpool-1"].close_sessions()
        wait_for_ticks(pair, "pgpool-1", 3)

    assert not InstanceSample.objects.filter(instance_id=pair.instance("pgpool-1").pk, is_answering=False).exists()
    assert titles() == []


def test_a_cluster_registered_under_way_is_watched_and_a_removed_one_is_not() -> None:
    with watching(), scene(slug="late") as made:
        wait_until(lambda: state_of(made, "pgpool-1") == "answering", "the new cluster is watched")
        with transaction.atomic():
            locked(made.cluster).delete()  # as who removes it does: its rows before the poller's
        wait_until(lambda: made.pgpools["pgpool-1"].open_sessions == 0, "its pgpool is let go")

    assert not InstanceLatest.objects.exists()


def test_a_backend_that_goes_down_is_told_once_and_when_it_comes_back(pair: Scene) -> None:
    def set_status(status: str) -> None:
        for pgpool in pair.pgpools.values():
            pgpool.backends[1].status = status

    with watching():
        wait_for_ticks(pair, "pgpool-1", 1)
        set_status("down")
        wait_until(lambda: titles() == ["pg2 went down"], "it is told")
        wait_for_ticks(pair, "pgpool-2")
        set_status("up")
        wait_until(lambda: titles() == ["pg2 went down", "pg2 is up again"], "its return is told")

    assert ClusterEvent.objects.get(title="pg2 went down").node_id == 1


def test_what_happened_between_two_watches_is_told_by_the_second(pair: Scene) -> None:
    with watching():
        wait_for_ticks(pair, "pgpool-1", 1)
        wait_for_ticks(pair, "pgpool-2", 1)
    for pgpool in pair.pgpools.values():
        pgpool.backends[2].status = "down"

    with watching(holder="second"):
        wait_until(lambda: titles() == ["pg3 went down"], "it is told")

    assert Shard.objects.get(number=0).epoch == 2


def test_counters_that_fall_tell_of_a_restart(pair: Scene) -> None:
    pair.pgpools["pgpool-2"].backends[1].select_count = 500
    with watching():
        wait_for_ticks(pair, "pgpool-2", 1)
        pair.pgpools["pgpool-2"].backends[1].select_count = 3
        wait_until(lambda: titles() == ["pgpool-2 was restarted"], "it is told")


def test_a_restart_is_told_also_where_one_watch_saw_pgpool_go_and_the_next_saw_it_return(pair: Scene) -> None:
    pgpool = pair.pgpools["pgpool-2"]
    pgpool.backends[1].select_count = 500
    with watching():
        wait_for_ticks(pair, "pgpool-2", 1)
        pgpool.mode = "refuse"
        wait_until(lambda: titles() == ["pgpool-2 closes every connection at once"], "its absence is told")
    pgpool.backends[1].select_count = 3
    pgpool.mode = "ok"

    with watching(holder="second"):
        wait_until(lambda: len(titles()) == 3, "its return is told")

    assert titles()[1:] == ["pgpool-2 answers again", "pgpool-2 was restarted"]


def test_weights_changed_by_someone_else_are_told_once(pair: Scene) -> None:
    with watching():
        wait_until(lambda: NodeLatest.objects.filter(lb_weight__isnull=False).count() == 6, "weights are known")
        for pgpool in pair.pgpools.values():
            pgpool.weights = {0: 0, 1: 1, 2: 1}
        wait_until(
            lambda: NodeLatest.objects.filter(node_id=1, lb_weight=0.5).count() == 2, "the new weights were seen"
        )

    assert titles() == ["Weights were changed outside Lifeguard"]
    assert "33.3 / 33.3 / 33.3, now 0.0 / 50.0 / 50.0" in ClusterEvent.objects.get().detail


def test_sessions_of_others_are_counted_when_they_end(pair: Scene) -> None:
    pgpool = pair.pgpools["pgpool-1"]
    with watching():
        wait_for_ticks(pair, "pgpool-1", 1)
        pgpool.sessions_ended += 40
        wait_until(lambda: pair.instance("pgpool-1").latest.session_count == 40, "they are counted")
        wait_for_ticks(pair, "pgpool-1")
    with watching(holder="second"):
        wait_for_ticks(pair, "pgpool-1", 1)
        pgpool.sessions_ended += 2
        wait_until(lambda: pair.instance("pgpool-1").latest.session_count == 42, "the next watch goes on counting")


def test_one_worker_at_a_time_holds_a_shard() -> None:
    first = leases.take(shard=3, holder="first")
    assert first is not None
    assert first.epoch == 1
    assert leases.take(shard=3, holder="second") is None

    leases.release(first)
    second = leases.take(shard=3, holder="second")

    assert second is not None
    assert second.epoch == 2
    leases.renew(second)
    with pytest.raises(LeaseLost):
        leases.renew(first)
    with pytest.raises(LeaseLost):
        leases.confirm(first)


def test_a_lease_that_ran_out_may_be_taken() -> None:
    assert leases.take(shard=3, holder="dead", lease_s=-1) is not None

    assert leases.take(shard=3, holder="second") is not None


def test_a_watch_whose_lease_was_taken_stores_nothing_more_and_fails(pair: Scene) -> None:
    with pytest.raises(LeaseLost), watching():
        wait_for_ticks(pair, "pgpool-1", 1)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE clusters_shard SET epoch = epoch + 1, holder = 'thief'")
        taken_at = dt.datetime.now(dt.UTC)
        wait_until(lambda: pair.pgpools["pgpool-1"].open_sessions == 0, "the watch has ended")

    assert not InstanceSample.objects.filter(instance_id=pair.instance("pgpool-1").pk, at__gt=taken_at).exists()
    assert Shard.objects.get(number=0).holder == "thief"


def test_a_watch_goes_on_while_nobody_could_be_told_to_take_over() -> None:
    asked: list[bool] = []

    def broker_is_silent() -> bool:
        asked.append(len(asked) < 1)
        return asked[-1]

    watch = ShardWatch(
        shard=5,
        shards=6,
        holder="test",
        clock=lambda: dt.datetime.now(dt.UTC),
        run_s=0,
        is_broker_silent=broker_is_silent,
        is_stopping=lambda: False,
    )

    assert watch_shard(watch)

    assert asked == [True, False]


def test_a_second_worker_waits_for_the_lease_and_then_gives_up() -> None:
    assert leases.take(shard=5, holder="first") is not None

    watch = ShardWatch(shard=5, shards=6, holder="second", clock=lambda: dt.datetime.now(dt.UTC), wait_s=0)

    assert not watch_shard(watch)


def test_clusters_hash_to_shards_and_each_has_one() -> None:
    now = dt.datetime.now(dt.UTC)
    with scene(slug="one") as one, scene(slug="two") as two:
        found = [{cluster.cluster_id for cluster in watched_clusters(shard=n, shards=3, now=now)} for n in range(3)]

    assert found[0] | found[1] | found[2] == {one.cluster.pk, two.cluster.pk}
    assert sum(len(keys) for keys in found) == 2


def test_a_pgpool_that_turns_everybody_away_says_why_and_its_backends_are_down(pair: Scene) -> None:
    Cluster.objects.filter(pk=pair.cluster.pk).update(sslmode="prefer")
    pgpool = pair.pgpools["pgpool-2"]
    nodes = NodeLatest.objects.filter(instance__name="pgpool-2")
    with watching():
        wait_until(lambda: nodes.filter(status="up", lb_weight__isnull=False).count() == 3, "its backends are up")
        for backend in pgpool.backends:
            backend.status = backend.pg_status = "down"
        pgpool.mode = "all_down"
        pgpool.close_sessions()
        wait_until(lambda: state_of(pair, "pgpool-2") == "refused", "it is seen to refuse")
        wait_until(lambda: nodes.filter(status="down", pg_status="down").count() == 3, "PCP tells of its backends")
        wait_until(lambda: "pgpool-2 refuses every client" in titles(), "it is told")

    latest = pair.instance("pgpool-2").latest
    assert "accepts no client: all of its backends are down" in latest.reason
    assert "pgpool is not accepting any new connections" in latest.reason
    assert nodes.get(node_id=1).select_count == 0
