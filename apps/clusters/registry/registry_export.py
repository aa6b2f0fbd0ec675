"""What is registered as YAML, to be kept, compared and imported again. Secrets stay here: places are left for them."""

from __future__ import annotations

import re
from typing import Any

from apps.accounts.models import Organisation
from apps.clusters.domain import registry_yaml
from apps.clusters.models import Backend, Cluster, PgpoolInstance
from apps.clusters.registry.delivery_rows import described_delivery


def export_yaml(organisation: Organisation) -> str:
    clusters = Cluster.objects.filter(organisation=organisation).defer("password").order_by("slug")
    return registry_yaml.dump([exported(cluster) for cluster in clusters])


def exported(cluster: Cluster) -> dict[str, Any]:
    """One cluster, as the import reads it: the fields of a registration by REST, a name in place of each secret."""
    instances = cluster.instances.order_by("name")
    return {
        "name": cluster.name,
        "slug": cluster.slug,
        "username": cluster.username,
        "password": secret_place(cluster.slug),
        "sslmode": cluster.sslmode,
        "has_synthetic_azs": cluster.has_synthetic_azs,
        "observe_only": cluster.is_observe_only,
        "pgpools": [_pgpool(cluster, instance) for instance in instances],
        "backends": [_backend(backend) for backend in cluster.backends.order_by("node_id")],
    }


def secret_place(*names: str) -> dict[str, str]:
    """{"env": "LIFEGUARD_ORDERS_PASSWORD"}: the name under which a secret is given to the import."""
    return {"env": re.sub(r"[^A-Z0-9]+", "_", "_".join(["LIFEGUARD", *names, "PASSWORD"]).upper())}


def _pgpool(cluster: Cluster, instance: PgpoolInstance) -> dict[str, Any]:
    found: dict[str, Any] = {"name": instance.name, "host": instance.host, "port": instance.port, "az": instance.az}
    if instance.pcp_port is not None:
        place = secret_place(cluster.slug, instance.name, "pcp")
        found["pcp"] = {"port": instance.pcp_port, "user": instance.pcp_username, "password": place}
    # Neither a key nor a published file, which holds passwords.
    found["delivery"] = {name: value for name, value in described_delivery(instance).items() if value != ""}
    return found


def _backend(backend: Backend) -> dict[str, Any]:
    return {"node_id": backend.node_id, "host": backend.asked_host, "port": backend.asked_port, "az": backend.az}
