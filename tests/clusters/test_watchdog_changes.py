"""What the watchdogs tell becomes events of the cluster: once per change, whoever watches."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection, transaction

from apps.accounts.models import Organisation
from apps.clusters.models import Cluster, ClusterEvent, PgpoolInstance, WatchdogLatest
from apps.clusters.polling import watchdog_watch
from apps.clusters.polling.memory import ClusterMemory, remembered
from apps.clusters.polling.readings import InstanceReading, Tick, WatchdogReading
from apps.clusters.polling.registry import watched_cluster
from apps.clusters.polling.watchdog_changes import watchdog_changes
from apps.clusters.polling.watchdog_told import note_watchdogs
from apps.clusters.registry.registry_locks import locked
from tests.clusters.callers_at_doors import browser
from tests.clusters.domain.test_watchdog import CAPTURED, NAMES, told
from tests.clusters.polling_scene import Scene, scene, wait_until, watching
from tests.clusters.seen_cluster import NOW, ago, register

SILENT = WatchdogReading(None, "it does not answer PCP")
OFF = WatchdogReading(None)


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    return register(organisation, pgpools=3)


class Watch:
    """What one worker after another makes of what the watchdogs tell."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.memory = ClusterMemory()
        self.begin_anew()

    def begin_anew(self) -> None:
        self.memory = remembered(self.cluster.pk)

    def sees(self, scene: str, *pgpools: str, others: WatchdogReading = SILENT, seconds: float = 0) -> list[str]:
        """These tell what was captured in that scene; the others what is given. All in one tick."""
        readings = []
        for instance in self.cluster.instances.order_by("name"):
            told_now = WatchdogReading(told(scene, instance.name)) if instance.name in pgpools else others
            readings.append(InstanceReading(instance.pk, "answering", watchdog=told_now))
        tick = Tick(ago(-seconds), 1, tuple(readings), ())
        found = watchdog_changes(cluster=watched_cluster(self.cluster), memory=self.memory, tick=tick)
        note_watchdogs(tick)
        return [one.title for one in found]


@pytest.fixture
def watch(cluster: Cluster) -> Watch:
    return Watch(cluster)


@pytest.mark.django_db
def test_a_change_is_told_once_also_by_the_worker_that_takes_over(watch: Watch) -> None:
    assert watch.sees("all-up", *NAMES) == []

    lost = watch.sees("leader-killed", "pgpool-2", "pgpool-3")
    assert lost == ["The watchdog lost pgpool-1", "pgpool-2 leads the watchdog"]
    assert watch.sees("leader-killed", "pgpool-2", "pgpool-3") == []
    watch.begin_anew()
    assert watch.sees("leader-killed", "pgpool-2", "pgpool-3") == []

    watch.begin_anew()
    assert watch.sees("all-up", *NAMES) == ["The watchdog has pgpool-1 again", "pgpool-1 leads the watchdog"]


@pytest.mark.django_db
def test_what_changed_while_nobody_watched_is_told_by_the_next_worker(watch: Watch) -> None:
    watch.sees("all-up", *NAMES)
    watch.begin_anew()

    assert watch.sees("two-killed", "pgpool-3")[-1] == "The watchdog lost its quorum"
    watch.begin_anew()
    assert "The watchdog has a quorum again" in watch.sees("all-up", *NAMES)


@pytest.mark.django_db(transaction=True)
def test_polling_waits_for_nobody_who_holds_the_cluster_and_tells_it_afterwards(watch: Watch, cluster: Cluster) -> None:
    told_so: list[list[str]] = []

    def look(scene: str, *pgpools: str) -> list[str]:
        def poll() -> None:
            with transaction.atomic():
                told_so.append(watch.sees(scene, *pgpools))
            connection.close()

        polling = threading.Thread(target=poll, daemon=True)
        polling.start()
        polling.join(timeout=60)
        assert not polling.is_alive()
        return told_so[-1]

    look("all-up", *NAMES)
    with transaction.atomic():
        locked(cluster)
        assert look("leader-killed", "pgpool-2", "pgpool-3") == []

    assert look("leader-killed", "pgpool-2", "pgpool-3")[0] == "The watchdog lost pgpool-1"


