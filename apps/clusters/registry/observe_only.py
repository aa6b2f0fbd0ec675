"""Observe only: a cluster, or a whole organisation, that Lifeguard watches and never writes to."""

from __future__ import annotations

import datetime as dt

from django.db import transaction

from apps.accounts import audit
from apps.accounts.access import Caller
from apps.accounts.models import Organisation
from apps.accounts.roles import Role
from apps.clusters.models import Cluster, PgpoolInstance, PublishedFile, RolloutStep
from apps.clusters.registry.cluster_wanted import DEFAULT_WAIT_H
from apps.clusters.registry.registration import RegistrationRefused, described
from apps.clusters.registry.registry_locks import locked, record_event, refuse_while_under_way
from apps.live import events

OBSERVE = PgpoolInstance.Delivery.OBSERVE


def set_for_cluster(
    *, caller: Caller, cluster: Cluster, is_observe_only: bool, confirm: str = "", now: dt.datetime
) -> Cluster:
    """Observing only forgets how every pgpool.conf is delivered, so the slug has to be given in confirm.

    Raises RegistrationRefused (not confirmed) or RegistryConflict (a rollout, a restart, or an attach, detach or
    drain is under way). Allowing changes again brings no delivery back: choose one for each pgpool.
    """
    caller.require(Role.ADMIN)
    _refuse_unconfirmed(is_observe_only, confirm, cluster.slug)
    with transaction.atomic():
        current = locked(cluster)
        if current.is_observe_only == is_observe_only:
            return current
        refuse_while_under_way(Cluster.objects.filter(pk=current.pk))
        before = described(current)
        current.is_observe_only = is_observe_only
        current.save(update_fields=["is_observe_only"])
        if is_observe_only:
            _forget_deliveries(current)
        after = described(current)
        audit.record(
            caller=caller,
            action="cluster.change",
            target_type="cluster",
            target_id=current.pk,
            target_name=current.slug,
            before={key: value for key, value in before.items() if after[key] != value},
            after={key: value for key, value in after.items() if before[key] != value},
        )
        title = "Observe only from now on" if is_observe_only else "Changes are possible again"
        record_event(current, now=now, title=title, detail=f"by {caller.user.shown_name}")
    return current


def _forget_deliveries(cluster: Cluster) -> None:
    cluster.instances.update(
        delivery_kind=OBSERVE,
        delivery_path="",
        delivery_target=None,
        ssh_host="",
        ssh_username="",
        ssh_host_key="",
        ssh_port=22,
        has_sudo=False,
        longest_wait_h=DEFAULT_WAIT_H,
        restart_command="",
    )
    PublishedFile.objects.filter(instance__cluster=cluster).delete()
    # Nobody can put an old file back any more.
    RolloutStep.objects.filter(rollout__cluster=cluster, state=RolloutStep.State.RESTORE_PENDING).update(
        state=RolloutStep.State.FAILED, error="the old file was not confirmed before the cluster became observe only"
    )


def set_for_organisation(*, caller: Caller, is_observe_only: bool, confirm: str = "", now: dt.datetime) -> Organisation:
    """Deliveries that are registered stay, and nothing is delivered while this holds. Raises as set_for_cluster."""
    caller.require(Role.ADMIN)
    _refuse_unconfirmed(is_observe_only, confirm, caller.organisation.slug)
    with transaction.atomic():
        current = Organisation.objects.select_for_update().get(pk=caller.organisation.pk)
        if current.is_observe_only == is_observe_only:
            return current
        if is_observe_only:
            refuse_while_under_way(current.clusters.all())
        current.is_observe_only = is_observe_only
        current.save(update_fields=["is_observe_only"])
        audit.record(
            caller=caller,
            action="organisation.observe_only" if is_observe_only else "organisation.changes_allowed",
            target_type="organisation",
            target_id=current.pk,
            target_name=current.slug,
            before={"observe_only": not is_observe_only},
            after={"observe_only": is_observe_only},
        )
        for cluster in current.clusters.order_by("pk"):
            title = f"{current.name} is {'observe only from now on' if is_observe_only else 'no longer observe only'}"
            record_event(cluster, now=now, title=title[:200], detail=f"by {caller.user.shown_name}")
        events.announce(f"organisation.{current.pk}", "writes")
    return current


def _refuse_unconfirmed(is_observe_only: bool, confirm: str, expected: str) -> None:
    if is_observe_only and confirm != expected:
        raise RegistrationRefused({"confirm": f"{confirm[:80]!r} is not {expected!r}: nothing was changed"})
