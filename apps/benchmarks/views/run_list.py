"""The page of all runs of an organisation."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from apps.accounts.access import Caller, page
from apps.accounts.members import who_may
from apps.accounts.paging import PageKeyInvalid, page_of
from apps.accounts.roles import Role
from apps.benchmarks.domain.workloads import WORKLOADS
from apps.benchmarks.queries import run_list as reads
from apps.benchmarks.queries.runs import run_answers


@require_GET
@page()
def run_list(request: HttpRequest, caller: Caller) -> HttpResponse:
    clusters, asked = reads.clusters_of(caller), request.GET
    by = reads.narrowing(
        clusters=clusters,
        cluster=asked.get("cluster", ""),
        state=asked.get("state", ""),
        workload=asked.get("workload", ""),
    )
    try:
        shown = page_of(reads.narrowed(caller=caller, by=by), query=asked)
    except PageKeyInvalid as error:
        raise Http404(str(error)) from error
    allowed = reads.allowed_slugs(caller)
    context = {
        "runs": run_answers(runs=shown.rows, caller=caller),
        "is_empty": not shown.rows and not by.is_any and not asked.get("before"),
        "next_query": shown.next_query,
        "query": asked.urlencode(),
        "by": by,
        "clusters": clusters,
        "allowed": [one for one in clusters if one.slug in allowed],
        "workloads": list(WORKLOADS.values()),
        "states": [(key, words) for key, (words, _) in reads.STATES.items()],
        "may_operate": caller.may(Role.OPERATOR),
        "may_admin": caller.may(Role.ADMIN),
        "admins": [] if allowed else who_may(organisation=caller.organisation, role=Role.ADMIN),
    }
    return render(request, "benchmarks/run_list.html", context)
