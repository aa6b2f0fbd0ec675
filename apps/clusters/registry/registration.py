"""Registering a cluster: checked whole, asked live, stored in one transaction or not at all."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.clusters.domain.hosts import host_problem
from apps.clusters.domain.show_rows import PoolNode
from apps.clusters.models import Backend, Cluster, ClusterEvent, PgpoolInstance
from apps.clusters.registry import cluster_survey
from apps.clusters.registry.cluster_survey import Ask
from apps.clusters.registry.cluster_wanted import (
    BackendWanted,
    ClusterWanted,
    DeliveryWanted,
    PcpWanted,
    PgpoolWanted,
    too_many,
)
from apps.clusters.registry.connection_survey import AskedPgpool
from apps.clusters.registry.connection_test import (
    Findings,
    application_name,
    az_of,
    delay_threshold_bytes,
    examine,
    is_statement_level,
    question_of,
)
from apps.clusters.registry.delivery_claims import Claim
from apps.clusters.registry.delivery_rows import columns, described_delivery, publish_given
from apps.live import events

__all__ = [
    "BackendWanted",
    "ClusterWanted",
    "DeliveryWanted",
    "PcpWanted",
    "PgpoolWanted",
    "RegistrationRefused",
    "register",
]

# Words that stand at a cluster's place in the addresses of pages.
RESERVED_SLUGS = frozenset({"register", "new"})
# DELETE …/pgpools/../ would reach the cluster itself: clients resolve dots, and cut at ? and #, before they send.
PLAIN_NAME = re.compile(r"\w[\w .:-]*")
NAME_EXPECTED = "letters, digits, blanks and . : - _ can, as in pgpool-1"
# Constraints that two requests at once may run into, and the field that each is told at.
RACES = {
    "cluster_slug_unique": ("slug", "this slug was taken meanwhile"),
    "instance_file_unique": ("pgpools", "one of the files was taken by another pgpool meanwhile"),
    "instance_name_unique": ("pgpools", "two pgpools would have the same name"),
    "instance_address_unique": ("pgpools", "two pgpools would have the same address"),
}


class RegistrationRefused(ValueError):
    """This cluster cannot be registered so. errors: field of the input, as pgpools.0.host -> message."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(" ".join(f"{field}: {message}" for field, message in errors.items()))
        self.errors = dict(errors)


def register(*, caller: Caller, wanted: ClusterWanted, now: dt.datetime, ask: Ask = cluster_survey.ask) -> Cluster:
    """Ask every pgpool, then store. Raises RegistrationRefused; nothing is stored then.

    An unreachable backend is no reason to refuse: it may be down. An unreachable pgpool is.
    """
    caller.require(Role.ADMIN)
    slug = wanted.slug or slug_of(wanted.name)
    question = question_of(wanted)
    errors = _slug_errors(caller, slug) | twice_errors(question.pgpools) | _pgpools_errors(wanted)
    if errors:
        raise RegistrationRefused(errors)
    findings = examine(question, organisation=caller.organisation, ask=ask)
    first = findings.survey.first
    if errors := {**findings.errors, **_hosts_errors(wanted, first.nodes if first is not None else ())}:
        raise RegistrationRefused(errors)
    try:
        with transaction.atomic():
            return _store(caller, wanted, slug, question.pgpools, findings, now)
    except IntegrityError as error:
        raise race_lost(error) from error


def slug_of(name: str) -> str:
    """Made from the name of a cluster whose slug was not given; empty where none can be."""
    return slugify(name)[:60].strip("-")


def race_lost(error: IntegrityError) -> RegistrationRefused:
    """The refusal for a constraint that another request met first. Raises the error again if it is none of those."""
    diagnostics = getattr(error.__cause__, "diag", None)
    if diagnostics is None or diagnostics.constraint_name not in RACES:
        raise error
    field, message = RACES[diagnostics.constraint_name]
    return RegistrationRefused({field: message})


def _slug_errors(caller: Caller, slug: str) -> dict[str, str]:
    if not slug:
        return {"slug": "give a slug: none can be made from this name"}
    if slug in RESERVED_SLUGS:
        return {"slug": f"{slug} is a word that the dashboard uses itself; choose another"}
    if Cluster.objects.filter(organisation=caller.organisation, slug=slug).exists():
        return {"slug": f"there is a cluster {slug} in this organisation already"}
    return {}


def _pgpools_errors(wanted: ClusterWanted) -> dict[str, str]:
    errors = too_many(pgpools=len(wanted.pgpools), backends=len(wanted.backends))
    if not wanted.pgpools:
        errors["pgpools"] = "give the address of at least one pgpool"
    if not wanted.name.strip():
        errors["name"] = "give the cluster a name"
    counted = Counter(backend.node_id for backend in wanted.backends)
    for position, backend in enumerate(wanted.backends):
        if counted[backend.node_id] > 1:
            errors[f"backends.{position}.node_id"] = f"backend {backend.node_id} is described more than once"
    return errors


