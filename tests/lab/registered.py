"""The lab's cluster as rows, with local delivery, for stories that act on it."""

from pathlib import Path
from typing import Any

from django.utils import timezone

from apps.accounts.access import Caller
from apps.accounts.models import Membership, Organisation, User
from apps.clusters.control import rollouts
from apps.clusters.models import Backend, Cluster, PgpoolInstance, Rollout
from controlplane.environment import DeliveryDirectory
from deploy.lab import Lab


def delivery_directory(lab: Lab) -> Path:
    return Path(lab.addresses["data"]).resolve()


def register_lab(lab: Lab, settings: Any) -> tuple[Cluster, Caller]:
    """A cluster `orders` of the organisation `acme`, and its operator."""
    addresses = lab.addresses
    settings.LOCAL_DELIVERY_DIRECTORIES = [DeliveryDirectory(None, delivery_directory(lab))]
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    user = User.objects.create_user("ann@acme.example", name="Ann")
    Membership.objects.create(organisation=organisation, user=user, role="operator")
    cluster = Cluster.objects.create(
        organisation=organisation, slug="orders", name="Orders", has_synthetic_azs=True, **addresses["monitor"]
    )
    for backend in addresses["backends"]:
        Backend.objects.create(
            cluster=cluster, node_id=backend["node_id"], hostname=backend["host"], port=backend["port"],
            application_name=backend["name"], az=backend["az"],
        )  # fmt: skip
    for pgpool in addresses["pgpools"]:
        PgpoolInstance.objects.create(
            cluster=cluster, name=pgpool["name"], host=pgpool["host"], port=pgpool["port"], az=pgpool["az"],
            pcp_port=pgpool["pcp_port"], pcp_username=addresses["pcp"]["username"],
            pcp_password=addresses["pcp"]["password"], delivery_kind="local", delivery_path=pgpool["conf"],
            delivery_target=str(Path(pgpool["conf"]).resolve()),
        )  # fmt: skip
    return cluster, Caller(user, organisation, "operator")


def carry_out(rollout: Rollout) -> Rollout:
    rollouts.advance(rollout_id=rollout.pk, holder="test", clock=timezone.now)
    rollout.refresh_from_db()
    return rollout
