"""What a change of a registration touches, and which pgpools have to be asked before it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.clusters.domain.hosts import host_problem
from apps.clusters.models import Backend, Cluster, PgpoolInstance
from apps.clusters.registry.cluster_wanted import BackendWanted, DeliveryWanted, PcpWanted, PgpoolWanted
from apps.clusters.registry.connection_survey import AskedPgpool, Question, is_own_database, why_forbidden
from apps.clusters.registry.connection_test import own_database
from apps.clusters.registry.delivery_rows import delivery_of_row
from apps.clusters.registry.registration import twice_errors

BYSTANDER = "bystanders."
# What an instance must be asked about again; its AZ is only a label.
ASKED_ANEW = ("host", "port", "pcp", "delivery")


@dataclass(frozen=True)
class InstanceChange:
    """given: the fields to set. field: its place in the input, as pgpools.0."""

    field: str
    instance: PgpoolInstance
    given: Mapping[str, Any]


@dataclass(frozen=True)
class ChangePlan:
    changes: Mapping[str, Any]
    instances: tuple[InstanceChange, ...]
    backends: tuple[tuple[Backend, Mapping[str, Any]], ...]
    question: Question
    errors: Mapping[str, str]

    @property
    def touches_what_is_under_way(self) -> bool:
        """Whether a rollout, restart or drain would lose its pgpool, its file, or the backend that it asks."""
        is_moved = any(name in change.given for change in self.instances for name in ASKED_ANEW)
        return is_moved or any(_is_moved(backend, given) for backend, given in self.backends)

    def is_bystander(self, field: str) -> bool:
        """Whether a refusal is about a pgpool that nobody wants to change, beyond its credentials."""
        return field.startswith(BYSTANDER)


def plan_changes(cluster: Cluster, changes: Mapping[str, Any]) -> ChangePlan:
    """Nothing is asked over the network here, but the names of new backend addresses."""
    known = {instance.name: instance for instance in cluster.instances.order_by("name")}
    errors: dict[str, str] = {}
    instances = []
    for position, given in enumerate(changes.get("pgpools", ())):
        instance = known.get(given["name"])
        if instance is None:
            errors[f"pgpools.{position}.name"] = f"there is no pgpool {given['name']}; there are {', '.join(known)}"
        else:
            instances.append(InstanceChange(f"pgpools.{position}", instance, given))
    backends = _backends(cluster, changes, errors)
    asked = _asked(
        known, instances, has_credentials=any(name in changes for name in ("username", "password", "sslmode"))
    )
    after = _after(known, instances)
    errors |= twice_errors(after)
    errors |= _secrets_missing(changes, instances, backends)
    question = Question(
        username=changes.get("username", cluster.username),
        password=changes.get("password", cluster.password),
        sslmode=changes.get("sslmode", cluster.sslmode),
        pgpools=asked,
        backends=tuple(_backend_wanted(backend) for backend in cluster.backends.order_by("node_id")),
        own_database=own_database(),
        known=known_addresses(cluster),
        is_observe_only=cluster.is_observe_only,
        others=tuple(each for each in after if each.name not in {one.name for one in asked}),
    )
    return ChangePlan(changes, tuple(instances), backends, question, errors)


def known_addresses(cluster: Cluster) -> dict[int, tuple[str, int]]:
    return {backend.node_id: (backend.hostname, backend.port) for backend in cluster.backends.order_by("node_id")}


def pgpool_wanted(instance: PgpoolInstance, given: Mapping[str, Any]) -> PgpoolWanted:
    """The instance as it would be with the given fields set."""
    pcp = (
        PcpWanted(instance.pcp_port, instance.pcp_username, instance.pcp_password)
        if instance.pcp_port is not None
        else None
    )
    if "pcp" in given:
        new = given["pcp"]
        pcp = PcpWanted(new["port"], new["user"], new["password"]) if new else None
    delivery = delivery_of_row(instance)
    if "delivery" in given:
        # The text that is published already need not be given again.
        delivery = DeliveryWanted.of({**given["delivery"], "text": given["delivery"].get("text") or delivery.text})
    return PgpoolWanted(
        host=given.get("host", instance.host),
        port=given.get("port", instance.port),
        name=instance.name,
        az=given.get("az", instance.az),
        pcp=pcp,
        delivery=delivery,
    )


def _asked(
    known: Mapping[str, PgpoolInstance], changed: list[InstanceChange], *, has_credentials: bool
) -> tuple[AskedPgpool, ...]:
    asked = [
        AskedPgpool(
            change.field, change.instance.name, pgpool_wanted(change.instance, change.given), change.instance.pk
        )
        for change in changed
        if any(name in change.given for name in ASKED_ANEW)
    ]
    names = {each.name for each in asked}
    if has_credentials:
        asked += [
            AskedPgpool(f"{BYSTANDER}{name}", name, pgpool_wanted(instance, {}), instance.pk)
            for name, instance in known.items()
            if name not in names
        ]
    return tuple(asked)


def _after(known: Mapping[str, PgpoolInstance], changed: list[InstanceChange]) -> list[AskedPgpool]:
    """All instances as they would be, to see names and addresses that two would share."""
    given = {change.instance.name: change for change in changed}
    return [
        AskedPgpool(
            given[name].field if name in given else f"{BYSTANDER}{name}",
            name,
            pgpool_wanted(instance, given[name].given if name in given else {}),
        )
        for name, instance in known.items()
    ]


def _backends(
    cluster: Cluster, changes: Mapping[str, Any], errors: dict[str, str]
) -> tuple[tuple[Backend, Mapping[str, Any]], ...]:
    known = {backend.node_id: backend for backend in cluster.backends.order_by("node_id")}
    found: dict[str, tuple[Backend, Mapping[str, Any]]] = {}
    for position, given in enumerate(changes.get("backends", ())):
        backend = known.get(given["node_id"])
        if backend is None:
            listed = ", ".join(map(str, known))
            errors[f"backends.{position}.node_id"] = f"there is no backend {given['node_id']}; there are {listed}"
        else:
            found[f"backends.{position}.host"] = (backend, given)
    errors |= asyncio.run(_forbidden_places(found))
    return tuple(found.values())


async def _forbidden_places(asked: Mapping[str, tuple[Backend, Mapping[str, Any]]]) -> dict[str, str]:
    """Field of the input -> why Lifeguard asks nobody there. All names at once: each may take seconds to resolve."""
    reasons = await asyncio.gather(*(_why_refused(backend, given) for backend, given in asked.values()))
    return {field: reason for field, reason in zip(asked, reasons, strict=True) if reason is not None}


async def _why_refused(backend: Backend, given: Mapping[str, Any]) -> str | None:
    # A host that is stored since long may be none: whoever edits its backend is told so.
    host = given.get("host", backend.direct_host)
    if host and host != backend.hostname and (problem := host_problem(host)):
        return f"{host} {problem}"
    place = _place_after(backend, given)
    if await is_own_database(place, own_database()):
        return f"{place[0]}:{place[1]} is Lifeguard's own database"
    return await why_forbidden(given["host"]) if given.get("host") else None


def _place_after(backend: Backend, given: Mapping[str, Any]) -> tuple[str, int]:
    """Where Lifeguard would ask the backend; an empty host or port means as pgpool does."""
    host = given["host"] or backend.hostname if "host" in given else backend.asked_host
    port = given["port"] or backend.port if "port" in given else backend.asked_port
    return host, port


def _secrets_missing(
    changes: Mapping[str, Any],
    instances: Sequence[InstanceChange],
    backends: Sequence[tuple[Backend, Mapping[str, Any]]],
) -> dict[str, str]:
    """A stored password goes to no host that it was not given for: else whoever may change an address collects it."""
    errors = {}
    moved = [backend.shown_name for backend, given in backends if _is_moved(backend, given)]
    for change in instances:
        instance, given = change.instance, change.given
        has_new_host = given.get("host", instance.host) != instance.host
        if has_new_host or given.get("port", instance.port) != instance.port:
            moved.append(instance.name)
        if has_new_host and instance.pcp_port is not None and "pcp" not in given:
            errors[f"{change.field}.pcp.password"] = (
                f"give the PCP password of {instance.name} again: the stored one is not sent to a new host"
            )
    if moved and "password" not in changes:
        errors["password"] = (
            f"give the password of the monitoring role again: {', '.join(moved)} would be asked at a new address, and "
            "the stored one is not sent there"
        )
    return errors


def _is_moved(backend: Backend, given: Mapping[str, Any]) -> bool:
    return _place_after(backend, given) != (backend.asked_host, backend.asked_port)


def _backend_wanted(backend: Backend) -> BackendWanted:
    return BackendWanted(backend.node_id, backend.direct_host, backend.direct_port, backend.az)
