"""Endpoints of a cluster, as REST and their page show them."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from django.http import Http404

from apps.benchmarks.domain import endpoints
from apps.benchmarks.models import BenchmarkCampaign, BenchmarkEndpoint, BenchmarkRun
from apps.benchmarks.queries.targets import endpoint_of as as_endpoint
from apps.clusters.models import Cluster


class EndpointAnswer(TypedDict):
    """topology: its key, as runs name it. runs_waiting: queued runs that go through it."""

    name: str
    topology: str
    label: str
    host: str
    port: int
    kind: str
    takes_writes: bool
    most_sessions: int | None
    stands_before_pgpools: bool
    runs_waiting: int
    changed_at: datetime


def endpoint_of(*, cluster: Cluster, name: str) -> BenchmarkEndpoint:
    # PostgreSQL's text holds no NUL.
    found = None if "\0" in name else cluster.benchmark_endpoints.filter(name=name).first()
    if found is None:
        raise Http404(f"{cluster.name} has no endpoint {name}.")
    return found


def endpoint_by_pk(*, cluster: Cluster, pk: int) -> BenchmarkEndpoint:
    found = cluster.benchmark_endpoints.filter(pk=pk).first()
    if found is None:
        raise Http404(f"{cluster.name} has no such endpoint; it may have been removed meanwhile.")
    return found


def endpoint_answers(cluster: Cluster) -> list[EndpointAnswer]:
    """By name."""
    return [endpoint_answer(one) for one in cluster.benchmark_endpoints.order_by("name")]


def endpoint_answer(row: BenchmarkEndpoint) -> EndpointAnswer:
    found = as_endpoint(row, pgpools=row.cluster.instances.count())
    waiting = BenchmarkRun.objects.filter(
        cluster_id=row.cluster_id, state=BenchmarkRun.State.QUEUED, topology=found.key
    )
    return {
        "name": row.name,
        "topology": found.key,
        "label": endpoints.topology(found).label,
        "host": row.host,
        "port": row.port,
        "kind": row.kind,
        "takes_writes": row.takes_writes,
        "most_sessions": row.most_sessions,
        "stands_before_pgpools": row.stands_before_pgpools,
        "runs_waiting": waiting.count(),
        "changed_at": row.changed_at,
    }


def campaigns_through(row: BenchmarkEndpoint) -> list[str]:
    """Names of those that measure it again and again."""
    key = as_endpoint(row, pgpools=0).key
    campaigns = BenchmarkCampaign.objects.filter(cluster_id=row.cluster_id).order_by("name")
    found = campaigns.values_list("name", "arms")
    return [name for name, arms in found if any(arm.get("topology") == key for arm in arms)]
