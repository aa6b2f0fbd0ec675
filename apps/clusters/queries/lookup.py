"""One object of the caller's organisation, or 404 with a sentence that says what is not there."""

from django.http import Http404

from apps.accounts.access import Caller
from apps.clusters.models import (
    Backend,
    BackendOperation,
    Cluster,
    ConfigRevision,
    PgpoolInstance,
    RevisionDebt,
    RollingRestart,
    Rollout,
)


def cluster_of(*, caller: Caller, slug: str) -> Cluster:
    clusters = Cluster.objects.select_related("organisation").filter(organisation=caller.organisation)
    # Most who ask for a cluster only look: the password is opened for those who sign in with it.
    cluster = clusters.defer("password").filter(slug=slug).first() if "\0" not in slug else None
    if cluster is None:
        raise Http404(f"{caller.organisation.name} has no cluster {slug}.")
    return cluster


def rollout_of(*, caller: Caller, pk: int) -> Rollout:
    rollouts = Rollout.objects.select_related("cluster__organisation", "revision")
    rollout = rollouts.filter(cluster__organisation=caller.organisation, pk=pk).first()
    if rollout is None:
        raise Http404(f"{caller.organisation.name} has no rollout {pk}.")
    return rollout


def revision_of(*, cluster: Cluster, number: int) -> ConfigRevision:
    revision = ConfigRevision.objects.select_related("cluster").filter(cluster=cluster, number=number).first()
    if revision is None:
        raise Http404(f"{cluster.name} has no revision {number}.")
    return revision


def debt_of(*, cluster: Cluster, pk: int) -> RevisionDebt:
    debt = RevisionDebt.objects.select_related("instance").filter(instance__cluster=cluster, pk=pk).first()
    if debt is None:
        raise Http404(f"No pgpool of {cluster.name} has a debt {pk}.")
    return debt


def instance_of(*, cluster: Cluster, name: str) -> PgpoolInstance:
    # PostgreSQL's text holds no NUL: no pgpool is called so.
    instance = None if "\0" in name else cluster.instances.filter(name=name).first()
    if instance is None:
        raise Http404(f"{cluster.name} has no pgpool {name}.")
    return instance


def instance_by_pk(*, cluster: Cluster, pk: int) -> PgpoolInstance:
    instance = cluster.instances.filter(pk=pk).first()
    if instance is None:
        raise Http404(f"{cluster.name} has no such pgpool; it may have been removed meanwhile.")
    return instance


def backend_of(*, cluster: Cluster, node_id: int) -> Backend:
    backend = cluster.backends.filter(node_id=node_id).first()
    if backend is None:
        raise Http404(f"{cluster.name} has no backend {node_id}.")
    return backend


def operation_of(*, cluster: Cluster, pk: int) -> BackendOperation:
    operation = cluster.backend_operations.select_related("cluster").filter(pk=pk).first()
    if operation is None:
        raise Http404(f"{cluster.name} has no operation {pk}.")
    return operation


def restart_of(*, cluster: Cluster, pk: int) -> RollingRestart:
    restart = cluster.restarts.select_related("cluster").filter(pk=pk).first()
    if restart is None:
        raise Http404(f"{cluster.name} has no restart {pk}.")
    return restart
