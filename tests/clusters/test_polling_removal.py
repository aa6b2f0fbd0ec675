"""A cluster that is removed while a tick of it is being stored: neither waits for the other for ever."""

import datetime as dt
import threading

import pytest
from django.db import connection, transaction

from apps.clusters.models import Cluster, ClusterEvent, InstanceSample
from apps.clusters.polling import lease as leases
from apps.clusters.polling.memory import ClusterMemory
from apps.clusters.polling.readings import InstanceReading, Tick
from apps.clusters.polling.registry import watched_clusters
from apps.clusters.polling.store import store
from apps.clusters.registry.registry_locks import locked
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
