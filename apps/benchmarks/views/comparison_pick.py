"""The page on which runs that are done are picked to be compared."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from apps.accounts.access import Caller, page
from apps.accounts.paging import row_key
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.benchmarks.control import comparisons
from apps.benchmarks.domain.comparison_plan import CLIENTS, PGPOOLS, WEIGHT, PlanRefused, axis_name
from apps.benchmarks.models import BenchmarkRun
from apps.benchmarks.queries.run_list import clusters_of
from apps.benchmarks.queries.runs import run_answers, runs_of
from apps.clusters.models import Cluster
from apps.clusters.queries import lookup

MOST_SHOWN = 50


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def comparison_pick(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Asked for: runs of a cluster that have a figure of their whole time. Posted: the comparison of those ticked."""
    picked = [pk for text in request.POST.getlist("run") if (pk := row_key(text)) is not None]
    over = request.POST.get("over", "")[:200]
    refusal = ""
    if request.method == "POST":
        try:
            made = comparisons.of_runs(
                caller=caller, run_ids=picked, name=request.POST.get("name", "")[:200], over=over, now=timezone.now()
            )
            return see_other("comparison", organisation=caller.organisation.slug, pk=made.pk)
        except PlanRefused as error:
            refusal = str(error).partition(": ")[2]
    slug = request.GET.get("cluster", "")
    clusters = clusters_of(caller)
    cluster = lookup.cluster_of(caller=caller, slug=slug) if slug else None
    done = runs_of(caller=caller).filter(state=BenchmarkRun.State.DONE, is_partial=False, tps__isnull=False)
    if cluster is None and (latest := done.first()) is not None:
        cluster = latest.cluster
    shown = [] if cluster is None else list(done.filter(cluster=cluster)[:MOST_SHOWN])
    context = {
        "clusters": clusters,
        "cluster": cluster,
        "runs": run_answers(runs=shown, caller=caller),
        "picked": picked,
        "over": over,
        "axes": [] if cluster is None else _axes(cluster),
        "refusal": refusal,
    }
    return render(request, "benchmarks/comparison_pick.html", context, status=422 if refusal else 200)


def _axes(cluster: Cluster) -> list[tuple[str, str]]:
    """Where runs can be placed by what they were measured with: (as REST names it, for people)."""
    keys = [CLIENTS, PGPOOLS]
    keys += [f"{WEIGHT}.{backend.shown_name}" for backend in cluster.backends.order_by("node_id")]
    return [(key, axis_name(key)) for key in keys]