@pytest.mark.django_db
def test_nothing_is_told_before_every_pgpool_was_asked(watch: Watch, cluster: Cluster) -> None:
    watch.sees("all-up", *NAMES)
    watch.begin_anew()
    first = cluster.instances.get(name="pgpool-3")
    reading = InstanceReading(first.pk, "answering", watchdog=WatchdogReading(told("two-killed", "pgpool-3")))

    tick = Tick(NOW, 1, (reading,), ())

    assert watchdog_changes(cluster=watched_cluster(cluster), memory=watch.memory, tick=tick) == []
    assert watch.sees("all-up", *NAMES) == []


@pytest.mark.django_db
def test_what_was_told_long_ago_does_not_count(watch: Watch, cluster: Cluster) -> None:
    watch.sees("all-up", *NAMES)
    two = cluster.instances.get(name="pgpool-2")
    reading = InstanceReading(two.pk, "answering", watchdog=WatchdogReading(told("leader-killed", "pgpool-2")))

    def told_at(seconds: float) -> list[str]:
        tick = Tick(ago(-seconds), 1, (reading,), ())
        found = watchdog_changes(cluster=watched_cluster(cluster), memory=watch.memory, tick=tick)
        return [one.title for one in found]

    assert told_at(20) == []  # the others named another leader 20 s ago
    assert told_at(31) == ["The watchdog lost pgpool-1", "pgpool-2 leads the watchdog"]


@pytest.mark.django_db
def test_a_watchdog_that_is_switched_off_or_silent_changes_nothing(watch: Watch, cluster: Cluster) -> None:
    watch.sees("all-up", *NAMES)

    assert watch.sees("all-up") == []
    assert Cluster.objects.get().watchdog["has_quorum"]
    assert watch.sees("all-up", others=OFF) == []
    assert Cluster.objects.get().watchdog == {}
    assert watch.sees("leader-killed", "pgpool-2", "pgpool-3") == []


@pytest.mark.django_db
def test_one_that_never_told_of_itself_is_known_by_its_address(watch: Watch, cluster: Cluster) -> None:
    own = told("all-up", "pgpool-2").own
    PgpoolInstance.objects.filter(name="pgpool-2").update(name="east", host=own.hostname, port=own.port)
    WatchdogLatest.objects.all().delete()
    watch.begin_anew()
    watch.sees("all-up", "pgpool-1", "pgpool-3")

    assert watch.sees("one-frozen", "pgpool-1", "pgpool-3") == ["The watchdog lost east"]


def payload(scene_name: str, pgpool: str) -> bytes:
    """What a fake pgpool answers with: a captured answer without its frame."""
    return (Path(CAPTURED) / f"{scene_name}.{pgpool}.message").read_bytes().removeprefix(b"w ")


def tell(found: Scene, scene_name: str, *pgpools: str) -> None:
    for name, pgpool in found.pgpools.items():
        pgpool.watchdog = payload(scene_name, name) if name in pgpools else pgpool.watchdog


@pytest.mark.django_db(transaction=True)
def test_a_poll_makes_events_that_the_page_shows(
    monkeypatch: pytest.MonkeyPatch, settings: object, transactional_db: None
) -> None:
    monkeypatch.setattr(watchdog_watch, "EVERY_S", 0.1)

    def titles() -> list[str]:
        events = ClusterEvent.objects.filter(kind="watchdog").order_by("pk")
        return list(events.values_list("title", flat=True))

    def is_known(leader: str) -> Callable[[], bool]:
        return lambda: Cluster.objects.get().watchdog.get("leader", "") == leader

    with scene(pgpools=3) as found:
        tell(found, "all-up", *NAMES)
        with watching():
            wait_until(is_known(told("all-up", "pgpool-1").own.name), "who leads is known")
            found.pgpools["pgpool-1"].mode = "hang"
            tell(found, "leader-killed", "pgpool-2", "pgpool-3")
            wait_until(is_known(told("all-up", "pgpool-2").own.name), "the next leader is known")
            wait_until(titles, "it is told")

    assert titles() == ["The watchdog lost pgpool-1", "pgpool-2 leads the watchdog"]
    first = ClusterEvent.objects.get(title="The watchdog lost pgpool-1")
    assert (first.is_problem, first.instance_name) == (True, "pgpool-1")
    page = browser("viewer", "watchers").get("/o/watchers/clusters/orders/events/").content.decode()
    assert [title in page for title in titles()] == [True, True]
