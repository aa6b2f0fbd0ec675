"""The way of delivery of one instance, with all that it needs."""

from django.conf import settings

from apps.clusters.control.published import PublishedDelivery, is_published
from apps.clusters.models import PgpoolInstance
from apps.clusters.outside.delivery import Delivery, delivery_for
from apps.clusters.registry.ssh_accounts import ssh_file_of


def delivery_of(instance: PgpoolInstance) -> Delivery:
    """Raises PathRefused when the installation does not, or no longer, allow this file, or a link was moved."""
    if is_published(instance):
        return PublishedDelivery(instance)
    if instance.delivery_kind == PgpoolInstance.Delivery.SSH:
        return ssh_file_of(instance)
    return delivery_for(
        kind=instance.delivery_kind,
        path=instance.delivery_path,
        target=instance.delivery_target,
        organisation_slug=instance.cluster.organisation.slug,
        directories=settings.LOCAL_DELIVERY_DIRECTORIES,
    )
