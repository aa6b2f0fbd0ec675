"""Comparisons of an organisation: the list, one of them, and how far it is."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from django.db.models import Count, Q, QuerySet
from django.http import Http404

from apps.accounts.access import Caller
from apps.accounts.roles import Role
from apps.benchmarks.models import BenchmarkComparison, BenchmarkRun
from apps.clusters.models import Cluster


class ComparisonSummary(TypedDict):
    """runs_done, runs_whole: how far it is. repetitions: blocks that count, besides the first; 0: runs were picked."""

    id: int
    cluster: str
    cluster_name: str
    name: str
    state: str
    reason: str
    arms: list[str]
    baseline: int
    repetitions: int
    over: str
    runs_done: int
    runs_whole: int
    is_active: bool
    can_stop: bool
    requested_by: str
    created_at: datetime
    finished_at: datetime | None


def comparisons_of(*, caller: Caller, cluster: Cluster | None = None) -> QuerySet[BenchmarkComparison]:
    """Latest first."""
    found = BenchmarkComparison.objects.select_related("cluster").filter(cluster__organisation=caller.organisation)
    over = ~Q(members__run__state__in=BenchmarkRun.ACTIVE)
    found = found.annotate(runs_whole=Count("members"), runs_done=Count("members", filter=over))
    return (found if cluster is None else found.filter(cluster=cluster)).order_by("-pk")


def comparison_of(*, caller: Caller, pk: int) -> BenchmarkComparison:
    found = comparisons_of(caller=caller).filter(pk=pk).first()
    if found is None:
        raise Http404(f"{caller.organisation.name} has no comparison {pk}.")
    return found


def summary_answer(*, comparison: BenchmarkComparison, caller: Caller) -> ComparisonSummary:
    """Of a row of comparisons_of."""
    is_active = comparison.state == BenchmarkComparison.State.UNDER_WAY
    return {
        "id": comparison.pk,
        "cluster": comparison.cluster.slug,
        "cluster_name": comparison.cluster.name,
        "name": comparison.name,
        "state": comparison.state,
        "reason": comparison.reason,
        "arms": [arm["label"] for arm in comparison.arms],
        "baseline": comparison.baseline,
        "repetitions": comparison.repetitions,
        "over": comparison.over,
        "runs_done": comparison.runs_done,  # type: ignore[attr-defined]  # annotated by comparisons_of
        "runs_whole": comparison.runs_whole,  # type: ignore[attr-defined]
        "is_active": is_active,
        "can_stop": is_active and caller.may(Role.OPERATOR),
        "requested_by": comparison.requested_by_name,
        "created_at": comparison.created_at,
        "finished_at": comparison.finished_at,
    }
