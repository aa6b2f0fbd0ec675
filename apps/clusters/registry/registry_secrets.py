"""Secrets of an imported registry: written there, given beside it by name, or kept as they are registered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.clusters.models import Cluster, PgpoolInstance
from apps.clusters.registry.registration import RegistrationRefused

Entry = Mapping[str, Any]


def with_secrets(entry: Entry, secrets: Mapping[str, str], cluster: Cluster | None) -> dict[str, Any]:
    """The description with every secret in its place. cluster: what is registered under the same slug.

    A stored secret is kept only for the addresses that it was given for: else whoever may import collects it.
    Raises RegistrationRefused, naming each secret that is missing.
    """
    found, errors = dict(entry), dict[str, str]()
    stored = cluster.password if cluster is not None and _is_at_home(entry, cluster) else None
    found["password"] = _secret(entry.get("password"), secrets, stored, "password", errors)
    pgpools = entry.get("pgpools")
    if isinstance(pgpools, list):
        found["pgpools"] = [
            _with_pcp(each, f"pgpools.{at}", secrets, cluster, errors) for at, each in enumerate(pgpools)
        ]
    if errors:
        raise RegistrationRefused(errors)
    return found


def _with_pcp(
    given: object, field: str, secrets: Mapping[str, str], cluster: Cluster | None, errors: dict[str, str]
) -> object:
    if not isinstance(given, dict) or not isinstance(given.get("pcp"), dict):
        return given
    pcp, stored = given["pcp"], None
    instance = _instance(cluster, given.get("name"))
    if instance is not None and (instance.host, instance.pcp_port) == (given.get("host"), pcp.get("port")):
        stored = instance.pcp_password
    place = f"{field}.pcp.password"
    return {**given, "pcp": {**pcp, "password": _secret(pcp.get("password"), secrets, stored, place, errors)}}


def _secret(
    given: object, secrets: Mapping[str, str], stored: str | None, field: str, errors: dict[str, str]
) -> object:
    """A place {env: NAME} is filled; what else stands there is looked at by whoever reads the description."""
    if given is not None and not isinstance(given, dict):
        return given
    name = (given or {}).get("env")
    if given is not None and (set(given) != {"env"} or not isinstance(name, str)):
        errors[field] = "must be a text, or the name under which it is given: {env: NAME}"
        return None
    if isinstance(name, str) and secrets.get(name):
        return secrets[name]
    if stored is None:
        how = f"give {name[:80]} with the import" if isinstance(name, str) else "is missing"
        errors[field] = f"{how}; a stored one is kept only where host and port are as they are registered"
    return stored


def _is_at_home(entry: Entry, cluster: Cluster) -> bool:
    """Whether every address that the password would be sent to has had it already."""
    pgpools = list(cluster.instances.values_list("host", "port"))
    backends = [(each.node_id, each.asked_host, each.asked_port) for each in cluster.backends.order_by("node_id")]
    return all((each.get("host"), each.get("port")) in pgpools for each in _mappings(entry.get("pgpools"))) and all(
        any(_is_there(each, *place) for place in backends) for each in _mappings(entry.get("backends"))
    )


def _is_there(given: Mapping[str, Any], node_id: int, host: str, port: int) -> bool:
    return (given.get("node_id"), given.get("host") or host, given.get("port") or port) == (node_id, host, port)


def _mappings(given: object) -> list[Mapping[str, Any]]:
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


def _instance(cluster: Cluster | None, name: object) -> PgpoolInstance | None:
    if cluster is None or not isinstance(name, str):
        return None
    return cluster.instances.filter(name=name).first()