def _hosts_errors(wanted: ClusterWanted, nodes: Sequence[PoolNode]) -> dict[str, str]:
    """nodes: as pgpool shows them; what it calls a backend itself, a path too, is no address of its own."""
    shown = {node.hostname for node in nodes}
    given = {f"backends.{position}.host": backend.host for position, backend in enumerate(wanted.backends)}
    return {
        field: f"{host} {problem}"
        for field, host in given.items()
        if host and host not in shown and (problem := host_problem(host))
    }


def twice_errors(pgpools: Sequence[AskedPgpool]) -> dict[str, str]:
    """Names and addresses that two pgpools of one cluster would share, and names that no address could carry."""
    names = Counter(each.name for each in pgpools)
    places = Counter((each.wanted.host.lower(), each.wanted.port) for each in pgpools)
    errors = {}
    for each in pgpools:
        if names[each.name] > 1:
            errors[f"{each.field}.name"] = f"two pgpools would be called {each.name}"
        elif not PLAIN_NAME.fullmatch(each.name):
            errors[f"{each.field}.name"] = f"{each.name} cannot stand in addresses; {NAME_EXPECTED}"
        if places[each.wanted.host.lower(), each.wanted.port] > 1:
            errors[f"{each.field}.host"] = f"{each.wanted.host}:{each.wanted.port} is given twice"
    return errors


def _store(
    caller: Caller,
    wanted: ClusterWanted,
    slug: str,
    pgpools: Sequence[AskedPgpool],
    findings: Findings,
    now: dt.datetime,
) -> Cluster:
    first = findings.survey.first
    if first is None:  # every pgpool answered, or this were refused
        raise RegistrationRefused({"pgpools": "no pgpool answered"})
    cluster = Cluster.objects.create(
        organisation=caller.organisation,
        slug=slug,
        name=wanted.name,
        username=wanted.username,
        password=wanted.password,
        sslmode=wanted.sslmode,
        has_synthetic_azs=wanted.has_synthetic_azs,
        is_observe_only=wanted.is_observe_only,
        is_statement_level=is_statement_level(first),
        delay_threshold_bytes=delay_threshold_bytes(first),
        created_by=caller.user,
    )
    versions = {found.asked.field: found.version for found in findings.survey.pgpools}
    for asked in pgpools:
        store_instance(cluster, asked, claim=findings.claims.get(asked.field), version=versions[asked.field])
    for node in first.nodes:
        _store_backend(cluster, node, wanted, application_name(first, node.node_id))
    announce_registered(caller, cluster, now)
    return cluster


def store_instance(cluster: Cluster, asked: AskedPgpool, *, claim: Claim | None, version: str) -> PgpoolInstance:
    wanted = asked.wanted
    instance = PgpoolInstance.objects.create(
        cluster=cluster,
        name=asked.name,
        host=wanted.host,
        port=wanted.port,
        az=wanted.az,
        pcp_port=wanted.pcp.port if wanted.pcp else None,
        pcp_username=wanted.pcp.username if wanted.pcp else "",
        pcp_password=wanted.pcp.password if wanted.pcp else "",
        version=version,
        **columns(wanted, claim),
    )
    publish_given(instance, wanted.delivery)
    return instance


def _store_backend(cluster: Cluster, node: PoolNode, wanted: ClusterWanted, application: str) -> None:
    given = next((each for each in wanted.backends if each.node_id == node.node_id), BackendWanted(node.node_id))
    Backend.objects.create(
        cluster=cluster,
        node_id=node.node_id,
        hostname=node.hostname,
        port=node.port,
        direct_host=given.host if given.host != node.hostname else "",
        direct_port=given.port if given.port != node.port else None,
        application_name=application,
        az=az_of(node.node_id, wanted.backends),
    )


def described(cluster: Cluster) -> dict[str, Any]:
    """The registration as the audit trail keeps it: whole, without secrets."""
    return {
        "name": cluster.name,
        "slug": cluster.slug,
        "username": cluster.username,
        "sslmode": cluster.sslmode,
        "observe_only": cluster.is_observe_only,
        "pgpools": [described_instance(instance) for instance in cluster.instances.order_by("name")],
        "backends": [
            {
                "node_id": backend.node_id,
                "host": backend.asked_host,
                "port": backend.asked_port,
                "az": backend.az,
            }
            for backend in cluster.backends.order_by("node_id")
        ],
    }


def described_instance(instance: PgpoolInstance) -> dict[str, Any]:
    pcp = {"port": instance.pcp_port, "user": instance.pcp_username} if instance.pcp_port else None
    return {
        "name": instance.name,
        "host": instance.host,
        "port": instance.port,
        "az": instance.az,
        "pcp": pcp,
        "delivery": described_delivery(instance),
    }


def announce_registered(caller: Caller, cluster: Cluster, now: dt.datetime) -> None:
    count = cluster.instances.count()
    ClusterEvent.objects.create(
        cluster=cluster,
        at=now,
        kind=ClusterEvent.Kind.REGISTERED,
        title=f"{cluster.name} was registered",
        detail=f"{count} pgpool{'s' * (count != 1)}, {cluster.backends.count()} backends",
    )
    audit.record(
        caller=caller,
        action="cluster.register",
        target_type="cluster",
        target_id=cluster.pk,
        target_name=cluster.slug,
        after=described(cluster),
    )
    events.announce(f"organisation.{cluster.organisation_id}", "registered", cluster=cluster.slug)
