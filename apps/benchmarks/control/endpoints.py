"""Endpoints of a cluster: places before its servers that the load of benchmarks can go to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.http import Http404

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.benchmarks.domain.endpoints import is_another_topology
from apps.benchmarks.models import BenchmarkEndpoint
from apps.clusters.domain.hosts import host_problem
from apps.clusters.models import Cluster
from apps.clusters.registry.connection_survey import Address, is_own_database, same_place, why_forbidden
from apps.clusters.registry.connection_test import own_database
from apps.clusters.registry.registration import NAME_EXPECTED, PLAIN_NAME

MOST_ENDPOINTS = 50
MOST_SESSIONS = 1_000_000
FIELDS = ("host", "port", "kind", "takes_writes", "most_sessions", "stands_before_pgpools")


class EndpointRefused(ValueError):
    """Nothing was stored. field: as REST names it."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"{field}: {expected}")
        self.field = field
        self.expected = expected


def add(*, caller: Caller, cluster: Cluster, name: str, facts: Mapping[str, Any]) -> BenchmarkEndpoint:
    """facts: of FIELDS, host and port among them. Raises EndpointRefused, or Http404: the cluster is gone."""
    caller.require(Role.ADMIN)
    endpoint = BenchmarkEndpoint(cluster=cluster, name=name, **facts)
    _refuse_name(endpoint)
    known = _known(endpoint)
    while True:
        _refuse_place(endpoint, known)
        with transaction.atomic():
            _lock_endpoints(cluster)
            if cluster.benchmark_endpoints.count() >= MOST_ENDPOINTS:
                full = f"{cluster.name} has {MOST_ENDPOINTS} endpoints already; remove one first"
                raise EndpointRefused("name", full)
            _refuse_name(endpoint)
            held_against, known = known, _known(endpoint)
            if known == held_against:
                endpoint.save()
                _record(caller, endpoint, "added", after=described(endpoint))
                return endpoint


def change(*, caller: Caller, endpoint: BenchmarkEndpoint, changes: Mapping[str, Any]) -> BenchmarkEndpoint:
    """changes: of FIELDS; none of them is no change. Returns it as it is stored now.

    Its name stays: runs and campaigns know it by that. Raises EndpointRefused, or Http404: it is gone.
    """
    caller.require(Role.ADMIN)
    is_place_given = bool({"host", "port"} & set(changes))
    checked: tuple[str, Mapping[Address, str]] | None = None
    while True:
        with transaction.atomic():
            stored = _locked(endpoint)
            if not changes:
                return stored
            before = described(stored)
            has_moved = any(name in changes and changes[name] != before[name] for name in ("host", "port"))
            for name, value in changes.items():
                setattr(stored, name, value)
            # Names are looked up without the lock: what was stored meanwhile is held against it once more.
            found = (stored.place, _known(stored, are_endpoints_too=has_moved))
            if not is_place_given or found == checked:
                stored.save(update_fields=[*changes, "changed_at"])
                _record(caller, stored, "changed", before={name: before[name] for name in changes}, after=dict(changes))
                return stored
        _refuse_place(stored, found[1])
        checked = found


def remove(*, caller: Caller, endpoint: BenchmarkEndpoint) -> None:
    """Runs that wait for it fail when their turn comes, and say why; those that are over keep its name.

    Raises Http404: it is gone already.
    """
    caller.require(Role.ADMIN)
    with transaction.atomic():
        stored = _locked(endpoint)
        _record(caller, stored, "removed", before=described(stored))
        stored.delete()


def _lock_endpoints(cluster: Cluster) -> None:
    """Nobody else adds or changes one of this cluster meanwhile. Raises Http404: it is gone."""
    if Cluster.objects.select_for_update(no_key=True).filter(pk=cluster.pk).first() is None:
        raise Http404(f"The cluster {cluster.slug} was removed meanwhile.")


def _locked(endpoint: BenchmarkEndpoint) -> BenchmarkEndpoint:
    Cluster.objects.select_for_update(no_key=True).filter(pk=endpoint.cluster_id).first()
    rows = BenchmarkEndpoint.objects.select_for_update(of=("self",)).select_related("cluster")
    stored = rows.filter(pk=endpoint.pk).first()
    if stored is None:
        raise Http404(f"The endpoint {endpoint.name} was removed meanwhile.")
    return stored


def described(endpoint: BenchmarkEndpoint) -> dict[str, Any]:
    return {"name": endpoint.name, **{name: getattr(endpoint, name) for name in FIELDS}}


def _refuse_name(endpoint: BenchmarkEndpoint) -> None:
    cluster, name = endpoint.cluster, endpoint.name
    if not PLAIN_NAME.fullmatch(name):
        raise EndpointRefused("name", f"{name} cannot stand in addresses; {NAME_EXPECTED}")
    if is_another_topology(name):
        raise EndpointRefused("name", f"{name} is what other topologies are called; give it a name of its own")
    taken = {one.name for one in cluster.instances.all()} | {one.shown_name for one in cluster.backends.all()}
    if name in taken:
        raise EndpointRefused("name", f"{name} is a server of {cluster.name} already; give it a name of its own")
    if cluster.benchmark_endpoints.filter(name=name).exists():
        raise EndpointRefused("name", f"there is an endpoint {name} already")


def _known(endpoint: BenchmarkEndpoint, *, are_endpoints_too: bool = True) -> dict[Address, str]:
    """Places of its cluster that are taken, as they are stored now, and what is there."""
    cluster = endpoint.cluster
    known = {(one.host.lower(), one.port): one.name for one in cluster.instances.order_by("name")}
    backends = cluster.backends.order_by("node_id")
    known |= {(one.asked_host.lower(), one.asked_port): one.shown_name for one in backends}
    if are_endpoints_too:
        others = cluster.benchmark_endpoints.exclude(pk=endpoint.pk).order_by("name")
        known |= {(one.host.lower(), one.port): f"the endpoint {one.name}" for one in others}
    return known


def _refuse_place(endpoint: BenchmarkEndpoint, known: Mapping[Address, str]) -> None:
    """Where Lifeguard signs in nowhere, or does already by another name, past what is known of its room."""
    if problem := host_problem(endpoint.host):
        raise EndpointRefused("host", problem)
    if reason := asyncio.run(_why_refused(endpoint, known)):
        raise EndpointRefused("host", reason)


async def _why_refused(endpoint: BenchmarkEndpoint, known: Mapping[Address, str]) -> str | None:
    # A name that ends with a dot is the same name, wherever it is looked up.
    place = (endpoint.host.lower().rstrip("."), endpoint.port)
    there = place if place in known else await same_place(place, list(known))
    if there is not None:
        return f"{endpoint.place} is {known[there]}, which is offered already"
    if await is_own_database(place, own_database()):
        return f"{endpoint.place} is Lifeguard's own database"
    return await why_forbidden(endpoint.host)


def _record(
    caller: Caller,
    endpoint: BenchmarkEndpoint,
    what: str,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    audit.record(
        caller=caller,
        action=f"benchmarks.endpoint.{what}",
        target_type="benchmark_endpoint",
        target_id=endpoint.pk,
        target_name=f"{endpoint.cluster.slug}/{endpoint.name}",
        before=before,
        after=after,
    )
