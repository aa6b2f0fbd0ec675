"""The page that starts a run: the cluster and the workload are chosen first, then the rest."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from apps.accounts.access import Caller, page
from apps.accounts.members import who_may
from apps.accounts.paging import row_key
from apps.accounts.roles import Role
from apps.accounts.see_other import see_other
from apps.benchmarks.control import runs
from apps.benchmarks.control.runs import RunRefused
from apps.benchmarks.domain.run_wish import WishRefused
from apps.benchmarks.domain.workloads import LOADS
from apps.benchmarks.forms.run import RunForm
from apps.benchmarks.queries.run_start import Start, start_of
from apps.clusters.control.writes import NotAllowed
from apps.clusters.queries import lookup


@require_http_methods(["GET", "POST"])
@page(Role.OPERATOR)
def run_start(request: HttpRequest, caller: Caller) -> HttpResponse:
    asked = request.GET
    cluster = asked.get("cluster", "")
    if cluster:
        lookup.cluster_of(caller=caller, slug=cluster)
    start = start_of(
        caller=caller, cluster=cluster, workload=asked.get("workload", ""), run=row_key(asked.get("run", ""))
    )
    if start.cluster is None or start.limits is None:
        return _page(request, caller, start, None, status=200 if request.method == "GET" else 409)
    data = request.POST if request.method == "POST" else None
    form = RunForm(data, workload=start.workload, choices=start.choices, limits=start.limits, like=start.like)
    if data is None:
        form.keep(asked)
        return _page(request, caller, start, form)
    if not form.is_valid():
        return _page(request, caller, start, form, status=422)
    try:
        run = runs.request(caller=caller, cluster=start.cluster, **form.wanted())
    except WishRefused as error:
        form.refuse(error)
        return _page(request, caller, start, form, status=422)
    except (RunRefused, NotAllowed) as error:
        return _page(request, caller, start, form, refusal=str(error), status=409)
    return see_other("run", organisation=caller.organisation.slug, pk=run.pk)


def _page(
    request: HttpRequest, caller: Caller, start: Start, form: RunForm | None, *, refusal: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "start": start,
        "form": form,
        "refusal": refusal or start.why_not,
        "workloads": LOADS,
        "may_admin": caller.may(Role.ADMIN),
        "admins": who_may(organisation=caller.organisation, role=Role.ADMIN) if form is None else [],
    }
    return render(request, "benchmarks/run_start.html", context, status=status)
