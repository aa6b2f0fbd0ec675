"""What a run was measured under: versions, configuration, placement, and what the cluster did meanwhile."""

from __future__ import annotations

import os
import platform
import socket
from typing import Any

from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.models import BenchmarkRun
from apps.clusters.models import BackendLatest, Cluster, InstanceConfig, InstanceLatest, NodeLatest


def at_start(run: BenchmarkRun, wish: Wish, *, program_version: str, server_version: str) -> dict[str, Any]:
    """Versions, hashes of what each pgpool runs by, where everything is, and the counters of the latest poll."""
    return {
        "workload": run.workload,
        "topology": {
            "key": wish.topology.key,
            "label": wish.topology.label,
            "servers": [{"name": one.name, "host": one.host, "port": one.port} for one in wish.topology.servers],
            "is_through_pgpool": wish.topology.is_through_pgpool,
        },
        "client": {
            "host": socket.gethostname(),
            "cpus": os.cpu_count(),
            "machine": platform.machine(),
            "program": program_version,
            "load_before": list(os.getloadavg()),
        },
        "postgresql": server_version,
        "pgpools": _pgpools(run.cluster),
        "placement": placement(run.cluster, wish.topology.endpoint),
        "counters_before": _counters(run.cluster),
    }


def at_end(run: BenchmarkRun) -> dict[str, Any]:
    """What is added to it: the load of the client's machine, and what the counters moved by."""
    after = _counters(run.cluster)
    before = run.environment.get("counters_before", {})
    client = {**run.environment.get("client", {}), "load_after": list(os.getloadavg())}
    return {"client": client, "counters_after": after, "reads": reads_by_node(before, after)}


def reads_by_node(before: dict[str, Any], after: dict[str, Any]) -> dict[str, int] | None:
    """node_id -> SELECTs that the pgpools sent there between two polls; None where a pgpool restarted in between."""
    total: dict[str, int] = {}
    for name, nodes in after.get("select_counts", {}).items():
        earlier = before.get("select_counts", {}).get(name)
        if earlier is None or any(earlier.get(node, 0) > count for node, count in nodes.items()):
            return None
        for node, count in nodes.items():
            total[node] = total.get(node, 0) + count - earlier.get(node, 0)
    return total or None


def placement(cluster: Cluster, endpoint: Server | None = None) -> dict[str, list[str]]:
    """Address -> what runs there, as far as names tell: the client, the endpoint of the run, pgpools and backends.

    Loopback is the client's.
    """
    found: dict[str, list[str]] = {}
    places = [("client", "localhost")]
    places += [(endpoint.name, endpoint.host)] if endpoint is not None else []
    places += [(one.name, one.host) for one in cluster.instances.order_by("name")]
    places += [(one.shown_name, one.asked_host) for one in cluster.backends.order_by("node_id")]
    for name, host in places:
        found.setdefault(_address(host), []).append(name)
    return found


def _address(host: str) -> str:
    try:
        address = str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError:
        return host
    return "localhost" if address == "::1" or address.startswith("127.") else address


def _pgpools(cluster: Cluster) -> list[dict[str, Any]]:
    hashes = dict(InstanceConfig.objects.filter(instance__cluster=cluster).values_list("instance_id", "file_sha256"))
    return [
        {"name": one.name, "version": one.version, "sha256": hashes.get(one.pk) or "", "weights": one.shown_weights}
        for one in cluster.instances.order_by("name")
    ]


def _counters(cluster: Cluster) -> dict[str, Any]:
    """As they were polled latest."""
    selects: dict[str, dict[str, int]] = {}
    for node in NodeLatest.objects.select_related("instance").filter(instance__cluster=cluster):
        if node.select_count is not None:
            selects.setdefault(node.instance.name, {})[str(node.node_id)] = node.select_count
    caches = InstanceLatest.objects.select_related("instance").filter(instance__cluster=cluster)
    lags = BackendLatest.objects.select_related("backend").filter(backend__cluster=cluster)
    return {
        "select_counts": selects,
        "cache": {one.instance.name: [one.cache_hit_count, one.cache_miss_count] for one in caches},
        "replay_lag_s": {one.backend.shown_name: one.replay_lag_s for one in lags},
        "lsn_bytes": {one.backend.shown_name: one.lsn_bytes for one in lags},
    }
