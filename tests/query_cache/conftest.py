"""A cluster of two pgpools whose query caches were polled, and calibrations of it, as rows: nobody answers there."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import Organisation
from apps.benchmarks.models import BenchmarkAccess, BenchmarkRun
from apps.clusters.history.append import InstanceSampleRow, NodeSampleRow, append
from apps.clusters.models import Backend, Cluster, InstanceConfig, InstanceLatest, PgpoolInstance
from tests.query_cache.domain.test_break_even import KEY_LOOK_UP

RUNNING = {
    "memory_cache_enabled": "on", "memqcache_method": "shmem", "memqcache_total_size": "64MB", "memqcache_expire": "0",
    "memqcache_auto_cache_invalidation": "on", "memqcache_memcached_host": "localhost",
    "memqcache_memcached_port": "11211", "cache_unsafe_memqcache_table_list": "",
}  # fmt: skip
SIZES = {
    "hit_count": 900, "miss_count": 100, "hash_entries": 131072, "used_hash_entries": 77, "entries": 77,
    "used_bytes": 12_482_600, "free_bytes": 54_626_264, "fragment_bytes": 0,
}  # fmt: skip


@pytest.fixture
def cluster(organisation: Organisation) -> Cluster:
    """orders: a primary and a standby, two pgpools of 4.3.5 with a cache in shared memory, benchmarks allowed."""
    now = timezone.now()
    made = Cluster.objects.create(
        organisation=organisation, slug="orders", name="Orders", username="lifeguard", password="x", primary_node_id=0
    )
    for node_id in range(2):
        Backend.objects.create(cluster=made, node_id=node_id, hostname="127.0.0.1", port=5000 + node_id)
    for number in (1, 2):
        instance = PgpoolInstance.objects.create(
            cluster=made, name=f"pgpool-{number}", host="127.0.0.1", port=9000 + number, delivery_kind="manual",
            version="4.3.5",
        )  # fmt: skip
        InstanceLatest.objects.create(
            instance=instance, polled_at=now, answered_at=now, state="answering", state_since=now, children_used=4,
            children_total=32, cache_row=SIZES,
        )  # fmt: skip
        InstanceConfig.objects.create(
            instance=instance, running=RUNNING, running_at=now, file_text="port = 9001\n", file_sha256="0" * 64
        )
    BenchmarkAccess.objects.create(
        cluster=made, is_on=True, database="shop", username="app", password="load me gently", most_clients=100,
        most_duration_s=600,
    )  # fmt: skip
    return made


@pytest.fixture
def counted(cluster: Cluster) -> Callable[..., None]:
    """Two polls of the first pgpool, ten seconds apart, in the latest minute: by how much its counters grew."""

    def count(*, hits: int, selects: int, reads: int, entries: tuple[int, int] = (77, 77)) -> None:
        instance = cluster.instances.get(name="pgpool-1")
        at = timezone.now() - dt.timedelta(seconds=40)
        for step in (0, 1):
            now = at + dt.timedelta(seconds=10 * step)
            sample = InstanceSampleRow(instance.pk, now, True, cache_entry_count=entries[step])
            append(
                instances=[sample._replace(cache_hit_count=hits * step, cache_miss_count=selects * step)],
                nodes=[NodeSampleRow(instance.pk, node_id, now, reads * step * node_id) for node_id in (0, 1)],
            )

    return count


@pytest.fixture
def calibrated(cluster: Cluster) -> BenchmarkRun:
    """Done, with the pairs of a key look-up, which pays from 40 % hits (22 to 51)."""
    return calibration(cluster, state="done", finished_at=timezone.now(), result=result_of(KEY_LOOK_UP))


def calibration(cluster: Cluster, **facts: Any) -> BenchmarkRun:
    parameters = {
        "sql": "SELECT abalance FROM pgbench_accounts WHERE aid = :key", "scale": 1, "key_space": None, "hot_keys": 100,
        "storage": "shmem", "slice_s": 2,
    }  # fmt: skip
    return BenchmarkRun.objects.create(
        cluster=cluster, workload="query-cache", topology="scratch:pgpool-1", clients=4, threads=4, duration_s=180,
        parameters=parameters, requested_by_name="Ann", **facts,
    )  # fmt: skip


def result_of(pairs: list[tuple[float, float, float]], storage: str = "shmem") -> dict[str, Any]:
    rows = [
        {
            "storage": storage, "block": 0, "level": ratio, "hits": int(1000 * ratio),
            "misses": 1000 - int(1000 * ratio), "hit_ratio": ratio, "tps": tps, "latency_ms": 0.1,
            "no_cache_tps": no_cache, "no_cache_latency_ms": 0.1,
        }
        for ratio, tps, no_cache in pairs
    ]  # fmt: skip
    return {"own": {"scratch of pgpool-1": {"cache_points": rows, "findings": []}}}
