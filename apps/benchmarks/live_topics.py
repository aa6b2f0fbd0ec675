"""The live topics of benchmarks and who may follow them: members of the organisation that owns the cluster."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from apps.accounts.access import organisations_of
from apps.accounts.models import User
from apps.benchmarks.models import BenchmarkComparison, BenchmarkRun
from apps.live import topics


def register() -> None:
    topics.register("run", may_follow_run)
    topics.register("comparison", may_follow_comparison)


def may_follow_run(user: AbstractBaseUser | AnonymousUser, run_id: int) -> bool:
    if not isinstance(user, User):
        return False
    return BenchmarkRun.objects.filter(pk=run_id, cluster__organisation__in=organisations_of(user)).exists()


def may_follow_comparison(user: AbstractBaseUser | AnonymousUser, comparison_id: int) -> bool:
    if not isinstance(user, User):
        return False
    return BenchmarkComparison.objects.filter(
        pk=comparison_id, cluster__organisation__in=organisations_of(user)
    ).exists()
