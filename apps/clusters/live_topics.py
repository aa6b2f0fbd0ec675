"""The live topics of clusters and who may follow them: members of the organisation that owns the thing."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import QuerySet

from apps.accounts.access import organisations_of
from apps.accounts.models import Organisation, User
from apps.clusters.models import Cluster, Rollout
from apps.live import topics


def register() -> None:
    topics.register("cluster", may_follow_cluster)
    topics.register("organisation", may_follow_organisation)
    topics.register("rollout", may_follow_rollout)


def may_follow_cluster(user: AbstractBaseUser | AnonymousUser, cluster_id: int) -> bool:
    return Cluster.objects.filter(pk=cluster_id, organisation__in=_organisations(user)).exists()


def may_follow_organisation(user: AbstractBaseUser | AnonymousUser, organisation_id: int) -> bool:
    return _organisations(user).filter(pk=organisation_id).exists()


def may_follow_rollout(user: AbstractBaseUser | AnonymousUser, rollout_id: int) -> bool:
    return Rollout.objects.filter(pk=rollout_id, cluster__organisation__in=_organisations(user)).exists()


def _organisations(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Organisation]:
    return organisations_of(user) if isinstance(user, User) else Organisation.objects.none()
