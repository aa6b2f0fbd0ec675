"""One change of a cluster's registration at a time, and none that would pull the ground from what is under way."""

from __future__ import annotations

import datetime as dt

from django.db.models import QuerySet
from django.http import Http404

from apps.clusters.models import BackendOperation, Cluster, ClusterEvent, RollingRestart, Rollout
from apps.live import events


class RegistryConflict(Exception):
    """The registration cannot be changed so just now."""


def locked(cluster: Cluster) -> Cluster:
    """The row as it is now, until the transaction ends. Raises Http404: whoever came first has removed it."""
    current = Cluster.objects.select_for_update().select_related("organisation").filter(pk=cluster.pk).first()
    if current is None:
        raise Http404(f"The cluster {cluster.slug} was removed meanwhile.")
    return current


def refuse_while_busy(cluster: Cluster) -> None:
    """As refuse_while_under_way, for one cluster, whose row is locked."""
    refuse_while_under_way(Cluster.objects.filter(pk=cluster.pk))


def refuse_while_under_way(clusters: QuerySet[Cluster]) -> None:
    """No rollout, rolling restart, attach, detach or drain of these clusters may be on its way, which goes by what is
    registered. Raises RegistryConflict, with its name.
    """
    rollout = Rollout.objects.filter(cluster__in=clusters, state__in=Rollout.ACTIVE).first()
    restart = RollingRestart.objects.filter(cluster__in=clusters, state=RollingRestart.State.RUNNING).first()
    operation = BackendOperation.objects.filter(cluster__in=clusters, state__in=BackendOperation.ACTIVE).first()
    # A drain has a rollout of its own: the drain is what has to end.
    if operation is not None:
        what, cluster = f"The {operation.kind} of {operation.backend_name}", operation.cluster
    elif restart is not None:
        what, cluster = f"Restart {restart.pk} of pgpools", restart.cluster
    elif rollout is not None:
        what, cluster = f"Rollout {rollout.pk}", rollout.cluster
    else:
        return
    raise RegistryConflict(f"{what} in {cluster.slug} is under way: wait for its end, or cancel it.")


def record_event(cluster: Cluster, *, now: dt.datetime, title: str, detail: str, instance_name: str = "") -> None:
    """Tell the history and the viewers of the cluster."""
    ClusterEvent.objects.create(
        cluster=cluster,
        at=now,
        kind=ClusterEvent.Kind.REGISTRY,
        title=title,
        detail=detail,
        instance_name=instance_name,
    )
    events.announce(f"cluster.{cluster.pk}", "event")
    events.announce(f"organisation.{cluster.organisation_id}", "registered", cluster=cluster.slug)
