"""A cluster that is removed while what was seen of it is being stored: neither waits for the other for ever."""

import datetime as dt
import threading
from collections.abc import Callable

import pytest
from django.db import OperationalError, connection, transaction

from apps.accounts.access import Caller
from apps.clusters.models import Cluster, ClusterEvent, InstanceConfig, InstanceSample
from apps.clusters.polling import lease as leases
from apps.clusters.polling.memory import ClusterMemory
from apps.clusters.polling.readings import InstanceReading, Tick
from apps.clusters.polling.registry import watched_clusters
from apps.clusters.polling.store import store
from apps.clusters.registry.registry_changes import remove_cluster
from apps.clusters.registry.registry_locks import locked, record_event
from tests.clusters.polling_scene import Scene, scene, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

NOW = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)


def store_a_tick_with_news(made: Scene, raised: list[BaseException]) -> None:
    try:
        [cluster] = watched_clusters(shard=0, shards=1, now=NOW)
        lease = leases.take(shard=0, holder="test")
        assert lease is not None
        instance = made.instance("pgpool-1").pk
        tick = Tick(NOW, 1, (InstanceReading(instance, "answering"),), ())
        store(cluster=cluster, tick=tick, memory=ClusterMemory(told={instance}), lease=lease)
    except BaseException as error:  # noqa: BLE001  raised again by the test's own thread
        raised.append(error)
    finally:
        connection.close()


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


def test_a_tick_waits_for_the_removal_and_is_not_stored() -> None:
    raised: list[BaseException] = []
    with scene() as made:
        instance = made.instance("pgpool-1").pk
        storing = threading.Thread(target=store_a_tick_with_news, args=(made, raised))
        with transaction.atomic():
            current = locked(made.cluster)
            storing.start()
            wait_until(somebody_waits_for_a_lock, "the tick reaches the cluster's row")

            current.delete()
        storing.join(timeout=60)

    assert not storing.is_alive()
    assert raised == []
    assert not Cluster.objects.exists()
    assert not ClusterEvent.objects.exists()
    assert not InstanceSample.objects.filter(instance_id=instance).exists()


def note_a_look(made: Scene, has_row: threading.Event) -> None:
    """As a look at a file does: the row of the file first, then an event of its cluster."""
    try:
        with transaction.atomic():
            InstanceConfig.objects.select_for_update().get(instance__name="pgpool-1")
            has_row.set()
            wait_until(somebody_waits_for_a_lock, "the removal waits for the row of the file")
            record_event(made.cluster, now=NOW, title="The file was changed", detail="")
    except OperationalError:
        pass  # either may be the one that PostgreSQL ends
    finally:
        connection.close()


def test_a_removal_that_meets_a_look_at_a_file_is_done_all_the_same(caller: Callable[..., Caller]) -> None:
    has_row = threading.Event()
    with scene() as made:
        for instance in made.cluster.instances.all():
            InstanceConfig.objects.get_or_create(instance=instance)
        looking = threading.Thread(target=note_a_look, args=(made, has_row))
        looking.start()
        assert has_row.wait(timeout=60)

        remove_cluster(caller=caller("admin"), cluster=made.cluster, now=NOW)
        looking.join(timeout=60)

    assert not looking.is_alive()
    assert not Cluster.objects.exists()
    assert not ClusterEvent.objects.exists()
