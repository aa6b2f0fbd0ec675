"""No delivery is taken where nothing is ever written."""

from __future__ import annotations

from collections.abc import Sequence

from apps.accounts.models import Organisation
from apps.clusters.models import PgpoolInstance
from apps.clusters.registry.connection_survey import AskedPgpool

OBSERVE = PgpoolInstance.Delivery.OBSERVE


def delivery_errors(
    pgpools: Sequence[AskedPgpool], *, organisation: Organisation, is_observe_only: bool
) -> dict[str, str]:
    """Field of the input -> why no delivery is taken there. One that is registered already is left as it is."""
    if not (is_observe_only or organisation.is_observe_only):
        return {}
    whose = "this cluster" if is_observe_only else organisation.name
    new = [each for each in pgpools if each.wanted.delivery.kind != OBSERVE]
    kept = PgpoolInstance.objects.filter(pk__in=[each.instance_id for each in new if each.instance_id is not None])
    kinds = dict(kept.values_list("pk", "delivery_kind"))
    return {
        f"{each.field}.delivery.kind": f"{whose} is observe only: nothing is ever delivered, so leave this at observe"
        for each in new
        if each.instance_id is None or kinds.get(each.instance_id) != each.wanted.delivery.kind
    }
